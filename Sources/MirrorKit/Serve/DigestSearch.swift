internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem
internal import Synchronization

/// Finds files by their sha256, which the index has no order for.
///
/// A table in memory says roughly where each digest is, and the rows there decide. The table is made
/// at the first question, and anew when a digest is not found and the index has changed since; but
/// not all the time while a run writes to it.
final class DigestSearch: Sendable {
    private let watch: IndexWatch
    private let shortestRest: Duration
    private let state = Mutex(State())
    /// Held by whoever makes the table, so that others wait for it instead of making it too.
    private let making = Mutex(())

    /// A state of the index.
    private struct Version: Hashable {
        let generation: Int64
        let changes: Int64
    }

    private struct State {
        var table: DigestTable?
        var version: Version?
        /// When the table may be made anew.
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
        let version = Version(generation: generation, changes: try index.changeCount())
        let (ranges, isCurrent, mayRest) = state.withLock { state in
            (
                state.table?.ranges(of: sha256), state.version == version,
                ContinuousClock.now < state.rest
            )
        }
        guard let ranges else { return .unknown }
        let files = try index.served.files(with: sha256, in: ranges)
        if !files.isEmpty { return .found(files) }
        if isCurrent { return .absent }
        return mayRest ? .notNow : .unknown
    }

    /// Makes the table, unless somebody did a moment ago; takes a second for some million files.
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
        let version = Version(generation: generation, changes: try index.changeCount())
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
