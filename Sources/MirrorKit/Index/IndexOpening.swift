internal import CLinux
internal import CSQLite
internal import Glibc
internal import Synchronization

/// The place of an index, and how connections to the index are opened.
struct IndexLocation: Sendable {
    let file: IndexFile
    /// A path, or a URI with parameters.
    let name: String
    let flags: Int32
    /// Keeps a private copy on the disk while a connection reads it. `nil` for the index itself.
    let copy: PrivateCopy?
    /// The SQL that each connection runs before it reads.
    var preparation = ""

    /// Whether a connection shows what other processes write.
    ///
    /// A connection does not if it reads a private copy, an immutable file, or a view of an
    /// unfinished set.
    var isLive: Bool { copy == nil && isWritable && preparation.isEmpty }

    /// Whether SQLite may write to the file. SQLite writes even to read beside other processes.
    private var isWritable: Bool { flags & SQLITE_OPEN_READWRITE != 0 }

    /// Opens a further connection.
    func connect() throws(IndexError) -> Database {
        let database = try Database(name, flags: flags, beneath: file.folder)
        if !preparation.isEmpty { try database.run(preparation) }
        return database
    }
}

// MARK: Opening

// Apparent damage is checked twice, because the disk may have failed a read. Only a run that holds the
// root's lock moves a damaged index aside; a reader gets an error.

extension Index {
    /// Opens the index of a root's shard for writing; the caller holds its lock.
    ///
    /// A missing index is created. A damaged index, or one of an earlier mirror, is moved aside
    /// with its log and replaced by a new one. An index of a later schema stays untouched; the call
    /// throws `MirrorError` with `indexNewer`.
    static func open(_ root: RootDirectory, now: Instant) throws(MirrorError) -> Index {
        let file: IndexFile
        let place = root.shard.folder
        do throws(Errno) {
            file = IndexFile(folder: try root.makeFolder(place), of: root.shard, root: root)
        } catch { throw MirrorError(error) }
        PrivateCopy.removeLeftovers(in: file.folder, path: place)
        return try indexed(in: place) { () throws(IndexError) in try file.openWriter(now: now) }
    }

    /// Opens the index of a root for reading, without the root's lock.
    ///
    /// The call also works where nothing can be written. If there is no index, the result is an
    /// empty index in memory. If shards have rows of the root's targets, the result joins their
    /// indexes. Throws `MirrorError` with `inputOutput` if an index is damaged, because an empty
    /// result would hide the damage.
    static func openForReading(_ root: RootDirectory) throws(MirrorError) -> Index {
        let own = try IndexFolder(of: root.shard, in: root)
        let others = try IndexFolder.others(than: root.shard, in: root)
            .filter { $0.mayHaveRows(of: root.shard) }
        let folders = (own.map { [$0] } ?? []) + others
        let place = root.shard.folder
        if folders.isEmpty { return try indexed(in: place, empty) }
        if folders.count == 1, let own, own.takers.isEmpty {
            return try openForReading(own, in: root)
        }
        let members = try folders.map { folder throws(MirrorError) in
            let index = try openForReading(folder, in: root)
            let named = try index.reading { (database: inout Database) throws(IndexError) in
                try database.pathsNamedByServers()
            }
            return Member(
                index: index, folder: folder, reader: root.shard, namedByServers: Set(named))
        }
        return try indexed(in: place) { () throws(IndexError) in try Index(joining: members) }
    }

    private static func openForReading(
        _ folder: IndexFolder, in root: RootDirectory
    ) throws(MirrorError) -> Index {
        let file = folder.file(in: root)
        return try indexed(in: file.place) { () throws(IndexError) in
            // `isThere` does not look if this process has the index open.
            guard folder.hasIndex, try file.isThere() else { return try empty() }
            return try file.openReader()
        }
    }

    /// An index without rows that leaves no file.
    static func empty() throws(IndexError) -> Index {
        let database = try Database(":memory:", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        try database.run(Schema.creation)
        return Index(location: nil, connection: database, isWriter: false)
    }
}

extension IndexFile {
    fileprivate func openWriter(now: Instant) throws(IndexError) -> Index {
        do throws(IndexError) {
            let wasOpen = isOpen
            if try isThere() {
                let index = try openTwice()
                // If this process had the index open already, `isThere` did not check it, so the
                // marks stay.
                if !wasOpen { removeMarks() }
                return index
            }
        } catch {
            if error == .former {
                try checkThatNoneReads()
                return try openAnew("former", "The index was made by an earlier mirror.", now)
            }
            guard let words = error.damage else { throw error }
            return try openAnew("damaged", "The index was damaged (\(words)).", now)
        }
        // SQLite would replay a log without a database into the new one. A database without tables
        // keeps its log: a run was killed while it made the tables, and SQLite drops what it wrote.
        let sizes = try filed { () throws(Errno) in (try size() ?? 0, try size(suffix: "-wal") ?? 0)
        }
        if sizes.0 == 0, sizes.1 > 0 {
            _ = try filed { () throws(Errno) in try setAside(as: "damaged", at: now) }
        }
        removeMarks()
        return try open(isNew: true)
    }

