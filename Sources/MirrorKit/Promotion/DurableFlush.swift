internal import CLinux
internal import Glibc

/// How a batch reaches the disk: one syncfs(2) for all of it, or one flush for each file.
///
/// A group flush is one syncfs for many files on the root's own file system. It requires a file
/// system and a kernel that report its errors. All other files are flushed one by one.
struct DurableFlush: Sendable {
    /// Below this number of files, a flush of each is cheaper than one of the whole file system.
    static let fewestForGroup = 16

    /// The greatest number of works of a batch.
    /// With fewer works, a flush serves too few files. With more, the waiting bodies fill the
    /// memory for bodies, and the transfers wait for the disk.
    static let mostInBatch = 256

    /// The file system that a group flush writes out.
    let device: UInt64
    /// Whether a group flush would report errors, so that it may be used.
    let allowsGroup: Bool
    private let root: RootDirectory
    private let probe: PromotionProbe

    /// Finds out whether a root's file system and the kernel allow a group flush.
    init(root: RootDirectory, probe: PromotionProbe) throws(Errno) {
        self.root = root
        self.probe = probe
        device = try root.descriptor.status(path: root.path).device
        allowsGroup =
            FileSystemKind.kernelReportsGroupFlush
            && FileSystemKind(of: root.descriptor).reportsGroupFlush
        greatestBatch = min(DurableFlush.mostInBatch, max(4, Descriptor.limit / 16))
    }

    /// Maximum number of works in a batch.
    /// Each work may keep two descriptors open: its file, and the parent of a new folder for that
    /// file.
    let greatestBatch: Int

    /// Maximum number of unflushed parents of new folders. Each of them keeps a descriptor open.
    private static let mostMadeFolders = max(16, Descriptor.limit / 8)

    /// Flushes the parents of new folders, if too many of them wait for the flush of the batch.
    /// In a deep tree, each file may make many folders.
    func flushManyMadeFolders() throws(Errno) {
        guard root.unflushedFolderCount >= DurableFlush.mostMadeFolders else { return }
        let made = root.takeUnflushedFolders()
        if allowsGroup { try flushGroup() }
        try flush(made, besideGroup: allowsGroup)
    }

    /// Whether a batch of this many works is flushed as a group.
    func isGroup(count: Int) -> Bool { allowsGroup && count >= DurableFlush.fewestForGroup }

    /// Writes out the root's whole file system (syncfs(2)).
    /// The root's descriptor is as old as the run, so syncfs reports every failed write of the run.
    /// Such an error is final.
    func flushGroup() throws(Errno) {
        if let error = probe.flushError() { throw error }
        try retrying("syncfs", root.path) { linux_syncfs(root.descriptor.number) }
    }

    /// Flushes the parents of new folders, except those that a group flush writes out.
    func flush(_ made: [Descriptor], besideGroup hasGroup: Bool) throws(Errno) {
        for folder in made {
            if hasGroup, try folder.status(path: root.path).device == device { continue }
            try folder.flush(path: root.path)
        }
    }
}

/// The folders that a batch works in. They stay open, and the changed ones are flushed later.
struct TouchedFolders {
    /// The folders that are open.
    var cache: FolderCache
    /// The folders whose entries changed, by their paths.
    private var touched: [[UInt8]: String] = [:]

    init(_ root: RootDirectory) { cache = FolderCache(root) }

    /// Whether no entry of any folder changed.
    var areUntouched: Bool { touched.isEmpty }

    /// Notes that a folder's entries changed.
    mutating func touch(_ folder: String) { touched[Array(folder.utf8)] = folder }

    /// Notes that the entries of a path's folder changed.
    mutating func touch(folderOf path: String) { touch(PathText.folder(of: path)) }

    /// Flushes the changed folders, except those on a file system that was flushed as a whole.
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

    /// Removes the empty folders above a target, but no area.
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
