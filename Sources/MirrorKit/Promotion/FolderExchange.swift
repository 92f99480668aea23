internal import Glibc

/// Replaces the folder of a set in one step, if the folder has no other files.
///
/// The new folder is built in `tmp/`. It has hard links of the parts of new files, and hard links
/// of the files that stay. `RENAME_EXCHANGE` of renameat2(2) swaps the two folders, and the old one
/// is emptied. A folder with an edited file, or with a file that is not of the set, is not
/// exchanged. Then the files are renamed one by one.
struct FolderExchange {
    /// Why a folder cannot be exchanged.
    enum ExchangeError: Error {
        /// The folder has an entry that is not as mirror put it there.
        /// The entry may also be no regular file, or have a name that mirror cannot write.
        case unknownEntry
        /// The folder is on another file system than `tmp/`, or spans several.
        case otherDevice
        /// A new folder would have another mode, owner or group, or other extended attributes.
        case unlikeFolders
    }

    /// The files in an old folder that mirror did not put there, after `settle`.
    struct Foreign {
        /// The folders to which a file was moved back.
        var touched: Set<String> = []
        /// The paths of files that did not get their names back: conflict names, or paths still in
        /// `tmp/`. If programs keep adding files, this also has the path of the old folder.
        var kept: [String] = []
    }

    /// `folder`: the path of the set's folder. `aside`: the path of the new one in `tmp/`.
    /// Both paths are relative to the root.
    let folder: String
    let aside: String
    private let root: RootDirectory
    private let placement: Placement
    /// The intents of the set's new files, by their targets.
    private let intents: [[UInt8]: PromotionIntent]
    /// The folders to build in the new folder, by their paths in the old one.
    private var folders: [(path: String, attributes: FolderAttributes)] = []
    /// The files that stay, with their stamps before they got their second links.
    private var carried: [(path: String, stamp: FileStamp)] = []

    init(
        folder: String, aside: String, intents: [PromotionIntent], root: RootDirectory,
        placement: Placement
    ) {
        (self.folder, self.aside, self.root, self.placement) = (folder, aside, root, placement)
        self.intents = Dictionary(
            intents.map { (Array($0.record.target.path.utf8), $0) }, uniquingKeysWith: { $1 })
    }

    // MARK: The new folder

    /// Builds the new folder in `tmp/`.
    /// Throws the reason if the folder cannot be exchanged. The caller then removes the new folder
    /// with `remove`.
    ///
    /// - Parameters:
    ///   - owners: the manifests of the set.
    ///   - removals: the paths of the orphans that the set removes.
    ///   - groupDevice: the file system that a group flush writes out. `nil` means that each folder
    ///     is flushed by itself.
    mutating func build(
        owners: [String], removals: [String], _ cache: inout FolderCache, groupDevice: UInt64?
    ) throws {
        let folder = folder
        let files = try placement.index.read { (database: inout Database) throws(IndexError) in
            try database.files(beneath: folder)
        }
        guard files.allSatisfy({ $0.owners.names.allSatisfy(owners.contains) }) else {
            throw ExchangeError.unknownEntry
        }
        var rows: [[UInt8]: FileStamp] = [:]
        for file in files { rows[Array(file.path.utf8)] = file.stamp }
        let tmp = try cache.make(Area.tmp.rawValue)
        // A link changes a file's ctime. So `look` finds every obstacle before the first link is
        // made.
        try look(into: folder, on: tmp.device, rows, Set(removals.map { Array($0.utf8) }))
        for (path, attributes) in folders {
            let place = try cache.entry(place(of: path))
            let new = try place.makeFolder()
            guard try FolderAttributes(of: new, path: place.path).equalsExceptForMode(attributes)
            else { throw ExchangeError.unlikeFolders }
        }
        for (path, _) in carried {
            try cache.entry(path).link(to: cache.entry(place(of: path)))
        }
        for intent in intents.values {
            let place = place(of: intent.record.target.path)
            try cache.entry(intent.staged).link(to: cache.entry(place))
        }
        for (path, attributes) in folders {
            let place = place(of: path)
            let new = try cache.open(place).descriptor
            try retryingLibc("fchmod", place) { fchmod(new.number, mode_t(attributes.mode)) }
            if tmp.device == groupDevice { continue }
            do throws(Errno) {
                if let error = placement.probe.flushError() { throw error }
                try new.flush(path: place)
            } catch { throw PromotionError.unflushed(error) }
        }
    }

