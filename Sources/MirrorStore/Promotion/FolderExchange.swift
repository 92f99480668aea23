internal import Glibc
internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// Builds the folder of a set anew, and puts it in the place of the old one in one step.
///
/// The new folder lies in `tmp/`. The set's new files are hard links of their parts, and everything that
/// stays is a hard link of what is there: an open file stays the same file, whoever writes to it. The
/// folder is left to the slower way where it holds anything but regular files and folders, a file of a
/// manifest outside the set, or folders that cannot be made alike.
struct FolderExchange {
    /// Why a folder is not exchanged.
    enum Hindrance: Error {
        /// Something in it is no regular file, or has a name that mirror cannot write.
        case unknownEntry
        /// It is on another file system than `tmp/`, or spans several.
        case otherDevice
        /// Its owner, group or extended attributes would be others.
        case unlikeFolders
        /// Somebody removed a folder of it that the set has files in.
        case missingFolder
    }

    /// The folder, beneath the root.
    let folder: String
    /// Where the new folder is built, and where the old one lies afterwards.
    let aside: String
    /// Where other people's bytes at the targets of works are in the new folder.
    private(set) var conflicts: [Int: Target] = [:]
    /// Where other people's files are that did not get their names back.
    private(set) var kept: [String] = []

    private let root: RootDirectory
    private let now: Instant
    /// The stamps that the index knows of files beneath the folder.
    private let rows: [[UInt8]: FileStamp]
    /// The works whose targets are in each folder.
    private var arrivals: [[UInt8]: [Int]] = [:]
    /// The works, by target.
    private var works: [[UInt8]: Int] = [:]
    private let departures: Set<[UInt8]>
    /// The files of mirror's that the new folder does not have, as they were when it was built.
    private var dropped: [[UInt8]: FileStamp] = [:]
    /// The files that stay, as they were when it was built.
    private var carried: [(path: String, stamp: FileStamp)] = []
    /// How many of the set's files the new folder has.
    private var arrived = 0
    private let probe: PromotionProbe
    private var oldInode: UInt64?

    /// Nil where the set has no folder to itself.
    init?(
        _ set: SetLanding, root: RootDirectory, index: Index, now: Instant, probe: PromotionProbe
    ) {
        guard let folder = set.set.folder, let target = try? Target(folder),
            let files = try? index.read({ (database: inout Database) throws(IndexError) in
                try FileRows.files(beneath: folder, in: &database)
            }),
            files.allSatisfy({ $0.owners.names.allSatisfy(set.set.owners.contains) })
        else { return nil }
        self.folder = folder
        self.root = root
        self.now = now
        self.probe = probe
        aside = TreePartStore.passingPath(for: target)
        rows = Dictionary(
            files.map { (Array($0.path.utf8), $0.stamp) }, uniquingKeysWith: { $1 })
        departures = Set(set.removals.map { Array($0.removal.target.path.utf8) })
        for (at, member) in set.landings.enumerated() {
            works[Array(member.landing.target.path.utf8)] = at
            arrivals[Array(member.landing.target.folder.utf8), default: []].append(at)
        }
    }

    /// Builds the new folder. Throws what hinders that.
    ///
    /// - Parameter groupDevice: the file system that a group flush writes out; nil when there is none.
    mutating func build(
        _ staged: [StagedFile?], placement: Placement, folders: inout FolderCache,
        groupDevice: UInt64?
    ) throws {
        let tmp = try folders.make(Area.tmp.rawValue)
        let opened = try root.openFolder(folder)
        let old = try opened.status(path: folder)
        guard old.device == tmp.device else { throw Hindrance.otherDevice }
        oldInode = old.stamp.inode
        try copy(
            opened, folder,
            to: DirectoryEntry(
                folder: tmp.descriptor, name: PathText.name(of: aside), path: aside),
            staged, placement, &folders, device: old.device, flushing: old.device != groupDevice)
        guard arrived == staged.count else { throw Hindrance.missingFolder }
    }

