internal import CSQLite
internal import MirrorModel
package import MirrorSystem

/// Why the index could not be read or written.
package enum IndexError: Error, Hashable {
    /// The file's bytes, or a row's values, are damaged; the words name the damage.
    case damaged(String)
    /// SQLite reports damage. It sometimes reports the same for bytes that it could not read, so
    /// this is damage only if a second look finds it too.
    case doubtful(String)
    /// It has this schema version, and a newer mirror wrote it.
    case newer(version: Int64)
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
        case .file(let error): MirrorError(error)
        }
    }
}

/// Runs a call of the index and throws its error as callers of the library see it.
func indexed<Value>(_ body: () throws(IndexError) -> Value) throws(MirrorError) -> Value {
    do throws(IndexError) { return try body() } catch { throw error.mirrorError }
}