    /// Returns the path in the new folder that corresponds to a path in the old one.
    private func place(of path: String) -> String {
        aside + (String(path.utf8.dropFirst(folder.utf8.count)) ?? "")
    }

    /// Collects the folders, and the files that stay. Throws the reason if no exchange is possible.
    private mutating func look(
        into path: String, on device: UInt64, _ rows: [[UInt8]: FileStamp], _ goes: Set<[UInt8]>
    ) throws {
        let old = try root.openFolder(path)
        guard try old.status(path: path).device == device else { throw ExchangeError.otherDevice }
        let attributes = try FolderAttributes(of: old, path: path)
        guard attributes.mode & 0o700 == 0o700 else { throw ExchangeError.unlikeFolders }
        folders.append((path, attributes))
        guard let names = try old.allNames(path: path) else { throw ExchangeError.unknownEntry }
        for name in names {
            let entry = DirectoryEntry(folder: old, name: name, path: path + "/" + name)
            let key = Array(entry.path.utf8)
            guard let status = try entry.status() else { throw ExchangeError.unknownEntry }
            if status.kind == .folder {
                try look(into: entry.path, on: device, rows, goes)
            } else if intents[key] != nil || goes.contains(key) {
                guard try isOurs(entry, status) else { throw ExchangeError.unknownEntry }
            } else if status.isFile, rows[key] == status.stamp {
                carried.append((entry.path, status.stamp))
            } else {
                throw ExchangeError.unknownEntry
            }
        }
    }

    /// Removes a new folder that was not exchanged.
    /// Its files are second links of other files, so no bytes are lost.
    static func remove(_ path: String, in root: RootDirectory) throws {
        guard let folder = try root.folder(path) else { return }
        for name in try folder.names(path: path) {
            let entry = DirectoryEntry(folder: folder, name: name, path: path + "/" + name)
            if try entry.status()?.kind == .folder {
                try remove(entry.path, in: root)
            } else {
                try entry.unlink()
            }
        }
        try root.removeFolder(path)
    }

    // MARK: The exchange

    /// Swaps the old and the new folder. Throws if either of them is no folder.
    /// If the old folder is gone, the new one takes its name.
    func exchange(_ cache: inout FolderCache) throws(Errno) {
        let new = try cache.entry(aside)
        let (parent, name) = FolderCache.split(folder)
        let place = DirectoryEntry(
            folder: try cache.make(parent).descriptor, name: name, path: folder)
        do throws(Errno) { try new.exchangeFolders(with: place) } catch {
            guard error.number == ENOENT else { throw error }
            try new.renameToFree(place)
        }
        cache.drop()
    }

    /// Returns the stamps of the files that stay.
    /// A file's ctime changes when it loses the link in the old folder.
    func stamps(_ cache: inout FolderCache) -> [(path: String, stamp: FileStamp)] {
        var stamps: [(path: String, stamp: FileStamp)] = []
        for (path, stamp) in carried {
            // If a file has no stamp in the result, the next run reads the file.
            if let now = try? cache.entry(path).status()?.stamp, now.isSameVersion(as: stamp) {
                stamps.append((path, now))
            }
        }
        return stamps
    }

    // MARK: The old folder

