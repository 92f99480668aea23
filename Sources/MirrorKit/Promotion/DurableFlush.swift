internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// How a batch reaches the disk: one syncfs(2) for all of it, or one flush for each file.
///
/// A group flush is used for many files, on file systems and kernels that report its errors, for
/// what lies on the root's own file system. Everything else is flushed file by file.
struct DurableFlush: Sendable {
    /// Below this number of files, a flush of each is cheaper than one of the whole file system.
    static let fewestForGroup = 16

    /// The greatest number of files of a batch. With fewer, a flush serves too few; with more, the bodies
    /// that wait fill the memory for bodies, and the transfers wait for the disk.
    static let mostInBatch = 256

    /// The file system that a group flush writes out.
    let device: UInt64
    /// Whether its errors would be reported.
    let allowsGroup: Bool
    private let root: RootDirectory
    private let probe: PromotionProbe

    /// Judges a root's file system.
    init(root: RootDirectory, probe: PromotionProbe) throws(Errno) {
        self.root = root
        self.probe = probe
        device = try root.descriptor.status(path: root.path).device
        allowsGroup =
            FileSystemKind.kernelReportsGroupFlush
            && FileSystemKind(of: root.descriptor).reportsGroupFlush
        greatestBatch = min(DurableFlush.mostInBatch, max(4, Descriptor.limit / 16))
    }

    /// How many works a batch may hold. Each may keep two descriptors open, that of its file and that of
    /// the folder in which its own was made.
    let greatestBatch: Int

    /// How many folders in which folders were made may wait, with a descriptor each, for the flush of the
    /// batch that they are of.
    private static let mostMadeFolders = max(16, Descriptor.limit / 8)

    /// Flushes the folders in which folders were made, where they are too many to wait: in a deep tree,
    /// each file may have made many.
    func flushManyMadeFolders() throws(Errno) {
        guard root.unflushedFolderCount >= DurableFlush.mostMadeFolders else { return }
        let made = root.takeUnflushedFolders()
        if allowsGroup { try flushGroup() }
        try flush(made, besideGroup: allowsGroup)
    }

    /// Whether a batch of this many works is flushed as a group.
    func isGroup(count: Int) -> Bool { allowsGroup && count >= DurableFlush.fewestForGroup }

    /// Writes out the root's whole file system. Its descriptor is as old as the run, so an error of
    /// anything that the run wrote is reported; it is final.
    func flushGroup() throws(Errno) {
        if let error = probe.flushError() { throw error }
        try retrying("syncfs", root.path) { linux_syncfs(root.descriptor.number) }
    }

    /// Flushes folders in which folders were made, except those that a group flush writes out.
    func flush(_ made: [Descriptor], besideGroup hasGroup: Bool) throws(Errno) {
        for folder in made {
            if hasGroup, try folder.status(path: root.path).device == device { continue }
            try folder.flush(path: root.path)
        }
    }
}

/// The folders that a batch changes: they stay open, and are flushed once they have changed.
struct TouchedFolders {
    /// The folders that are open.
    var cache: FolderCache
    /// Those whose entries changed, by their paths.
    private var touched: [[UInt8]: String] = [:]

    init(_ root: RootDirectory) { cache = FolderCache(root) }

    /// Whether no entry of any folder changed.
    var areUntouched: Bool { touched.isEmpty }

    /// Notes that a folder's entries changed.
    mutating func touch(_ folder: String) { touched[Array(folder.utf8)] = folder }

    /// Notes that a name changed.
    mutating func touch(folderOf path: String) { touch(PathText.folder(of: path)) }

    /// Flushes renames and removals, except those on a file system that was flushed as a whole.
    mutating func flush(besides device: UInt64?) throws(Errno) {
        for path in touched.values {
            let folder: FolderCache.Folder
            do throws(Errno) { folder = try cache.open(path) } catch {
                // The folder was removed, with what had been renamed into it.
                if error.number == ENOENT { continue }
                throw error
            }
            if folder.device != device { try folder.descriptor.flush(path: path) }
        }
    }

    /// Removes the folders above a target that hold nothing more, but no area.
    mutating func removeEmpty(above target: Target) {
        var path = target.folder
        while path.utf8.contains(UInt8(ascii: "/")) {
            guard let entry = try? cache.entry(path),
                unlinkat(entry.folder.number, entry.name, AT_REMOVEDIR) == 0
            else { break }
            path = FolderCache.split(path).folder
        }
        cache.drop()
    }
}
