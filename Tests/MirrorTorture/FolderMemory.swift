internal import Glibc
internal import MirrorTestSupport

/// A folder as it was, to the byte and to the nanosecond.
struct FolderMemory: Equatable {
    /// What was there by its path: kind, mode, inode, size, times and bytes.
    private let entries: [String: [String]]

    /// Looks at everything in a folder.
    init(of folder: Folder) {
        var entries: [String: [String]] = [:]
        for name in [""] + folder.entries().map(\.name) {
            guard let status = folder.status(name) else { continue }
            let isFile = status.st_mode & S_IFMT == S_IFREG
            entries[name] = [
                "mode \(status.st_mode)", "inode \(status.st_ino)", "size \(status.st_size)",
                "links \(status.st_nlink)",
                "modified \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)",
                "changed \(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)",
                isFile ? Checksum.sha256(folder.read(name) ?? []) : "",
            ]
        }
        self.entries = entries
    }

    /// What is other than it was.
    func changes(in folder: Folder) -> [String] {
        let now = FolderMemory(of: folder)
        guard now != self else { return [] }
        return Set(entries.keys).union(now.entries.keys).sorted().compactMap { name in
            let (old, new) = (entries[name], now.entries[name])
            guard old != new else { return nil }
            guard let old, let new else {
                return "\(folder.full(name)) is \(old == nil ? "new" : "gone")"
            }
            let other = zip(old, new).filter { $0 != $1 }.map { "\($0) is now \($1)" }
            return "\(folder.full(name)): " + other.joined(separator: ", ")
        }
    }
}
