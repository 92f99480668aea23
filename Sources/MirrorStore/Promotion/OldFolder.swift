internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// What an exchange brought out: the old folder of a set, under the name that the new one had.
///
/// Each file in it is looked at before it goes. One that has another name in the new folder is there; a
/// superseded version of mirror's is removed; anything else was put there by somebody, in the moment
/// between the look and the exchange, and gets its name back, or a conflict name.
struct OldFolder {
    let root: RootDirectory
    let now: Instant
    /// Whether a file is a version of mirror's that goes: its path in the set's folder, its entry.
    let isOurs: (String, DirectoryEntry, FileStatus) throws -> Bool

    /// Empties and removes a folder; returns the paths of other people's files, and their new names.
    func settle(_ old: String, beside new: String) throws -> [(path: String, name: Target)] {
        guard let out = try opened(old) else { return [] }
        var kept: [(path: String, name: Target)] = []
        let known = try inodes(in: new)
        for name in try out.names(path: old) {
            let entry = DirectoryEntry(folder: out, name: name, path: old + "/" + name)
            let path = new + "/" + name
            guard let status = try entry.status() else { continue }
            if status.kind == .folder {
                kept += try settle(entry.path, beside: path)
            } else if known.contains(status.stamp.inode) {
                try entry.unlink()
            } else if status.isFile, try isOurs(path, entry, status) {
                try entry.unlink()
            } else {
                kept += try giveBack(entry, to: path)
            }
        }
        // Where something is in it still, it was put there a moment ago: it stays in `tmp/`.
        try? entry(of: old).removeFolder()
        return kept
    }

    /// Removes a folder with everything in it: further names of files that have others.
    func remove(_ path: String) throws {
        guard let folder = try opened(path) else { return }
        for name in try folder.names(path: path) {
            let entry = DirectoryEntry(folder: folder, name: name, path: path + "/" + name)
            if try entry.status()?.kind == .folder {
                try remove(entry.path)
            } else {
                try entry.unlink()
            }
        }
        try entry(of: path).removeFolder()
    }

    private func giveBack(
        _ entry: DirectoryEntry, to path: String
    ) throws -> [(path: String, name: Target)] {
        let (folder, name) = FolderCache.split(path)
        let place = DirectoryEntry(folder: try root.makeFolder(folder), name: name, path: path)
        do throws(Errno) {
            try entry.renameToFree(place)
            return []
        } catch {
            if error.number != EEXIST { throw error }
        }
        // A name that is no target's cannot have a conflict name: the file stays in `tmp/`.
        guard let target = try? Target(path) else { return [] }
        return [(path, try ConflictName.give(to: entry, beside: place, target: target, now: now))]
    }

    private func inodes(in path: String) throws -> Set<UInt64> {
        guard let folder = try opened(path) else { return [] }
        var inodes: Set<UInt64> = []
        for name in try folder.names(path: path) {
            let entry = DirectoryEntry(folder: folder, name: name, path: path + "/" + name)
            if let status = try entry.status(), status.kind != .folder {
                inodes.insert(status.stamp.inode)
            }
        }
        return inodes
    }

    private func entry(of path: String) throws(Errno) -> DirectoryEntry {
        let (folder, name) = FolderCache.split(path)
        return DirectoryEntry(folder: try root.openFolder(folder), name: name, path: path)
    }

    private func opened(_ path: String) throws(Errno) -> Descriptor? {
        do throws(Errno) { return try root.openFolder(path) } catch {
            if [ENOENT, ENOTDIR, ELOOP].contains(error.number) { return nil }
            throw error
        }
    }
}
