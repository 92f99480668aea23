internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// Finds conflict copies by their names, beside the targets that are known or wanted.
///
/// The index does not record copies. So a copy exists exactly as long as its file, even if the
/// index is lost, and a crash during a promotion cannot make the two differ.
struct ConflictScan {
    private var folders: Set<String> = []
    private var last: [UInt8] = []
    /// Targets whose names may have been cut to make room for the mark.
    private var long: [Target] = []

    private static let longName = 200
    private static let longPath = Target.longestPath - 64

    /// Notes a target, whose folder will be searched.
    mutating func note(_ target: Target) {
        var path = target.path
        path.withUTF8 { note($0) }
    }

    /// Notes the target that a path is; a neighbour in the same folder costs a comparison.
    mutating func note(_ path: UnsafeBufferPointer<UInt8>) {
        guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return }
        let folder = UnsafeBufferPointer(rebasing: path[..<slash])
        if !folder.elementsEqual(last) {
            last = Array(folder)
            folders.insert(String(decoding: last, as: UTF8.self))
        }
        guard path.count - slash - 1 > ConflictScan.longName || path.count > ConflictScan.longPath
        else { return }
        if let target = try? Target(String(decoding: path, as: UTF8.self)) { long.append(target) }
    }

    /// The existing copies, in the order of their paths' bytes. Throws `MirrorError`.
    func copies(in view: TreeView, _ wanted: Wanted? = nil) throws -> [ConflictCopy] {
        guard let root = view.root else { return [] }
        var copies: [ConflictCopy] = []
        for folder in folders {
            guard let open = try? root.openFolder(folder),
                let names = try? open.names(path: folder, containing: ConflictName.mark)
            else { continue }
            for name in names where ConflictName.mayBe(name) {
                guard let copy = try? Target(folder + "/" + name),
                    let target = ConflictName.target(of: name, in: folder, long: long),
                    let status = try? FileStatus(
                        folder: open.number, name: name, path: copy.path), status.isFile,
                    wanted?.wants(copy) != true, try view.index?.record(for: copy) == nil
                else { continue }
                copies.append(ConflictCopy(target: target, copy: copy, size: status.stamp.size))
            }
        }
        return copies.sorted { $0.copy < $1.copy }
    }
}