    private mutating func copy(
        _ old: Descriptor, _ path: String, to place: DirectoryEntry,
        _ staged: [StagedFile?], _ placement: Placement, _ folders: inout FolderCache,
        device: UInt64, flushing: Bool
    ) throws {
        guard try old.status(path: path).device == device else { throw Hindrance.otherDevice }
        let new = try place.makeFolder()
        let attributes = try FolderAttributes(of: old, path: path)
        guard
            try FolderAttributes(of: new, path: place.path).equalsExceptForMode(attributes)
        else { throw Hindrance.unlikeFolders }
        var foreign: [(at: Int, entry: DirectoryEntry)] = []
        guard let names = try old.allNames(path: path) else { throw Hindrance.unknownEntry }
        for name in names {
            let entry = DirectoryEntry(folder: old, name: name, path: path + "/" + name)
            let key = Array(entry.path.utf8)
            guard let status = try entry.status() else { continue }
            if status.kind == .folder {
                guard let inner = try opened(entry.path) else { continue }
                try copy(
                    inner, entry.path,
                    to: DirectoryEntry(folder: new, name: name, path: place.path + "/" + name),
                    staged, placement, &folders, device: device, flushing: flushing)
                continue
            }
            guard status.isFile else { throw Hindrance.unknownEntry }
            if let at = works[key], let item = staged[at] {
                if try mayGo(entry, status, item, placement) {
                    dropped[key] = status.stamp
                } else {
                    foreign.append((at, entry))
                }
            } else if try isDeparting(entry, status, placement) {
                dropped[key] = status.stamp
            } else {
                try carry(
                    entry, status,
                    to: DirectoryEntry(folder: new, name: name, path: place.path))
            }
        }
        for at in arrivals[Array(path.utf8)] ?? [] {
            guard let item = staged[at] else { continue }
            let name = item.landing.target.name
            try folders.entry(item.path).link(
                to: DirectoryEntry(folder: new, name: name, path: place.path + "/" + name))
            arrived += 1
        }
        for (at, entry) in foreign { conflicts[at] = try keep(entry, works: staged[at], in: new) }
        try retryingLibc("fchmod", place.path) { fchmod(new.number, mode_t(attributes.mode)) }
        guard flushing else { return }
        do throws(Errno) {
            if let error = probe.flushError() { throw error }
            try new.flush(path: place.path)
        } catch { throw PromotionFault.unflushed(error) }
    }

    /// Opens a folder; nil where it has just gone.
    private func opened(_ path: String) throws(Errno) -> Descriptor? {
        do throws(Errno) { return try root.openFolder(path) } catch {
            if error.number == ENOENT { return nil }
            throw error
        }
    }

    /// Gives a file that stays a name in the new folder, unless it has just gone: an editor's scratch
    /// file lives for a moment only.
    private mutating func carry(
        _ entry: DirectoryEntry, _ status: FileStatus, to place: DirectoryEntry
    ) throws(Errno) {
        do throws(Errno) { try entry.link(to: place) } catch {
            if error.number == ENOENT { return }
            throw error
        }
        carried.append((entry.path, status.stamp))
    }

    /// Whether a file is an orphan that goes; one that was edited since the plan stays.
    private func isDeparting(
        _ entry: DirectoryEntry, _ status: FileStatus, _ placement: Placement
    ) throws -> Bool {
        guard departures.contains(Array(entry.path.utf8)) else { return false }
        return try placement.isKnown(entry, status, target: Target(entry.path))
    }

    /// Whether the file at a target may be replaced.
    private func mayGo(
        _ entry: DirectoryEntry, _ status: FileStatus, _ item: StagedFile, _ placement: Placement
    ) throws -> Bool {
        if item.replaces { return true }
        return try placement.isOurs(entry, status, landing: item.landing)
            || placement.isWanted(entry, status, item.landing.record)
    }

