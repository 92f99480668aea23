internal import CSQLite
internal import Synchronization

/// Why the index could not be read or written.
enum IndexError: Error, Hashable {
    /// The file's bytes, or a row's values, are damaged. The text says what is damaged.
    case damaged(String)
    /// SQLite reports damage, perhaps only because the disk failed a read.
    ///
    /// The report counts as damage only if a second check finds it too.
    case doubtful(String)
    /// A newer mirror wrote the index, with this schema version.
    case newer(version: Int64)
    /// An earlier mirror wrote the index, with other tables.
    case former
    /// SQLite could not flush its log or the database.
    ///
    /// The error is final: a second flush would not report the lost bytes again.
    case unflushed(Errno)
    /// SQLite failed with this result code and this message.
    case database(code: Int32, words: String)
    /// A system call on a file of the index failed.
    case file(Errno)

    /// Sorts a result code of SQLite. Damage is what a new index cures.
    init(code: Int32, words: String) {
        switch code & 0xFF {
        // All statements are fixed texts, so an error in one means that the stored schema differs.
        case SQLITE_ERROR: self = .damaged(words)
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .doubtful(words)
        default: self = .database(code: code, words: words)
        }
    }

    /// SQLite's codes for a read that the disk failed (SQLITE_IOERR_READ, SQLITE_IOERR_CORRUPTFS).
    static let unreadable: [Int32] = [SQLITE_IOERR | 1 << 8, SQLITE_IOERR | 33 << 8]

    /// SQLite's codes for a full disk (SQLITE_FULL, SQLITE_IOERR_SHMSIZE).
    ///
    /// Either there is no room for a page, or none for more of the shared memory beside the log.
    static let full: [Int32] = [SQLITE_FULL, SQLITE_IOERR | 19 << 8]

    /// Whether SQLite had no room to write, or could not write (SQLITE_IOERR_WRITE).
    ///
    /// Such an error says nothing about the bytes that SQLite read.
    var isUnwritable: Bool {
        guard case .database(let code, _) = self else { return false }
        return IndexError.full.contains(code) || code == SQLITE_IOERR | 3 << 8
    }

    /// Whether the disk failed a read. Such an error says nothing about the bytes.
    var isUnreadable: Bool {
        guard case .database(let code, _) = self else { return false }
        return IndexError.unreadable.contains(code)
    }

    /// The damage that the error names, certain or not. `nil` means another kind of error.
    var damage: String? {
        switch self {
        case .damaged(let words), .doubtful(let words): words
        default: nil
        }
    }

    /// The same error with a remark after SQLite's message. Other errors stay as they are.
    func adding(_ remark: String) -> IndexError {
        guard case .database(let code, let words) = self else { return self }
        return .database(code: code, words: "\(words); \(remark)")
    }

    /// Whether SQLite gave up waiting for a lock of its files (SQLITE_PROTOCOL).
    var isWithoutLock: Bool { if case .database(SQLITE_PROTOCOL, _) = self { true } else { false } }

    /// Whether no further call of the index can be trusted.
    ///
    /// After a failed lock, each call would wait as long again. After a failed flush, the next one
    /// would seem to succeed.
    var isFinal: Bool { if case .unflushed = self { true } else { isWithoutLock } }

    /// The `MirrorError` that callers of the library get.
    ///
    /// - Parameter place: the path of the index's folder below the root.
    func mirrorError(in place: String) -> MirrorError {
        let name = place + "/" + IndexFile.name
        return switch self {
        case .damaged(let words):
            MirrorError(
                .inputOutput,
                """
                \(name): the index is damaged (\(words)). Sync a manifest by its path or \
                URL: then it is moved aside and rebuilt, and no file of the tree is lost.
                """)
        case .doubtful(let words):
            MirrorError(
                .inputOutput,
                """
                \(name): the index cannot be read, or is damaged (\(words)). Sync a \
                manifest by its path or URL: a damaged one is moved aside and rebuilt, and no file of \
                the tree is lost.
                """)
        case .former:
            MirrorError(
                .inputOutput,
                """
                \(name): an earlier mirror made the index, and this one cannot read it. Sync a \
                manifest by its path or URL: then it is moved aside and rebuilt, and no file of the tree is \
                lost.
                """)
        case .newer(let version):
            MirrorError(
                .indexNewer,
                """
                \(name): the index has version \(version), this mirror knows up to \
                \(Schema.version). Use the newer mirror that wrote it.
                """)
        case .database(let code, let words) where IndexError.full.contains(code):
            MirrorError(
                .noSpace,
                """
                \(name): the disk is full (\(words)). Parts were kept; free some space \
                and run again.
                """)
        case .database(let code, let words):
            MirrorError(.inputOutput, "\(name): \(words) (SQLite code \(code)).")
        case .file(let error), .unflushed(let error): MirrorError(error)
        }
    }
}

/// Runs a call of the index; throws its `IndexError` as a `MirrorError`.
///
/// - Parameter place: the path of the index's folder below the root.
func indexed<Value>(
    in place: String, _ body: () throws(IndexError) -> Value
) throws(MirrorError) -> Value {
    do throws(IndexError) { return try body() } catch { throw error.mirrorError(in: place) }
}

/// Remembers the errors of an index that matter later.
///
/// A writer marks possible damage and certain damage beside the database, for the next run. After a
/// final error the index refuses writes. It then also refuses reads, unless the error is a failed
/// flush.
struct IndexDamage: ~Copyable, Sendable {
    /// Where marks are left. `nil` for a reader and for an index that is only in memory.
    private let file: IndexFile?
    private let wasNoted = Atomic<Bool>(false)
    private let wasProven = Atomic<Bool>(false)
    /// The final error, after which the index accepts no writes.
    private let lost = Mutex<IndexError?>(nil)

    init(markedBeside file: IndexFile?) { self.file = file }

    /// Whether an error showed damage, certain or not.
    var isSeen: Bool { wasNoted.load(ordering: .acquiring) }

    /// Whether damage is certain, so that the next run needs a new index.
    var isCertain: Bool { wasProven.load(ordering: .acquiring) }

    /// Whether no final error has occurred, so that the index can still be closed properly.
    var isReachable: Bool { lost.withLock { $0 == nil } }

    /// The error of the flush that failed. Returns nil if no flush failed.
    var failedFlush: IndexError? {
        lost.withLock { lost in
            if case .unflushed? = lost { lost } else { nil }
        }
    }

    /// Remembers an error, marks the database if the error shows damage, and returns the error.
    func noted(_ error: IndexError) -> IndexError {
        if error.isFinal { lost.withLock { $0 = error } }
        guard error.damage != nil, let file else { return error }
        if !wasNoted.exchange(true, ordering: .acquiringAndReleasing) { file.put(.doubted) }
        if case .damaged = error, !wasProven.exchange(true, ordering: .acquiringAndReleasing) {
            file.put(.damaged)
        }
        return error
    }

    /// Throws the final error, after which the index accepts no writes.
    func refuseIfLost() throws(IndexError) {
        if let error = lost.withLock({ $0 }) { throw error }
    }

    /// Throws the final error if the index answers no more reads.
    ///
    /// After a failed flush the index still answers reads, because the handling of parts depends on
    /// its rows.
    func refuseReadingIfLost() throws(IndexError) {
        if let error = lost.withLock({ $0 }), error.isWithoutLock { throw error }
    }
}
