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
    /// Whether the file of the new folder is what it was before somebody replaced it in the old one.
    let isReplaced: (String, DirectoryEntry, FileStatus) throws -> Bool

    /// A folder in `tmp/` that holds further names of files, and nothing else.
    static func ofNames(_ root: RootDirectory, _ now: Instant) -> OldFolder {
        OldFolder(root: root, now: now) { _, _, _ in
            true
        } isReplaced: { _, _, _ in
            false
        }
    }

    /// What the old folder held of other people's.
    struct Contents {
        /// Files that could not get their names back.
        var kept: [Kept] = []
        /// Folders whose entries changed, by their paths.
        var touched: Set<String> = []
    }

    /// A file that could not get its name back.
    struct Kept {
        /// The name that it had.
        let path: String
        /// Its conflict name; nil where it had to stay in `tmp/`.
        let conflict: Target?
        /// Where it is.
        let place: String
    }

    /// Empties and removes a folder; returns what became of other people's files.
    func settle(_ old: String, beside new: String) throws -> Contents {
        var contents = Contents()
        try settle(old, beside: new, &contents)
        return contents
    }

    private func settle(_ old: String, beside new: String, _ contents: inout Contents) throws {
        guard let out = try opened(old) else { return }
        out.letOwnerWrite()
        let known = try inodes(in: new)
        for name in try out.names(path: old) {
            let entry = DirectoryEntry(folder: out, name: name, path: old + "/" + name)
            let path = new + "/" + name
            guard let status = try entry.status() else { continue }
            if status.kind == .folder {
                try settle(entry.path, beside: path, &contents)
            } else if known.contains(status.stamp.inode) {
                try entry.unlink()
            } else if status.isFile, try isOurs(path, entry, status) {
                try entry.unlink()
            } else {
                try giveBack(entry, status, to: path, &contents)
            }
        }
        // Where something is in it still, it was put there a moment ago: it stays in `tmp/`.
        try? entry(of: old).removeFolder()
    }

    /// Removes a folder with everything in it: further names of files that have others.
    func remove(_ path: String) throws {
        guard let folder = try opened(path) else { return }
        folder.letOwnerWrite()
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
        _ entry: DirectoryEntry, _ status: FileStatus, to path: String, _ contents: inout Contents
    ) throws {
        do {
            let (folder, name) = FolderCache.split(path)
            let place = DirectoryEntry(
                folder: try root.makeFolder(folder), name: name, path: path)
            contents.touched.insert(folder)
            do throws(Errno) { return try entry.renameToFree(place) } catch {
                if error.number != EEXIST { throw error }
            }
            if status.isFile, try replace(place, by: entry, path) { return }
            // A name that is no target's cannot have a conflict name.
            guard let target = try? Target(path) else {
                throw Errno(number: EEXIST, call: "renameat2", path: path)
            }
            let given = try ConflictName.give(to: entry, beside: place, target: target, now: now)
            contents.kept.append(Kept(path: path, conflict: given, place: given.path))
        } catch let error as Errno where error.isObstacle {
            contents.kept.append(Kept(path: path, conflict: nil, place: entry.path))
        } catch PromotionFault.failed {
            contents.kept.append(Kept(path: path, conflict: nil, place: entry.path))
        }
    }

    /// Has a save win over the version that it replaced; false where that is not what is there.
    private func replace(
        _ place: DirectoryEntry, by entry: DirectoryEntry, _ path: String
    ) throws -> Bool {
        guard let there = try place.status(), there.isFile, try isReplaced(path, place, there)
        else { return false }
        do throws(Errno) { try entry.exchange(with: place) } catch { return false }
        // What came out may have been replaced once more.
        guard let out = try entry.status(), out.stamp.isSameVersion(as: there.stamp) else {
            return false
        }
        try entry.unlink()
        return true
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

extension Descriptor {
    /// Lets the owner of a folder remove what is in it; what is not possible is told by the removal.
    fileprivate func letOwnerWrite() {
        guard let mode = try? status(path: "").mode, mode & 0o700 != 0o700 else { return }
        fchmod(number, mode_t(mode | 0o700))
    }
}

extension FileStamp {
    /// Whether a rename or a link is all that happened to a file: those change only its ctime.
    func isSameVersion(as other: FileStamp) -> Bool {
        inode == other.inode && size == other.size && modified == other.modified
    }
}
