internal import CLinux
internal import CSQLite
internal import Glibc
internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// Where an index is, and how a connection to it is opened.
struct IndexLocation: Sendable {
    let file: IndexFile
    /// A path, or a URI with parameters.
    let name: String
    let flags: Int32
    /// Holds a private copy as long as it is read.
    let copy: PrivateCopy?
    /// What a connection runs before it reads.
    var preparation = ""

    /// Whether a connection shows what other processes write: neither a copy, nor a file that is taken
    /// to stay, nor one with a view of a set under way.
    var isLive: Bool { copy == nil && isWritable && preparation.isEmpty }

    /// Whether SQLite may write to it, as it does even to read beside others.
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
    /// Opens the index of a root for writing; the caller holds the root's lock.
    ///
    /// A missing one is made. A damaged one, or one of an earlier mirror, is moved aside with its log, and
    /// a new one is made. One of a later schema is left untouched: `MirrorError` with `indexNewer`.
    static func open(_ root: RootDirectory, now: Instant) throws(MirrorError) -> Index {
        let file: IndexFile
        do throws(Errno) {
            file = IndexFile(folder: try root.makeFolder(".mirror"), root: root)
        } catch { throw MirrorError(error) }
        PrivateCopy.removeLeftovers(in: file.folder)
        return try indexed { () throws(IndexError) in try file.openWriter(now: now) }
    }

    /// Opens the index of a root for reading, without a lock, and also where nothing can be written.
    ///
    /// If there is none, the result is an empty index in memory. Throws `MirrorError` with `inputOutput`
    /// for a damaged one, which would look like one without rows.
    static func openForReading(_ root: RootDirectory) throws(MirrorError) -> Index {
        let file: IndexFile
        do throws(Errno) {
            file = IndexFile(folder: try root.openFolder(".mirror"), root: root)
        } catch {
            if error.number == ENOENT { return try indexed(empty) }
            throw MirrorError(error)
        }
        return try indexed { () throws(IndexError) in
            try file.isThere() ? file.openReader() : empty()
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
                // Where this process has it open, nothing was looked at.
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
        // A log without a database would be replayed into the new one.
        if try filed({ () throws(Errno) in try size(suffix: "-wal") }) ?? 0 > 0 {
            _ = try filed { () throws(Errno) in try setAside(as: "damaged", at: now) }
        }
        removeMarks()
        return try open(isNew: true)
    }

    /// Throws where another process has the index open: it would remove the new log by its name when it
    /// closes the old one.
    private func checkThatNoneReads() throws(IndexError) {
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
                code: code,
                words: "another process reads the index of an earlier mirror; end it, and run again"
            )
        }
    }

    /// Moves an index aside and makes a new one. Where that fails, the error says where the old one is:
    /// the next run does not find it.
    private func openAnew(
        _ state: String, _ reason: String, _ now: Instant
    ) throws(IndexError) -> Index {
        let name = try filed { () throws(Errno) in try setAside(as: state, at: now) }
        do throws(IndexError) {
            let notice = """
                \(reason) It is kept as .mirror/\(name), and a new one is made from the tree and the \
                manifests. Name the manifests in the next sync: the new one does not know them yet.
                """
            return try open(isNew: true, notice: notice)
        } catch {
            throw error.adding("the \(state) one is kept as .mirror/\(name)")
        }
    }

    /// Opens a sound index. What looks like damage is looked at twice: the disk may have failed a read.
    private func openTwice() throws(IndexError) -> Index {
        let index: Index
        do throws(IndexError) { index = try open(isNew: false) } catch {
            guard error.damage != nil, !isOpen else { throw error }
            index = try open(isNew: false)
        }
        return index
    }

    private func open(isNew: Bool, notice: String? = nil) throws(IndexError) -> Index {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW
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
        // What a killed run left in the log may not be on the disk, and this one relies on it. A checkpoint
        // flushes the log first, so it does that even where the database finds no room to grow.
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
        let isWritable =
            faccessat(folder.number, ".", W_OK, 0) == 0
            && faccessat(folder.number, IndexFile.name, W_OK, 0) == 0
        do throws(IndexError) { return try openReader(isWritable: isWritable) } catch {
            // SQLite needs room for the memory that it shares with other processes.
            guard isWritable, error.isUnwritable else { throw error }
            return try openReader(isWritable: false)
        }
    }

    private func openReader(isWritable: Bool) throws(IndexError) -> Index {
        var location: IndexLocation
        if isWritable {
            // The last reader to leave removes the shared memory that it needed, so it may write.
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW
            location = IndexLocation(file: self, name: path, flags: flags, copy: nil)
        } else if try filed({ () throws(Errno) in try size(suffix: "-wal") }) ?? 0 > 0 {
            let copy = try filed { () throws(Errno) in
                try PrivateCopy.make(from: folder, path: folderPath)
            }
            location = IndexLocation(
                file: self, name: copy.path, flags: SQLITE_OPEN_READWRITE, copy: copy)
        } else {
            let name = "file:\(IndexFile.escaped(path))?immutable=1"
            location = IndexLocation(
                file: self, name: name, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, copy: nil)
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

    /// A path in which the characters with a meaning in SQLite's `file:` URIs are percent-encoded.
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

/// The index of a root for a process that reads it for long, beside runs that change it.
///
/// SQLite shows what other processes commit. It does not show that another file replaced the index.
/// A run makes a new index if there was none, or if the old one was damaged. An index that cannot
/// be written to is read as it was when it was opened. So each query first checks the file.
final class IndexWatch: Sendable {
    private let root: RootDirectory
    /// The stamps are those of the index and its log; `generation` counts how often another file was
    /// opened.
    private let state: Mutex<(index: Index, stamps: Stamps, generation: Int64)>
    /// Nil for what is not there.
    private typealias Stamps = (file: FileStamp?, log: FileStamp?)

    private static let path = ".mirror/" + IndexFile.name

    /// Opens the index for reading. Throws `MirrorError` with `indexNewer` or `inputOutput`.
    init(_ root: RootDirectory) throws(MirrorError) {
        self.root = root
        let stamps = IndexWatch.look(in: root)
        let index = try Index.openForReading(root)
        state = Mutex((index, stamps, 0))
    }

    /// The index as it is now, and a number that changes when it is another file.
    func current() throws(MirrorError) -> (index: Index, generation: Int64) {
        let file = FileStatus.stamp(folder: root.descriptor.number, file: IndexWatch.path)
        return try state.withLock { state throws(MirrorError) in
            // What SQLite shows by itself needs no look at the log, of which there is one a request.
            let isSame =
                state.index.isLive
                ? file?.inode == state.stamps.file?.inode
                : state.stamps == IndexWatch.look(in: root)
            if !isSame {
                let now = IndexWatch.look(in: root)
                // Queries under way may keep the old index open, which is then not checked again.
                state.index =
                    now.file == nil
                    ? try indexed { () throws(IndexError) in try Index.empty() }
                    : try Index.openForReading(root)
                state.stamps = now
                state.generation += 1
            }
            return (state.index, state.generation)
        }
    }

    /// Closes the index. No question may be under way or asked afterwards.
    func close() throws(MirrorError) {
        try state.withLock { state throws(MirrorError) in
            try state.index.close()
        }
    }

    private static func look(in root: RootDirectory) -> Stamps {
        let folder = root.descriptor.number
        return (
            FileStatus.stamp(folder: folder, file: path),
            FileStatus.stamp(folder: folder, file: path + "-wal")
        )
    }
}
