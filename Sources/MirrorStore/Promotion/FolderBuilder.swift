internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// Builds the folder of a set anew, out of hard links of its new files and of everything that stays.
///
/// It gives up where the new folder would not be like the old one: then the files are renamed one by one.
struct FolderBuilder {
    /// Why a folder cannot be built anew.
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

    /// What became of the files of a set's old folder when the new one was built.
    struct Contents {
        /// The files of mirror's that the new folder does not have, as they were.
        var dropped: [[UInt8]: FileStamp] = [:]
        /// The files that stay, as they were.
        var carried: [(path: String, stamp: FileStamp)] = []
    }

    let root: RootDirectory
    /// The file system of the old folder and of the new one.
    let device: UInt64
    /// Whether each folder is flushed by itself.
    let isFlushing: Bool
    /// The works, by target.
    let works: [[UInt8]: Int]
    /// The paths of the orphans.
    let departures: Set<[UInt8]>
    let staged: [StagedFile?]
    let placement: Placement
    /// The works whose targets are in each folder.
    private let arrivals: [[UInt8]: [Int]]
    private(set) var built = Contents()
    /// Where other people's bytes at the targets of works are in the new folder.
    private(set) var conflicts: [Int: Target] = [:]
    /// How many of the set's files the new folder has.
    private(set) var arrived = 0

    init(
        root: RootDirectory, device: UInt64, isFlushing: Bool, works: [[UInt8]: Int],
        departures: Set<[UInt8]>, staged: [StagedFile?], placement: Placement
    ) {
        self.root = root
        self.device = device
        self.isFlushing = isFlushing
        self.works = works
        self.departures = departures
        self.staged = staged
        self.placement = placement
        var arrivals: [[UInt8]: [Int]] = [:]
        for (at, item) in staged.enumerated() {
            guard let target = item?.landing.target else { continue }
            arrivals[Array(target.folder.utf8), default: []].append(at)
        }
        self.arrivals = arrivals
    }

    /// Copies a folder and those in it. Throws what hinders that.
    mutating func copy(
        _ old: Descriptor, _ path: String, to place: DirectoryEntry,
        _ folders: inout FolderCache
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
                    &folders)
                continue
            }
            guard status.isFile else { throw Hindrance.unknownEntry }
            if let at = works[key], let item = staged[at] {
                if try mayGo(entry, status, item) {
                    built.dropped[key] = status.stamp
                } else {
                    foreign.append((at, entry))
                }
            } else if try isDeparting(entry, status) {
                built.dropped[key] = status.stamp
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
        guard isFlushing else { return }
        do throws(Errno) {
            if let error = placement.probe.flushError() { throw error }
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
        built.carried.append((entry.path, status.stamp))
    }

    /// Whether a file is an orphan that goes; one that was edited since the plan stays.
    private func isDeparting(
        _ entry: DirectoryEntry, _ status: FileStatus
    ) throws -> Bool {
        guard departures.contains(Array(entry.path.utf8)) else { return false }
        return try placement.isKnown(entry, status, target: Target(entry.path))
    }

    /// Whether the file at a target may be replaced.
    private func mayGo(
        _ entry: DirectoryEntry, _ status: FileStatus, _ item: StagedFile
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
            guard let name = ConflictName.make(for: target, at: placement.now, attempt: attempt)
            else { break }
            do throws(Errno) {
                try entry.link(to: DirectoryEntry(folder: new, name: name.name, path: name.path))
                return name
            } catch {
                if error.number != EEXIST { throw error }
            }
        }
        throw Hindrance.unknownEntry
    }
}