    /// Gives other people's bytes their conflict name in the new folder.
    private func keep(
        _ entry: DirectoryEntry, works item: StagedFile?, in new: Descriptor
    ) throws -> Target {
        guard let target = item?.landing.target else { throw Hindrance.unknownEntry }
        for attempt in 1...1000 {
            guard let name = ConflictName.make(for: target, at: now, attempt: attempt) else {
                break
            }
            do throws(Errno) {
                try entry.link(to: DirectoryEntry(folder: new, name: name.name, path: name.path))
                return name
            } catch {
                if error.number != EEXIST { throw error }
            }
        }
        throw Hindrance.unknownEntry
    }

    /// Exchanges the two folders, and nothing that is none. Where somebody has removed the old one, the
    /// new one takes its name.
    static func perform(
        _ aside: String, with folder: String, _ folders: inout FolderCache
    ) throws(Errno) {
        let new = try folders.entry(aside)
        let (parent, name) = FolderCache.split(folder)
        let place = DirectoryEntry(
            folder: try folders.make(parent).descriptor, name: name, path: folder)
        do throws(Errno) { try new.exchangeFolders(with: place) } catch {
            guard error.number == ENOENT else { throw error }
            try new.renameToFree(place)
        }
        folders.drop()
    }

    /// Removes what is left of the old folder, once the exchange lasts; returns the folders whose
    /// entries changed.
    mutating func settle() throws -> Set<String> {
        let dropped = dropped
        let carried = Dictionary(
            carried.map { (Array($0.path.utf8), $0.stamp) }, uniquingKeysWith: { $1 })
        let old = OldFolder(root: root, now: now) { path, _, status in
            dropped[Array(path.utf8)]?.isSameVersion(as: status.stamp) == true
        } isReplaced: { path, _, status in
            carried[Array(path.utf8)]?.isSameVersion(as: status.stamp) == true
        }
        let contents = try old.settle(aside, beside: folder)
        for file in contents.kept {
            if let at = works[Array(file.path.utf8)], let name = file.conflict {
                conflicts[at] = name
            } else {
                kept.append(file.place)
            }
        }
        return contents.touched
    }

    /// The stamps that unchanged files have now; a further name, and one less, change only the ctime.
    func stamps(_ folders: inout FolderCache) -> [(path: String, stamp: FileStamp)] {
        var stamps: [(path: String, stamp: FileStamp)] = []
        for (path, stamp) in carried where rows[Array(path.utf8)] == stamp {
            // Without its stamp, the next run reads the file.
            guard let now = try? folders.entry(path).status()?.stamp, now.isSameVersion(as: stamp)
            else { continue }
            stamps.append((path, now))
        }
        return stamps
    }

    /// Has the journal say that the files are renamed instead, and removes the new folder.
    func giveUp(_ journal: SetJournal, in index: Index) throws(PromotionFault) {
        let id = journal.id
        do throws(IndexError) {
            try index.write { (database: inout Database) throws(IndexError) in
                try JournalRows.renameInsteadOfExchange(ofSet: id, in: &database)
            }
        } catch { throw .failed(error.mirrorError) }
        if journal.isCommitted {
            do throws(Errno) { try index.makeDurable() } catch { throw .unflushed(error) }
        }
        removeAside()
    }

    /// Removes the new folder, which holds nothing but further names, and never the old one.
    func removeAside() {
        guard let built = try? root.openFolder(aside).status(path: aside),
            built.stamp.inode != oldInode
        else { return }
        try? OldFolder.ofNames(root, now).remove(aside)
    }
}

extension DirectoryEntry {
    /// Makes a folder, mode 0755, and opens it; `EEXIST` where the name is taken.
    func makeFolder() throws(Errno) -> Descriptor {
        try retryingLibc("mkdirat", path) { mkdirat(folder.number, name, 0o755) }
        return try open(O_RDONLY | O_DIRECTORY)
    }

    /// Removes an empty folder.
    func removeFolder() throws(Errno) {
        try retryingLibc("unlinkat", path) { unlinkat(folder.number, name, AT_REMOVEDIR) }
    }
}
