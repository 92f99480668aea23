internal import Synchronization

/// The index files that this process has open in SQLite.
///
/// Such a file must not be opened and closed separately.
enum OpenIndexes {
    private static let counts = Mutex<[String: Int]>([:])

    static func add(_ file: IndexFile) { counts.withLock { $0[file.identity, default: 0] += 1 } }

    static func remove(_ file: IndexFile) {
        counts.withLock {
            let count = ($0[file.identity] ?? 0) - 1
            $0[file.identity] = count > 0 ? count : nil
        }
    }

    static func contains(_ file: IndexFile) -> Bool {
        counts.withLock { $0[file.identity] != nil }
    }
}
