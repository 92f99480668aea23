internal import CLinux
internal import CSQLite
internal import Glibc
internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// An open index, and a note for the user about the state in which it was found.
struct OpenedIndex: Sendable {
    let index: Index
    /// A sentence for people when it was damaged; nil otherwise.
    let notice: String?
}

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

/// The opening of an index: checks its files, then opens them or makes new ones.
///
/// Apparent damage is checked twice, because the disk may have failed a read. Only a run that holds
/// the root's lock moves a damaged index aside; a reader gets an error.
struct IndexOpening {
    private let file: IndexFile
    private let root: RootDirectory

    /// Opens the index of a root for writing; the caller holds the root's lock.
    ///
    /// A missing one is made. A damaged one, or one of an earlier mirror, is moved aside with its log, and
    /// a new one is made. One of a later schema is left untouched: `MirrorError` with `indexNewer`.
    static func open(
        _ root: RootDirectory, now: Instant
    ) throws(MirrorError) -> OpenedIndex {
        let file: IndexFile
        do throws(Errno) {
            file = IndexFile(folder: try root.makeFolder(".mirror"), root: root)
        } catch { throw MirrorError(error) }
        PrivateCopy.removeLeftovers(in: file.folder)
        let opening = IndexOpening(file: file, root: root)
        return try indexed { () throws(IndexError) in try opening.openWriter(now: now) }
    }

    private func openWriter(now: Instant) throws(IndexError) -> OpenedIndex {
        let isOpen = OpenIndexes.contains(file)
        switch try verdict(isOpen: isOpen) {
        case .newer(let version): throw IndexError.newer(version: version)
        case .former:
            try checkThatNoneReads()
            return try openAnew("former", "The index was made by an earlier mirror.", now)
        case .damaged(let words): return try openAnew(insteadOf: words, now)
        case .missing:
            // A log without a database would be replayed into the new one.
            if try filed({ () throws(Errno) in try file.size(suffix: "-wal") }) ?? 0 > 0 {
                _ = try setAside(as: "damaged", now)
            }
            file.removeMarks()
            return OpenedIndex(index: try open(isNew: true), notice: nil)
        case .sound:
            do throws(IndexError) {
                let index = try openTwice()
                // Where this process has it open, nothing was looked at.
                if !isOpen { file.removeMarks() }
                return OpenedIndex(index: index, notice: nil)
            } catch {
                guard let words = error.damage else { throw error }
                return try openAnew(insteadOf: words, now)
            }
        }
    }

    private func openAnew(
        insteadOf damage: String, _ now: Instant
    ) throws(IndexError) -> OpenedIndex {
        try openAnew("damaged", "The index was damaged (\(damage)).", now)
    }

