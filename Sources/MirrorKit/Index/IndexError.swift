internal import CSQLite
internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// Why the index could not be read or written.
enum IndexError: Error, Hashable {
    /// The file's bytes, or a row's values, are damaged; the words name the damage.
    case damaged(String)
    /// SQLite reports damage. It sometimes reports the same for bytes that it could not read, so
    /// this is damage only if a second look finds it too.
    case doubtful(String)
    /// It has this schema version, and a newer mirror wrote it.
    case newer(version: Int64)
    /// An earlier mirror wrote it, with other tables.
    case former
    /// SQLite could not flush its log or the database. That is final: a second flush would not report it again.
    case unflushed(Errno)
    /// SQLite gave this result code and these words.
    case database(code: Int32, words: String)
    /// A call of the system on one of its files failed.
    case file(Errno)

    /// Sorts a result code of SQLite: damage is what a rebuild cures.
    init(code: Int32, words: String) {
        switch code & 0xFF {
        // All statements are fixed texts, so an error in one means that the stored schema is
        // another one.
        case SQLITE_ERROR: self = .damaged(words)
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .doubtful(words)
        default: self = .database(code: code, words: words)
        }
    }

    /// SQLite's codes for a read that the disk failed (SQLITE_IOERR_READ, SQLITE_IOERR_CORRUPTFS).
    static let unreadable: [Int32] = [SQLITE_IOERR | 1 << 8, SQLITE_IOERR | 33 << 8]

    /// SQLite's codes for a full disk: no room for a page, or for more of the shared memory beside
    /// the log (SQLITE_FULL, SQLITE_IOERR_SHMSIZE).
    static let full: [Int32] = [SQLITE_FULL, SQLITE_IOERR | 19 << 8]

    /// Whether there was no room for what SQLite writes, or it could not be written (SQLITE_IOERR_WRITE):
    /// that says nothing about the bytes that it read.
    var isUnwritable: Bool {
        guard case .database(let code, _) = self else { return false }
        return IndexError.full.contains(code) || code == SQLITE_IOERR | 3 << 8
    }

    /// Whether the disk failed a read, which says nothing about the bytes.
    var isUnreadable: Bool {
        guard case .database(let code, _) = self else { return false }
        return IndexError.unreadable.contains(code)
    }

    /// The damage that was found, certain or not; nil for any other error.
    var damage: String? {
        switch self {
        case .damaged(let words), .doubtful(let words): words
        default: nil
        }
    }

    /// The same error of SQLite with a remark behind its words.
    func adding(_ remark: String) -> IndexError {
        guard case .database(let code, let words) = self else { return self }
        return .database(code: code, words: "\(words); \(remark)")
    }

    /// Whether SQLite has waited for a lock of its files for as long as it ever does.
    var isWithoutLock: Bool { if case .database(SQLITE_PROTOCOL, _) = self { true } else { false } }

    /// Whether no further call of the index can be trusted: a lock that could not be had would be waited for as
    /// long again, and a flush that failed would seem to succeed.
    var isFinal: Bool { if case .unflushed = self { true } else { isWithoutLock } }

    /// The error as callers of the library see it.
    var mirrorError: MirrorError {
        switch self {
        case .damaged(let words):
            MirrorError(
                .inputOutput,
                """
                .mirror/index.sqlite: the index is damaged (\(words)). Sync a manifest by its path or \
                URL: then it is moved aside and rebuilt, and no file of the tree is lost.
                """)
        case .doubtful(let words):
            MirrorError(
                .inputOutput,
                """
                .mirror/index.sqlite: the index cannot be read, or is damaged (\(words)). Sync a \
                manifest by its path or URL: a damaged one is moved aside and rebuilt, and no file of \
                the tree is lost.
                """)
        case .former:
            MirrorError(
                .inputOutput,
                """
                .mirror/index.sqlite: an earlier mirror made the index, and this one cannot read it. Sync a \
                manifest by its path or URL: then it is moved aside and rebuilt, and no file of the tree is \
                lost.
                """)
        case .newer(let version):
            MirrorError(
                .indexNewer,
                """
                .mirror/index.sqlite: the index has version \(version), this mirror knows up to \
                \(Schema.version). Use the newer mirror that wrote it.
                """)
        case .database(let code, let words) where IndexError.full.contains(code):
            MirrorError(
                .noSpace,
                """
                .mirror/index.sqlite: the disk is full (\(words)). Parts were kept; free some space \
                and run again.
                """)
        case .database(let code, let words):
            MirrorError(.inputOutput, ".mirror/index.sqlite: \(words) (SQLite code \(code)).")
        case .file(let error), .unflushed(let error): MirrorError(error)
        }
    }
}

/// Runs a call of the index and throws its error as callers of the library see it.
func indexed<Value>(_ body: () throws(IndexError) -> Value) throws(MirrorError) -> Value {
    do throws(IndexError) { return try body() } catch { throw error.mirrorError }
}

/// What the errors of an index said about its state, so that the next run knows it, and this one does not
/// ask in vain.
///
/// The first error that looks like damage leaves a mark beside the database of a run that writes.
struct IndexDamage: ~Copyable, Sendable {
    /// Where marks are left; nil for a reader, and for an index that is not on disk.
    private let file: IndexFile?
    private let wasNoted = Atomic<Bool>(false)
    private let wasProven = Atomic<Bool>(false)
    /// Why the index answers no more questions.
    private let lost = Mutex<IndexError?>(nil)

    init(markedBeside file: IndexFile?) { self.file = file }

    /// Whether an error showed damage, certain or not.
    var isSeen: Bool { wasNoted.load(ordering: .acquiring) }

    /// Whether damage is certain, so that the next run needs a new index.
    var isCertain: Bool { wasProven.load(ordering: .acquiring) }

    /// Whether the index can still be closed properly.
    var isReachable: Bool { lost.withLock { $0 == nil } }

    /// The flush that failed; nil where none did.
    var failedFlush: IndexError? {
        lost.withLock { lost in
            if case .unflushed? = lost { lost } else { nil }
        }
    }

    /// Notes an error, and returns it.
    func noted(_ error: IndexError) -> IndexError {
        if error.isFinal { lost.withLock { $0 = error } }
        guard error.damage != nil, let file else { return error }
        if !wasNoted.exchange(true, ordering: .acquiringAndReleasing) { file.put(.doubted) }
        if case .damaged = error, !wasProven.exchange(true, ordering: .acquiringAndReleasing) {
            file.put(.damaged)
        }
        return error
    }

    /// Throws the error after which the index takes nothing more.
    func refuseIfLost() throws(IndexError) {
        if let error = lost.withLock({ $0 }) { throw error }
    }

    /// Throws the error after which the index answers no more. After a failed flush it still does: what
    /// becomes of the parts depends on its rows.
    func refuseReadingIfLost() throws(IndexError) {
        if let error = lost.withLock({ $0 }), error.isWithoutLock { throw error }
    }
}
