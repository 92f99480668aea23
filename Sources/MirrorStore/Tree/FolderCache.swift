internal import MirrorModel
package import MirrorSystem

/// The folders that one batch works in, held open for its time only: a folder that is renamed by
/// somebody between two batches is looked up anew.
package struct FolderCache {
    private let root: RootDirectory
    private var folders: [[UInt8]: Folder] = [:]
    /// The two that were asked for last: neighbours are mostly in one folder, and what they are made
    /// of in another.
    private var recent: [(path: String, folder: Folder)] = []

    /// An open folder and the file system that it is on.
    package struct Folder {
        package let descriptor: Descriptor
        let device: UInt64
    }

    /// How many are held: a batch of many folders must not use up the files that the process may have
    /// open (getrlimit(2)).
    static let most = min(128, max(8, OpenFileLimit.current / 8))

    /// Holds nothing yet.
    package init(_ root: RootDirectory) { self.root = root }

    /// A folder, made when it is not there.
    package mutating func make(_ path: String) throws(Errno) -> Folder {
        let root = root
        return try keep(path) { () throws(Errno) in try root.makeFolder(path) }
    }

    /// A folder that should be there.
    package mutating func open(_ path: String) throws(Errno) -> Folder {
        let root = root
        return try keep(path) { () throws(Errno) in try root.openFolder(path) }
    }

    /// The name of a target in its folder, which should be there.
    package mutating func entry(_ path: String) throws(Errno) -> DirectoryEntry {
        let (folder, name) = FolderCache.split(path)
        return DirectoryEntry(folder: try open(folder).descriptor, name: name, path: path)
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

    private mutating func keep(
        _ path: String, _ open: () throws(Errno) -> Descriptor
    ) throws(Errno) -> Folder {
        for at in recent.indices where recent[at].path.utf8.elementsEqual(path.utf8) {
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
        if recent.count == 2 { recent.removeFirst() }
        recent.append((path, folder))
    }
}