    /// Throws if another process has the index open, which is to be replaced or removed.
    ///
    /// When that process closes the old index, it would remove the new log, which has the same
    /// name.
    func checkThatNoneReads() throws(IndexError) {
        do throws(IndexError) {
            let old = try Database(
                path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, beneath: folder
            )
            try old.run(
                "PRAGMA busy_timeout = 500; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;"
            )
        } catch {
            guard case .database(let code, _) = error, code & 0xFF == SQLITE_BUSY else { return }
            throw .database(
                code: code, words: "another process reads the index; end it, and run again")
        }
    }

    /// Moves an index aside and creates a new one.
    ///
    /// If the creation fails, the error says where the old index is, because the next run does not
    /// find it.
    private func openAnew(
        _ state: String, _ reason: String, _ now: Instant
    ) throws(IndexError) -> Index {
        let name = try filed { () throws(Errno) in try setAside(as: state, at: now) }
        do throws(IndexError) {
            let notice = """
                \(reason) It is kept as \(place)/\(name), and a new one is made from the tree and the \
                manifests. Name the manifests in the next sync: the new one does not know them yet.
                """
            return try open(isNew: true, notice: notice)
        } catch {
            throw error.adding("the \(state) one is kept as \(place)/\(name)")
        }
    }

    /// Opens a sound index. Tries again after apparent damage, because the disk may have failed a
    /// read.
    private func openTwice() throws(IndexError) -> Index {
        let index: Index
        do throws(IndexError) { index = try open(isNew: false) } catch {
            guard error.damage != nil, !isOpen else { throw error }
            index = try open(isNew: false)
        }
        return index
    }

