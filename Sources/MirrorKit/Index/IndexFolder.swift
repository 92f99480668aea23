internal import CLinux
internal import Glibc

/// A folder of a root that has an index: `.mirror`, or the folder of a shard.
///
/// When another number of processes shares the work, each takes over the rows of its targets from
/// the indexes that are there, and leaves a file `taken-3-of-8` beside each. These rows count in the
/// taker's index from then on. The files need no lock that holds between machines for a moment.
struct IndexFolder {
    /// The shard whose index it is.
    let shard: Shard
    let descriptor: Descriptor
    /// The shards that have taken over the rows of their targets.
    private(set) var takers: [Shard] = []

    private static let mark = "taken-"

    /// Opens the folder of a shard. Returns nil if it does not exist.
    init?(of shard: Shard, in root: RootDirectory) throws(MirrorError) {
        do throws(Errno) {
            self.init(of: shard, try root.openFolder(shard.folder))
            try readTakers()
        } catch {
            if error.number == ENOENT { return nil }
            throw MirrorError(error)
        }
    }

    private init(of shard: Shard, _ descriptor: Descriptor) {
        self.shard = shard
        self.descriptor = descriptor
    }

    /// The folders of the shards of other numbers.
    ///
    /// The folder of another shard of the same number never has rows of this one's targets.
    static func others(than own: Shard, in root: RootDirectory) throws(MirrorError) -> [IndexFolder]
    {
        var names: [String] = []
        do throws(Errno) {
            names = try root.openFolder(Shard.folders).names(path: Shard.folders)
        } catch {
            if error.number != ENOENT { throw MirrorError(error) }
        }
        var folders: [IndexFolder] = []
        for shard in [.whole] + names.compactMap(Shard.init(folderName:))
        where shard.count != own.count {
            if let folder = try IndexFolder(of: shard, in: root) { folders.append(folder) }
        }
        return folders
    }

    /// Whether the index may have rows of another shard's targets that count.
    func mayHaveRows(of shard: Shard) -> Bool { hasIndex && !takers.contains(shard) }

    /// Whether the folder has an index.
    var hasIndex: Bool {
        faccessat(descriptor.number, IndexFile.name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// The files of the index.
    func file(in root: RootDirectory) -> IndexFile {
        IndexFile(folder: descriptor, of: shard, root: root)
    }

    /// Whether a row for a path counts here for a shard: it has the target, and none has taken it.
    func counts(
        _ path: some Sequence<UInt8>, for own: Shard, isNamedByServer: Bool
    ) -> Bool {
        own.has(path, isNamedByServer: isNamedByServer)
            && !isTaken(path, isNamedByServer: isNamedByServer)
    }

    /// Whether a shard has taken over the row for a path.
    func isTaken(_ path: some Sequence<UInt8>, isNamedByServer: Bool) -> Bool {
        takers.contains { $0.has(path, isNamedByServer: isNamedByServer) }
    }

    /// Whether the folder has nothing that counts: all shards of one number have taken their rows, or
    /// it is a shard's and has no index, as after a removal that was broken off.
    var isUnused: Bool {
        hasIndex
            ? Dictionary(grouping: takers, by: \.count).contains { $0.value.count == $0.key }
            : !shard.isWhole
    }
}

// MARK: Changes

extension IndexFolder {
    /// Reads which shards have taken over rows.
    mutating func readTakers() throws(Errno) {
        takers = try descriptor.names(path: shard.folder, containing: IndexFolder.mark)
            .compactMap { name in
                name.hasPrefix(IndexFolder.mark)
                    ? Shard(folderName: String(name.dropFirst(IndexFolder.mark.count))) : nil
            }
    }

    /// Notes durably that a shard has taken over its rows, and reads who else has.
    mutating func note(taker: Shard) throws(Errno) {
        let name = IndexFolder.name(of: taker)
        let path = shard.folder + "/" + name
        _ = Descriptor(
            owning: try retrying("openat", path) {
                let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC
                return linux_openat(descriptor.number, name, flags, 0o644)
            })
        try descriptor.flush(path: path)
        try readTakers()
    }

    /// Forgets all takers, after the rows that they have taken were removed.
    mutating func forgetTakers() throws(Errno) {
        for taker in takers { unlinkat(descriptor.number, IndexFolder.name(of: taker), 0) }
        try descriptor.flush(path: shard.folder)
        takers = []
    }

    private static func name(of taker: Shard) -> String {
        mark + "\(taker.number)-of-\(taker.count)"
    }

    /// Removes the index, and the folder if it is a shard's. The caller holds its lock alone.
    ///
    /// What cannot be removed is only left over: all of its rows are taken.
    func remove(in root: RootDirectory) {
        for suffix in ["", "-wal", "-shm"] {
            unlinkat(descriptor.number, IndexFile.name + suffix, 0)
        }
        for taker in takers { unlinkat(descriptor.number, IndexFolder.name(of: taker), 0) }
        if shard.isWhole { return }
        unlinkat(descriptor.number, RootLock.name, 0)
        try? root.removeFolder(shard.folder)
        // Fails while other shards have folders.
        try? root.removeFolder(Shard.folders)
    }
}
