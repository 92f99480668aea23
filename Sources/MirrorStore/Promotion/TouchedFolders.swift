internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// The folders that works of the promotion change: held open meanwhile, and flushed once they have
/// changed.
struct TouchedFolders {
    /// The folders that are open.
    var cache: FolderCache
    /// Those whose entries changed, by their paths.
    private var touched: [[UInt8]: String] = [:]
    private var lastTouched: String?

    init(_ root: RootDirectory) { cache = FolderCache(root) }

    /// Whether no entry of any folder changed.
    var areUntouched: Bool { touched.isEmpty }

    /// Notes that a folder's entries changed.
    mutating func touch(_ folder: String) {
        touched[Array(folder.utf8)] = folder
        lastTouched = folder
    }

    /// Notes that a name changed.
    mutating func touch(folderOf path: String) {
        // Neighbours are mostly in one folder.
        if let lastTouched, PathText.isFolder(lastTouched, of: path) { return }
        touch(PathText.folder(of: path))
    }

    /// Flushes renames and removals, except those on a file system that was flushed as a whole.
    mutating func flush(besides device: UInt64?) throws(Errno) {
        for path in touched.values {
            let folder: FolderCache.Folder
            do throws(Errno) { folder = try cache.open(path) } catch {
                // Somebody removed it, and what had been renamed into it.
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