    private func open(isNew: Bool, notice: String? = nil) throws(IndexError) -> Index {
        // With URIs, another index can be attached to the connection (`IndexTakeover`).
        let flags =
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_URI
        var database = try Database(path, flags: flags, beneath: folder)
        try database.run(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;
            PRAGMA cache_size = -8192; PRAGMA trusted_schema = OFF; PRAGMA secure_delete = OFF;
            """)
        if try database.number("PRAGMA user_version") == 0 {
            try database.run("BEGIN IMMEDIATE; \(Schema.creation) COMMIT;")
        }
        try database.verify(
            fileSize: isNew ? 0 : filed { () throws(Errno) in try size() })
        // This run relies on what a killed run left in the log, which may not be on the disk. A
        // checkpoint flushes the log first, even if the disk has no room for the database to grow.
        if !isNew {
            do throws(IndexError) {
                try database.checkpoint(mode: SQLITE_CHECKPOINT_PASSIVE)
            } catch {
                if !error.isUnwritable { throw error }
            }
        }
        let mode = try database.first("PRAGMA journal_mode") {
            (row: inout Row) throws(IndexError) in try row.text()
        }
        return Index(
            location: IndexLocation(
                file: self, name: path, flags: flags & ~SQLITE_OPEN_CREATE, copy: nil),
            connection: database, isWriter: true, readsBesideCommits: mode == "wal",
            notice: notice)
    }

    /// Opens a sound index for reading.
    fileprivate func openReader() throws(IndexError) -> Index {
        // The shards of a root on a network file system may be on other machines, which do not share
        // the memory beside the log.
        let isWritable =
            faccessat(folder.number, ".", W_OK, 0) == 0
            && faccessat(folder.number, IndexFile.name, W_OK, 0) == 0
            && (place == Shard.whole.folder || FileSystemKind(of: folder).networkName == nil)
        do throws(IndexError) { return try openReader(isWritable: isWritable) } catch {
            // SQLite needs disk space for the memory that it shares with other processes.
            guard isWritable, error.isUnwritable else { throw error }
            return try openReader(isWritable: false)
        }
    }

    private func openReader(isWritable: Bool) throws(IndexError) -> Index {
        var location: IndexLocation
        if isWritable {
            // The last reader that closes the database removes the shared memory, so it must be
            // able to write.
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW
            location = IndexLocation(file: self, name: path, flags: flags, copy: nil)
        } else if try filed({ () throws(Errno) in try size(suffix: "-wal") }) ?? 0 > 0 {
            let copy = try filed { () throws(Errno) in
                try PrivateCopy.make(from: folder, path: folderPath)
            }
            location = IndexLocation(
                file: self, name: copy.path, flags: SQLITE_OPEN_READWRITE, copy: copy)
        } else {
            location = IndexLocation(
                file: self, name: immutableName, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
                copy: nil)
        }
        var database = try Database(location.name, flags: location.flags, beneath: folder)
        try database.run("PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;")
        if let view = try database.viewOfPromoted(of: root) {
            location.preparation = view
            try database.run(view)
        }
        try database.run("PRAGMA query_only = ON;")
        try database.verify(
            fileSize: filed { () throws(Errno) in try size() })
        return Index(
            location: location, connection: database, isWriter: false)
    }

    /// The URI of the database for readers of which SQLite may assume that nothing changes it.
    var immutableName: String { "file:\(IndexFile.escaped(path))?immutable=1" }

    /// Percent-encodes the characters of a path that have a meaning in SQLite's `file:` URIs.
    private static func escaped(_ path: String) -> String {
        var text = ""
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"), ...0x20, 0x7F...:
                text += "%" + Hex.encode([byte])
            default: text.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return text
    }
}

/// The index of a root for a process that reads it for hours while runs change it.
///
/// SQLite shows what other processes commit, but not that another file has replaced the index. A
/// run creates a new index if there was none, or if the old one was damaged; shards come and go. An
/// index that cannot be written to keeps the state that it had when it was opened. So `current`
/// checks the files before each query.
final class IndexWatch: Sendable {
    private let root: RootDirectory
    /// `files`: those at the opening of the index. `generation`: the later openings.
    private let state: Mutex<(index: Index, files: Files, generation: Int64)>

    /// The files that show whether an index must be opened again.
    private struct Files {
        /// The folders that may have an index.
        var places = [Shard.whole.folder]
        /// The folder of these folders, which changes when one of them comes or goes.
        var folder: FileStamp?
        /// The index of each place and its log. `nil` means that the file does not exist.
        var stamps: [(file: FileStamp?, log: FileStamp?)] = []
    }

    /// Opens the index for reading. Throws `MirrorError` with `indexNewer` or `inputOutput`.
    init(_ root: RootDirectory) throws(MirrorError) {
        self.root = root
        let files = IndexWatch.look(in: root)
        state = Mutex((try Index.openForReading(root), files, 0))
    }

    /// The index as it is now. `generation` changes when another file has replaced the index.
    func current() throws(MirrorError) -> (index: Index, generation: Int64) {
        try state.withLock { state throws(MirrorError) in
            // A live index shows changes by itself, so only the inode matters. A look at the log,
            // too, would cost one more system call for each request.
            let isLive = state.index.isLive
            let now = IndexWatch.look(in: root, at: state.files.places, withLogs: !isLive)
            let isSame = zip(now.stamps, state.files.stamps).allSatisfy { now, then in
                isLive ? now.file?.inode == then.file?.inode : now == then
            }
            if !isSame || now.folder != state.files.folder {
                let files = IndexWatch.look(in: root)
                // Queries under way may keep the old index open. `openForReading` does not check
                // an index that this process has open.
                state.index = try Index.openForReading(root)
                state.files = files
                state.generation += 1
            }
            return (state.index, state.generation)
        }
    }

    /// Closes the index. No query may be under way, and none may follow.
    func close() throws(MirrorError) {
        try state.withLock { state throws(MirrorError) in
            try state.index.close()
        }
    }

    /// Looks at the files of an index; without places, at those of all folders.
    private static func look(
        in root: RootDirectory, at places: [String]? = nil, withLogs: Bool = true
    ) -> Files {
        var files = Files()
        let folder = root.descriptor.number
        files.folder =
            (try? FileStatus(folder: folder, name: Shard.folders, path: Shard.folders))?.stamp
        if let places {
            files.places = places
        } else if files.folder != nil {
            let names = try? root.openFolder(Shard.folders).names(path: Shard.folders)
            files.places += (names ?? []).compactMap { Shard(folderName: $0)?.folder }
        }
        files.stamps = files.places.map { place in
            let name = place + "/" + IndexFile.name
            return (
                FileStatus.stamp(folder: folder, file: name),
                withLogs ? FileStatus.stamp(folder: folder, file: name + "-wal") : nil
            )
        }
        return files
    }
}
