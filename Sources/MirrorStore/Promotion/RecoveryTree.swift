internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// The tree while a recovery works in it: what its names hold, and which changes must last.
///
/// A recovery may follow a power cut, so it takes no look for granted: a name may lead nowhere, and a
/// file is what its bytes say. Everything that the recovery changes is flushed before the intents are
/// forgotten that would have the next run do it again.
final class RecoveryTree {
    let root: RootDirectory
    /// The folders that are open meanwhile.
    var folders: FolderCache
    /// Files that belonged to nothing, or that mirror's own versions replace.
    private(set) var removedFiles = 0
    /// Files and folders to flush, by their paths.
    private var unflushed: [[UInt8]: (descriptor: Descriptor, path: String)] = [:]

    init(_ root: RootDirectory) {
        self.root = root
        folders = FolderCache(root)
    }

    /// A name whose folder is there; nil otherwise.
    func existing(_ path: String) throws -> DirectoryEntry? {
        do throws(Errno) { return try folders.entry(path) } catch {
            if [ENOENT, ENOTDIR, ELOOP].contains(error.number) { return nil }
            throw error
        }
    }

    /// A folder; nil where there is none.
    func folder(_ path: String) throws -> Descriptor? {
        do throws(Errno) { return try root.openFolder(path) } catch {
            if [ENOENT, ENOTDIR, ELOOP].contains(error.number) { return nil }
            throw error
        }
    }

    /// Whether a file has the size and the bytes that a record says.
    func holds(
        _ entry: DirectoryEntry, _ status: FileStatus, _ record: IndexRecord
    ) throws -> Bool {
        guard status.isFile, status.stamp.size == record.stamp.size else { return false }
        let file = try entry.open(O_RDONLY)
        return try FileDigests.compute(file, algorithms: [.sha256], path: entry.path)?.first
            == record.sha256
    }

    /// Removes what is at a name, but no folder.
    func remove(_ entry: DirectoryEntry) throws {
        guard let status = try entry.status(), status.kind != .folder else { return }
        try entry.unlink()
        removedFiles += 1
    }

    /// Has something flushed before the intents are forgotten.
    func noteUnflushed(_ descriptor: Descriptor, _ path: String) {
        unflushed[Array(path.utf8)] = (descriptor, path)
    }

    /// Flushes where more would use up the files that the process may have open.
    func flushIfMany() throws(PromotionFault) {
        if unflushed.count >= FolderCache.most || root.hasManyUnflushedFolders { try flushAll() }
    }

    /// Flushes everything that was changed so far.
    func flushAll() throws(PromotionFault) {
        do throws(Errno) {
            for entry in unflushed.values { try entry.descriptor.flush(path: entry.path) }
            for folder in root.takeUnflushedFolders() { try folder.flush(path: root.path) }
        } catch { throw .unflushed(error) }
        unflushed = [:]
    }
}
