internal import Glibc
package import MirrorModel
internal import MirrorSystem

/// What an exchange brought out: the old folder of a set, under the name that the new one had.
///
/// Each file in it is looked at before it goes. One that has another name in the new folder is there; a
/// superseded version of mirror's is removed; anything else was put there by somebody, in the moment
/// between the look and the exchange, and gets its name back, or a conflict name. Editors save by a
/// rename in that moment: the new folder then has the file under a name that it had before.
struct OldFolder {
    let root: RootDirectory
    let now: Instant
    /// Whether a file is a version of mirror's that goes: its path in the set's folder, its entry.
    let isOurs: (String, DirectoryEntry, FileStatus) throws -> Bool
    /// Whether the file of the new folder is what it was before somebody replaced it in the old one.
    let isReplaced: (String, DirectoryEntry, FileStatus) throws -> Bool

    /// How often a folder is looked at that somebody fills while it is emptied.
    private static let mostLooks = 1000

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
        _ = try settle(old, beside: new, &contents)
        return contents
    }

    /// Empties and removes a folder; false where something stays in it.
    private func settle(
        _ old: String, beside new: String, _ contents: inout Contents
    ) throws -> Bool {
        guard let out = try opened(old) else { return true }
        out.letOwnerWrite()
        var stayed: Set<[UInt8]> = []
        // Whoever has the folder open can put something into it as long as it is there.
        for _ in 1...OldFolder.mostLooks {
            let names = try out.names(path: old).filter { !stayed.contains(Array($0.utf8)) }
            let known = try self.names(in: new)
            for name in names {
                let entry = DirectoryEntry(folder: out, name: name, path: old + "/" + name)
                if try !settle(entry, at: new + "/" + name, known, &contents) {
                    stayed.insert(Array(name.utf8))
                }
            }
            do throws(Errno) {
                try entry(of: old).removeFolder()
                return true
            } catch {
                if error.number != ENOTEMPTY { return false }
                if names.isEmpty { break }
            }
        }
        if stayed.isEmpty { contents.kept.append(Kept(path: new, conflict: nil, place: old)) }
        return false
    }

    /// Settles one entry of the old folder; false where it stays there.
    private func settle(
        _ entry: DirectoryEntry, at path: String, _ known: [UInt64: [String]],
        _ contents: inout Contents
    ) throws -> Bool {
        guard let status = try entry.status() else { return true }
        if status.kind == .folder { return try settle(entry.path, beside: path, &contents) }
        let names = known[status.stamp.inode] ?? []
        let isThere = names.contains { $0.utf8.elementsEqual(entry.name.utf8) }
        if try isThere || names.isEmpty && status.isFile && isOurs(path, entry, status) {
            try entry.unlink()
            return true
        }
        return try giveBack(entry, status, to: path, insteadOf: names, &contents)
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

    /// Removes a folder that holds no file, and the folders in it; what cannot go waits for a later run.
    func removeIfEmpty(_ path: String) {
        guard let folder = try? root.openFolder(path), let names = try? folder.names(path: path)
        else { return }
        for name in names { removeIfEmpty(path + "/" + name) }
        try? entry(of: path).removeFolder()
    }

    /// Gives a file its name in the new folder, or a conflict name; false where it stays in the old one.
    ///
    /// - Parameter names: the names that the new folder has for the file, because somebody renamed it
    ///   after they were given. They go.
    private func giveBack(
        _ entry: DirectoryEntry, _ status: FileStatus, to path: String,
        insteadOf names: [String], _ contents: inout Contents
    ) throws -> Bool {
        do {
            let (folder, name) = FolderCache.split(path)
            let place = DirectoryEntry(
                folder: try root.makeFolder(folder), name: name, path: path)
            contents.touched.insert(folder)
            if try takes(place, by: entry, status, path) {
                for name in names {
                    try forget(place.sibling(name), entry.sibling(name), status.stamp.inode)
                }
            } else if !names.isEmpty {
                // The new folder keeps it under the name that it had.
                try entry.unlink()
            } else {
                // A name that is no target's cannot have a conflict name.
                guard let target = try? Target(path) else {
                    throw Errno(number: EEXIST, call: "renameat2", path: path)
                }
                let given = try ConflictName.give(
                    to: entry, beside: place, target: target, now: now)
                contents.kept.append(Kept(path: path, conflict: given, place: given.path))
            }
            return true
        } catch let error as Errno where error.isObstacle {
            contents.kept.append(Kept(path: path, conflict: nil, place: entry.path))
        } catch PromotionFault.failed {
            contents.kept.append(Kept(path: path, conflict: nil, place: entry.path))
        }
        return false
    }

    /// Puts a file at its name in the new folder; false where the file that is there stays.
    private func takes(
        _ place: DirectoryEntry, by entry: DirectoryEntry, _ status: FileStatus, _ path: String
    ) throws -> Bool {
        do throws(Errno) {
            try entry.renameToFree(place)
            return true
        } catch {
            if error.number != EEXIST { throw error }
        }
        return try status.isFile && replace(place, by: entry, path)
    }

    /// Removes a further name of a file from the new folder, unless the old one has the name too.
    private func forget(
        _ name: DirectoryEntry, _ out: DirectoryEntry, _ inode: UInt64
    ) throws {
        guard try out.status() == nil, try name.status()?.stamp.inode == inode else { return }
        // Whatever has the name in the moment of the removal is looked at once more.
        do throws(Errno) { try name.renameToFree(out) } catch { return }
        if try out.status()?.stamp.inode == inode {
            try out.unlink()
        } else {
            try out.renameToFree(name)
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

    /// The names of the files in a folder, by inode.
    private func names(in path: String) throws -> [UInt64: [String]] {
        guard let folder = try opened(path) else { return [:] }
        var names: [UInt64: [String]] = [:]
        for name in try folder.names(path: path) {
            let entry = DirectoryEntry(folder: folder, name: name, path: path + "/" + name)
            if let status = try entry.status(), status.kind != .folder {
                names[status.stamp.inode, default: []].append(name)
            }
        }
        return names
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
    package func isSameVersion(as other: FileStamp) -> Bool {
        inode == other.inode && size == other.size && modified == other.modified
    }
}