    /// Empties and removes the folder in `tmp/`: the old one, or a new one that was not exchanged.
    ///
    /// A file that is also linked in the set's folder, or that is a version of mirror's, is
    /// removed. Any other file was put there after the check. It gets its name in the set's folder,
    /// or a conflict name. Returns these other files.
    func settle() throws -> Foreign {
        var foreign = Foreign()
        // A program that has the folder open may put files into it until the folder is removed.
        for _ in 1...8 {
            try settle(aside, beside: folder, &foreign)
            guard try root.folder(aside) != nil else { return foreign }
            if !foreign.kept.filter({ $0.hasPrefix(aside) }).isEmpty { return foreign }
        }
        foreign.kept.append(aside)
        return foreign
    }

    private func settle(_ out: String, beside place: String, _ foreign: inout Foreign) throws {
        guard let old = try root.folder(out) else { return }
        let new = try root.folder(place)
        for name in try old.names(path: out) {
            let entry = DirectoryEntry(folder: old, name: name, path: out + "/" + name)
            let path = place + "/" + name
            guard let status = try entry.status() else { continue }
            if status.kind == .folder {
                try settle(entry.path, beside: path, &foreign)
                continue
            }
            let other = try new.flatMap {
                try DirectoryEntry(folder: $0, name: name, path: path).status()
            }
            if try other?.stamp.inode == status.stamp.inode
                || isOurs(DirectoryEntry(folder: old, name: name, path: path), status)
            {
                try entry.unlink()
            } else {
                try giveBack(entry, to: path, &foreign)
            }
        }
        try? root.removeFolder(out)
    }

    /// Moves a file to its name in the set's folder, or to a conflict name, or leaves it in place.
    private func giveBack(
        _ entry: DirectoryEntry, to path: String, _ foreign: inout Foreign
    ) throws {
        do {
            let (folder, name) = FolderCache.split(path)
            let place = DirectoryEntry(folder: try root.makeFolder(folder), name: name, path: path)
            foreign.touched.insert(folder)
            do throws(Errno) { return try entry.renameToFree(place) } catch {
                // A path that is no valid target cannot have a conflict name.
                guard error.number == EEXIST, let target = try? Target(path) else { throw error }
                let given = try ConflictCopy.give(
                    to: entry, beside: place, target: target, now: placement.now)
                foreign.kept.append(given.path)
            }
        } catch let error as Errno where error.isInTheWay || error.number == EEXIST {
            foreign.kept.append(entry.path)
        } catch PromotionError.failed {
            foreign.kept.append(entry.path)
        }
    }

    /// Whether a file is a version of mirror's. `entry.path` is the path in the set's folder.
    private func isOurs(_ entry: DirectoryEntry, _ status: FileStatus) throws -> Bool {
        guard status.isFile, let target = try? Target(entry.path) else { return false }
        if let intent = intents[Array(entry.path.utf8)] {
            if intent.replaces { return true }
            if try placement.isWanted(entry, status, intent.record) { return true }
        }
        return try placement.isKnown(entry, status, target: target)
    }
}

extension RootDirectory {
    /// Opens a folder. Returns nil if no folder is at the path.
    func folder(_ path: String) throws(Errno) -> Descriptor? {
        do throws(Errno) { return try openFolder(path) } catch {
            if [ENOENT, ENOTDIR, ELOOP].contains(error.number) { return nil }
            throw error
        }
    }

    /// Removes an empty folder.
    func removeFolder(_ path: String) throws(Errno) {
        let (folder, name) = FolderCache.split(path)
        let parent = try openFolder(folder)
        try retryingLibc("unlinkat", path) { unlinkat(parent.number, name, AT_REMOVEDIR) }
    }
}

extension DirectoryEntry {
    /// Makes a folder, mode 0755, and opens it. Throws `EEXIST` if the name is taken.
    fileprivate func makeFolder() throws(Errno) -> Descriptor {
        try retryingLibc("mkdirat", path) { mkdirat(folder.number, name, 0o755) }
        return try open(O_RDONLY | O_DIRECTORY)
    }
}