    /// Throws where another process has the index open: it would remove the new log by its name when it
    /// closes the old one.
    private func checkThatNoneReads() throws(IndexError) {
        do throws(IndexError) {
            var old = try Database(
                file.path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, beneath: file.folder
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
    ) throws(IndexError) -> OpenedIndex {
        let name = try setAside(as: state, now)
        do throws(IndexError) {
            let notice = """
                \(reason) It is kept as .mirror/\(name), and a new one is made from the tree and the \
                manifests. Name the manifests in the next sync: the new one does not know them yet.
                """
            return OpenedIndex(index: try open(isNew: true), notice: notice)
        } catch {
            throw error.adding("the \(state) one is kept as .mirror/\(name)")
        }
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
        let opening = IndexOpening(file: file, root: root)
        return try indexed { () throws(IndexError) in try opening.openReader() }
    }

    private func openReader() throws(IndexError) -> Index {
        switch try verdict(isOpen: OpenIndexes.contains(file)) {
        case .newer(let version): throw IndexError.newer(version: version)
        case .former: throw IndexError.former
        case .missing: return try IndexOpening.empty()
        case .damaged(let words): throw IndexError.damaged(words)
        case .sound: return try openSoundReader()
        }
    }

    /// What the files are. A database that this process has open is not judged: opening and closing it once
    /// more would drop the locks.
    private func verdict(isOpen: Bool) throws(IndexError) -> IndexFile.Verdict {
        isOpen ? file.verdictByMark ?? .sound : try file.judge()
    }

    /// Opens a sound index. What looks like damage is looked at twice: the disk may have failed a read.
    private func openTwice() throws(IndexError) -> Index {
        let index: Index
        do throws(IndexError) { index = try open(isNew: false) } catch {
            guard error.damage != nil, !OpenIndexes.contains(file) else { throw error }
            index = try open(isNew: false)
        }
        return index
    }

    private func open(isNew: Bool) throws(IndexError) -> Index {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW
        var database = try Database(file.path, flags: flags, beneath: file.folder)
        try database.run(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;
            PRAGMA cache_size = -8192; PRAGMA trusted_schema = OFF; PRAGMA secure_delete = OFF;
            """)
        if try database.number("PRAGMA user_version") == 0 {
            try database.run("BEGIN IMMEDIATE; \(Schema.creation) COMMIT;")
        }
        try database.verify(
            fileSize: isNew ? 0 : filed { () throws(Errno) in try file.size() })
        // What a killed run left in the log may not be on the disk, and this one relies on it. A checkpoint
        // flushes the log first, so it does that even where the database finds no room to grow.
        if !isNew {
            do throws(IndexError) {
                try database.checkpoint(mode: SQLITE_CHECKPOINT_PASSIVE)
            } catch {
                if !error.isUnwritable { throw error }
            }
        }
        return Index(
            location: IndexLocation(
                file: file, name: file.path, flags: flags & ~SQLITE_OPEN_CREATE, copy: nil),
            connection: database, isWriter: true)
    }

    /// Opens a sound index for reading.
    private func openSoundReader() throws(IndexError) -> Index {
        let isWritable =
            faccessat(file.folder.number, ".", W_OK, 0) == 0
            && faccessat(file.folder.number, IndexFile.name, W_OK, 0) == 0
        do throws(IndexError) { return try openSoundReader(isWritable: isWritable) } catch {
            // SQLite needs room for the memory that it shares with other processes.
            guard isWritable, error.isUnwritable else { throw error }
            return try openSoundReader(isWritable: false)
        }
    }

    private func openSoundReader(isWritable: Bool) throws(IndexError) -> Index {
        var location: IndexLocation
        if isWritable {
            // The last reader to leave removes the shared memory that it needed, so it may write.
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW
            location = IndexLocation(file: file, name: file.path, flags: flags, copy: nil)
        } else if try filed({ () throws(Errno) in try file.size(suffix: "-wal") }) ?? 0 > 0 {
            let copy = try filed { () throws(Errno) in
                try PrivateCopy.make(from: file.folder, path: file.folderPath)
            }
            location = IndexLocation(
                file: file, name: copy.path, flags: SQLITE_OPEN_READWRITE, copy: copy)
        } else {
            let name = "file:\(IndexOpening.escaped(file.path))?immutable=1"
            location = IndexLocation(
                file: file, name: name, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, copy: nil)
        }
        var database = try Database(location.name, flags: location.flags, beneath: file.folder)
        try database.run("PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;")
        if let view = try database.viewOfPromoted(of: root) {
            location.preparation = view
            try database.run(view)
        }
        try database.run("PRAGMA query_only = ON;")
        try database.verify(
            fileSize: filed { () throws(Errno) in try file.size() })
        return Index(
            location: location, connection: database, isWriter: false)
    }

    /// An index without rows that leaves no file.
    static func empty() throws(IndexError) -> Index {
        let database = try Database(":memory:", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        try database.run(Schema.creation)
        return Index(location: nil, connection: database, isWriter: false)
    }

    /// Moves the index and its log aside; returns its new name.
    private func setAside(as state: String, _ now: Instant) throws(IndexError) -> String {
        try filed { () throws(Errno) in try file.setAside(as: state, at: now) }
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
    private let state: Mutex<State>

    private struct State {
        var index: Index
        var identity: Identity
        /// Counts how often another file was opened.
        var generation: Int64 = 0
    }

    /// The stamps of the index and its log; nil for what is not there.
    private struct Identity: Equatable {
        var file: FileStamp?
        var log: FileStamp?
    }

    private static let path = ".mirror/" + IndexFile.name

    /// Opens the index for reading. Throws `MirrorError` with `indexNewer` or `inputOutput`.
    init(_ root: RootDirectory) throws(MirrorError) {
        self.root = root
        let identity = IndexWatch.look(in: root)
        let index = try IndexOpening.openForReading(root)
        state = Mutex(State(index: index, identity: identity))
    }

    /// The index as it is now, and a number that changes when it is another file.
    func current() throws(MirrorError) -> (index: Index, generation: Int64) {
        let file = FileStatus.stamp(folder: root.descriptor.number, file: IndexWatch.path)
        return try state.withLock { state throws(MirrorError) in
            // What SQLite shows by itself needs no look at the log, of which there is one a request.
            let isSame =
                state.index.isLive
                ? file?.inode == state.identity.file?.inode
                : state.identity == IndexWatch.look(in: root)
            if !isSame {
                let now = IndexWatch.look(in: root)
                // Queries under way may keep the old index open, which is then not checked again.
                state.index =
                    now.file == nil
                    ? try indexed { () throws(IndexError) in try IndexOpening.empty() }
                    : try IndexOpening.openForReading(root)
                state.identity = now
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

    private static func look(in root: RootDirectory) -> Identity {
        let folder = root.descriptor.number
        return Identity(
            file: FileStatus.stamp(folder: folder, file: path),
            log: FileStatus.stamp(folder: folder, file: path + "-wal"))
    }
}

/// Runs a call of the file system for the index.
private func filed<Value>(_ body: () throws(Errno) -> Value) throws(IndexError) -> Value {
    do throws(Errno) { return try body() } catch { throw .file(error) }
}
