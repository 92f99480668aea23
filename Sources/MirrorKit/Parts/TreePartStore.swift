internal import CLinux
internal import Glibc

/// The parts of a tree: files in `tmp/`, rows in the index.
///
/// A row is committed before its file is made. So a file without a row is a leftover that any run
/// may remove. Only a row makes a file a part.
final class TreePartStore: PartStore {
    private let root: RootDirectory
    private let index: Index
    /// The paths of parts that an unfinished set needs.
    private let promised: Set<[UInt8]>

    /// Makes a store for a root, whose lock the caller holds.
    /// Parts that are promised to an unfinished set are not discarded.
    init(root: RootDirectory, index: Index, promised: Set<[UInt8]> = []) {
        self.root = root
        self.index = index
        self.promised = promised
    }

    var tag: String { root.shard.tag }

    func create(_ record: PartRecord) throws(MirrorError) -> PartFile {
        try indexed(in: index.place) { () throws(IndexError) in
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.put(record)
            }
        }
        do throws(Errno) {
            let folder = try root.makeFolder(Area.tmp.rawValue)
            return try TreePartStore.create(record.name, in: folder)
        } catch { throw MirrorError(error, target: record.target) }
    }

    func open(_ record: PartRecord) throws(MirrorError) -> PartFile? {
        let name = record.name
        let isKnown = try indexed(in: index.place) { () throws(IndexError) in
            try index.read { (database: inout Database) throws(IndexError) in
                try database.hasPart(named: name)
            }
        }
        guard isKnown else { return nil }
        do throws(Errno) {
            let folder = try root.openFolder(Area.tmp.rawValue)
            let path = TreePartStore.path(of: name)
            let number = try retrying("openat", path) {
                let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
                return linux_openat(folder.number, name, flags, 0)
            }
            let file = PartFile(name: name, descriptor: number)
            let status = try FileStatus(
                folder: number, name: "", flags: Int32(LINUX_AT_EMPTY_PATH), path: path)
            // With a second name, a write to the part would change the file under that name too.
            return status.isFile && status.links == 1 ? file : nil
        } catch {
            switch error.number {
            case ENOENT, ELOOP, ENOTDIR, EISDIR, ENXIO: return nil
            default: throw MirrorError(error, target: record.target)
            }
        }
    }

    func update(_ record: PartRecord) throws(MirrorError) {
        try indexed(in: index.place) { () throws(IndexError) in
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.put(record)
            }
        }
    }

    func log(
        _ milestone: Milestone, from start: Int64 = 0, part name: String
    ) throws(MirrorError) {
        try indexed(in: index.place) { () throws(IndexError) in
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.log(milestone, from: start, part: name)
            }
        }
    }

    func discard(part name: String) throws(MirrorError) {
        // A name leads nowhere but into tmp.
        if name.utf8.contains(UInt8(ascii: "/")) { return }
        if promised.contains(Array(TreePartStore.path(of: name).utf8)) { return }
        do throws(Errno) {
            let folder = try root.openFolder(Area.tmp.rawValue)
            try TreePartStore.remove(name, from: folder)
        } catch {
            if error.number != ENOENT { throw MirrorError(error) }
        }
        try indexed(in: index.place) { () throws(IndexError) in
            try index.write { (batch: inout Database) throws(IndexError) in
                try batch.removePart(named: name)
            }
        }
    }

    /// Returns the path of a part, relative to the root.
    static func path(of name: String) -> String { "tmp/" + name }

    /// Returns a new path for a file that no later run resumes.
    static func passingPath(for target: Target, tag: String = "") -> String {
        path(of: PartRecord.passingName(for: target, tag: tag))
    }

    /// Makes a new, empty file, mode 0644, in an open `tmp/`.
    static func create(_ name: String, in folder: Descriptor) throws(Errno) -> PartFile {
        let number = try retrying("openat", path(of: name)) {
            let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
            return linux_openat(folder.number, name, flags, 0o644)
        }
        return PartFile(name: name, descriptor: number)
    }

    /// Removes a file from an open `tmp/`; a missing file is no error.
    static func remove(_ name: String, from folder: Descriptor) throws(Errno) {
        do throws(Errno) {
            try retryingLibc("unlinkat", path(of: name)) { unlinkat(folder.number, name, 0) }
        } catch {
            if error.number != ENOENT { throw error }
        }
    }
}
