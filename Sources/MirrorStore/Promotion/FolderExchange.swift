internal import Glibc
internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// Builds the folder of a set anew, and puts it in the place of the old one in one step.
///
/// The new folder lies in `tmp/`. The set's new files are hard links of their parts, and everything that
/// stays is a hard link of what is there: an open file stays the same file, whoever writes to it. The
/// folder is left to the slower way where it holds a file of a manifest outside the set, or where
/// something hinders its building (`FolderBuilder.Hindrance`).
struct FolderExchange {
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
    /// The works, by target.
    private var works: [[UInt8]: Int] = [:]
    private let departures: Set<[UInt8]>
    /// What became of the old folder's files in the new one.
    private var built = FolderBuilder.Contents()
    private var oldInode: UInt64?
    /// The stamps that the files which stay had before, by their paths.
    private var carried: [[UInt8]: FileStamp] {
        Dictionary(
            built.carried.map { (Array($0.path.utf8), $0.stamp) }, uniquingKeysWith: { $1 })
    }

    /// Nil where the set has no folder to itself.
    init?(_ set: SetLanding, root: RootDirectory, index: Index, now: Instant) {
        guard let folder = set.set.folder, let target = try? Target(folder),
            let files = try? index.read({ (database: inout Database) throws(IndexError) in
                try FileRows.files(beneath: folder, in: &database)
            }),
            files.allSatisfy({ $0.owners.names.allSatisfy(set.set.owners.contains) })
        else { return nil }
        self.folder = folder
        self.root = root
        self.now = now
        aside = TreePartStore.passingPath(for: target)
        rows = Dictionary(
            files.map { (Array($0.path.utf8), $0.stamp) }, uniquingKeysWith: { $1 })
        departures = Set(set.removals.map { Array($0.removal.target.path.utf8) })
        for (at, member) in set.landings.enumerated() {
            works[Array(member.landing.target.path.utf8)] = at
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
        guard old.device == tmp.device else { throw FolderBuilder.Hindrance.otherDevice }
        oldInode = old.stamp.inode
        var builder = FolderBuilder(
            root: root, device: old.device, isFlushing: old.device != groupDevice, works: works,
            departures: departures, staged: staged, placement: placement)
        try builder.copy(
            opened, folder,
            to: DirectoryEntry(
                folder: tmp.descriptor, name: PathText.name(of: aside), path: aside), &folders)
        guard builder.arrived == staged.count else {
            throw FolderBuilder.Hindrance.missingFolder
        }
        built = builder.built
        conflicts = builder.conflicts
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
        let (dropped, carried) = (built.dropped, carried)
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
        for (path, stamp) in built.carried where rows[Array(path.utf8)] == stamp {
            // Without its stamp, the next run reads the file.
            guard let now = try? folders.entry(path).status()?.stamp, now.isSameVersion(as: stamp)
            else { continue }
            stamps.append((path, now))
        }
        return stamps
    }

    /// The stamps that files have now which stay and are confirmed afterwards, by their steps' positions:
    /// those that were carried over as their confirmations saw them.
    func stamps(
        of staying: [SetLanding.Staying], _ folders: inout FolderCache
    ) -> [Int: FileStamp] {
        if staying.isEmpty { return [:] }
        let carried = carried
        var stamps: [Int: FileStamp] = [:]
        for member in staying {
            let (path, seen) = (member.confirmed.target.path, member.confirmed.record.stamp)
            guard carried[Array(path.utf8)] == seen,
                let now = try? folders.entry(path).status()?.stamp, now.isSameVersion(as: seen)
            else { continue }
            stamps[member.position] = now
        }
        return stamps
    }

    /// Has the journal say that the files are renamed instead, and removes the new folder.
    fileprivate func giveUp(_ journal: SetJournal, in index: Index) throws(PromotionFault) {
        let id = journal.id
        do throws(IndexError) {
            try index.write(durably: journal.isCommitted) {
                (database: inout Database) throws(IndexError) in
                try JournalRows.renameInsteadOfExchange(ofSet: id, in: &database)
            }
        } catch { throw PromotionFault(error) }
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

extension FolderExchange? {
    /// Has the files of a set renamed one by one instead. From here on there is no exchange, even where
    /// this fails.
    mutating func giveUp(
        _ journal: SetJournal, in group: inout PromotionGroup
    ) throws(PromotionFault) {
        let built = self
        self = nil
        try built?.giveUp(journal, in: group.environment.index)
        group.folders.cache.drop()
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
