internal import MirrorModel
package import MirrorSystem

/// The folders that one batch works in, held open for its time only: a folder that is renamed by
/// somebody between two batches is looked up anew.
package struct FolderCache {
    private let root: RootDirectory
    private var folders: [[UInt8]: Folder] = [:]
    /// The three that were asked for last: neighbours are mostly in one folder, what they are copies of
    /// in another, and what they are made of in `tmp/`.
    private var recent: [(path: String, folder: Folder)] = []

    /// An open folder and the file system that it is on.
    package struct Folder {
        package let descriptor: Descriptor
        let device: UInt64
    }

    /// How many are held: a batch of many folders must not use up the files that the process may have
    /// open (getrlimit(2)).
    static let most = min(128, max(8, OpenFileLimit.current / 16))

    /// Holds nothing yet.
    package init(_ root: RootDirectory) { self.root = root }

    /// A folder, made when it is not there.
    package mutating func make(_ path: String) throws(Errno) -> Folder {
        let root = root
        return try keep(path) { () throws(Errno) in try root.makeFolder(path) }
    }

    /// The folder that a path leads into, made when it is not there.
    mutating func makeFolder(of path: String) throws(Errno) -> Folder {
        if let folder = recentFolder(of: path) { return folder }
        return try make(PathText.folder(of: path))
    }

    /// A folder that should be there.
    package mutating func open(_ path: String) throws(Errno) -> Folder {
        let root = root
        return try keep(path) { () throws(Errno) in try root.openFolder(path) }
    }

    /// The name of a target in its folder, which should be there.
    package mutating func entry(_ path: String) throws(Errno) -> DirectoryEntry {
        let folder: Folder
        if let recent = recentFolder(of: path) {
            folder = recent
        } else {
            folder = try open(PathText.folder(of: path))
        }
        return DirectoryEntry(folder: folder.descriptor, path: path)
    }

    /// Forgets the open folders, e.g. because folders were removed.
    mutating func drop() {
        folders = [:]
        recent = []
    }

    /// A path's folder and last component.
    package static func split(_ path: String) -> (folder: String, name: String) {
        (PathText.folder(of: path), PathText.name(of: path))
    }

    private func recentFolder(of path: String) -> Folder? {
        for at in recent.indices where PathText.isFolder(recent[at].path, of: path) {
            return recent[at].folder
        }
        return nil
    }

    private mutating func keep(
        _ path: String, _ open: () throws(Errno) -> Descriptor
    ) throws(Errno) -> Folder {
        for at in recent.indices where PathText.areSame(recent[at].path, path) {
            return recent[at].folder
        }
        let key = Array(path.utf8)
        if let folder = folders[key] {
            note(path, folder)
            return folder
        }
        let descriptor = try open()
        let folder = Folder(
            descriptor: descriptor, device: try descriptor.status(path: path).device)
        if folders.count >= FolderCache.most { drop() }
        folders[key] = folder
        note(path, folder)
        return folder
    }

    private mutating func note(_ path: String, _ folder: Folder) {
        if recent.count == 3 { recent.removeFirst() }
        recent.append((path, folder))
    }
}
