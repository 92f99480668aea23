internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// Finds files by their sha256, which the index has no order for.
///
/// A table in memory says roughly where each digest is, and the rows there decide. The first query
/// makes the table. A query that finds nothing makes it again if the index has changed since. A
/// pause between two tables keeps a run's writes from making them all the time.
final class DigestSearch: Sendable {
    private let watch: IndexWatch
    private let shortestRest: Duration
    private let state = Mutex(State())
    /// Held while the table is made, so that other callers wait for it instead of making it too.
    private let making = Mutex(())

    private struct State {
        var table: DigestTable?
        /// The state of the index that the table is of.
        var version = (generation: Int64(-1), changes: Int64(-1))
        /// The earliest time at which the table may be made again.
        var rest = ContinuousClock.now
    }

    /// What is known of a digest.
    enum Result {
        case found([ServedFile])
        /// No file of the index has it.
        case absent
        /// The table has to be made first.
        case unknown
        /// The table is old and was made a moment ago.
        case notNow
    }

    /// - Parameter shortestRest: for how long a new table is kept at least, whatever is committed.
    init(_ watch: IndexWatch, shortestRest: Duration = .seconds(1)) {
        self.watch = watch
        self.shortestRest = shortestRest
    }

    /// Looks for the rows of a digest.
    func files(with sha256: Digest) throws(MirrorError) -> Result {
        let (index, generation) = try watch.current()
        let version = (generation: generation, changes: try index.changeCount())
        let (ranges, isCurrent, mayRest) = state.withLock { state in
            (
                state.table?.ranges(of: sha256), state.version == version,
                ContinuousClock.now < state.rest
            )
        }
        guard let ranges else { return .unknown }
        let files = try index.servedFiles(with: sha256, in: ranges)
        if !files.isEmpty { return .found(files) }
        if isCurrent { return .absent }
        return mayRest ? .notNow : .unknown
    }

    /// Makes the table, unless it was made a moment ago; takes a second for some million files.
    func prepare(_ cancellation: CancellationFlag) throws(MirrorError) {
        try making.withLock { _ throws(MirrorError) in
            // Many may have asked for the same table before it was there.
            let isFresh = state.withLock { $0.table != nil && ContinuousClock.now < $0.rest }
            if !isFresh { try make(cancellation) }
        }
    }

    private func make(_ cancellation: CancellationFlag) throws(MirrorError) {
        let began = ContinuousClock.now
        let (index, generation) = try watch.current()
        // Asked before the rows are read: a change between the two makes the table count as old.
        let version = (generation: generation, changes: try index.changeCount())
        if state.withLock({ $0.version == version && $0.table != nil }) { return }
        var table = DigestTable()
        var cursor = try index.projectionCursor(from: "")
        while try cursor.next() {
            guard !cancellation.isSet else { return }
            guard let row = cursor.row else { continue }
            table.append(
                { String(decoding: row.path, as: UTF8.self) }, start: Digest.start(of: row.sha256))
        }
        table.sort()
        let took = began.duration(to: .now)
        state.withLock { state in
            state.table = table
            state.version = version
            state.rest = .now.advanced(by: max(took * 10, shortestRest))
        }
    }
}

/// The digests of open files whose stamps do not tell, e.g. in a copied tree.
///
/// A file is read once, and again when its stamp changes or its bytes were found to be others. The
/// memory is bounded.
final class KnownDigests: Sendable {
    private struct Key: Hashable {
        let stamp: FileStamp
        let device: UInt64

        init(_ status: FileStatus) {
            stamp = status.stamp
            device = status.device
        }
    }

    private static let most = 65536

    /// A doubt has no digest.
    private let digests = Mutex<[Key: Digest?]>([:])

    /// The digest of a file with this status; nil if it was not read yet.
    func digest(of status: FileStatus) -> Digest? {
        digests.withLock { $0[Key(status)] ?? nil }
    }

    /// The digest of a file with this status, whose bytes are `expected` as far as its stamp tells;
    /// nil if they were found to be others, and it was not read since.
    func digest(of status: FileStatus, expected: Digest) -> Digest? {
        digests.withLock { $0[Key(status)] ?? expected }
    }

    /// Notes the digest of a file that had this status before and after it was read.
    func note(_ digest: Digest, of status: FileStatus) { set(digest, of: status) }

    /// Notes that bytes of a file with this status were not those that it should have.
    func doubt(_ status: FileStatus) { set(nil, of: status) }

    private func set(_ digest: Digest?, of status: FileStatus) {
        digests.withLock { digests in
            if digests.count >= KnownDigests.most { digests = [:] }
            digests.updateValue(digest, forKey: Key(status))
        }
    }
}
