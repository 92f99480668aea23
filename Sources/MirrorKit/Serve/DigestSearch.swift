internal import Synchronization

/// Finds files by their sha256. The index is not sorted by digests.
///
/// A table in memory has ranges of paths for each digest; the search then reads the rows in them.
/// The first query makes the table. A query without a result makes it again if the index has
/// changed since. A pause between two tables limits this work while a run writes to the index.
final class DigestSearch: Sendable {
    private let watch: IndexWatch
    private let shortestRest: Duration
    private let state = Mutex(State())
    /// Held while a thread makes the table, so that other callers wait and do not make a second
    /// one.
    private let making = Mutex(())

    private struct State {
        var table: DigestTable?
        /// The state of the index from which the table was made.
        var version = (generation: Int64(-1), changes: Int64(-1))
        /// The earliest time at which the table may be made again.
        var rest = ContinuousClock.now
    }

    /// The result of a search for a digest.
    enum Result {
        case found([ServedFile])
        /// No file in the index has the digest.
        case absent
        /// The caller must call `prepare` first, and then search again.
        case unknown
        /// The table is out of date, and too new to be made again.
        case notNow
    }

    /// - Parameter shortestRest: the shortest time for which a table is kept, even if the index
    ///   changes.
    init(_ watch: IndexWatch, shortestRest: Duration = .seconds(1)) {
        self.watch = watch
        self.shortestRest = shortestRest
    }

    /// Searches for the rows with a digest.
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

    /// Makes the table, unless its rest is not over. Takes a second for some million files.
    func prepare(_ cancellation: CancellationFlag) throws(MirrorError) {
        try making.withLock { _ throws(MirrorError) in
            // Another caller may have made the table while this one waited.
            let isFresh = state.withLock { $0.table != nil && ContinuousClock.now < $0.rest }
            if !isFresh { try make(cancellation) }
        }
    }

    private func make(_ cancellation: CancellationFlag) throws(MirrorError) {
        let began = ContinuousClock.now
        let (index, generation) = try watch.current()
        // The version is read before the rows: if a row changes in between, the table counts as out
        // of date.
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

/// The digests of open files whose stamps differ from their rows, for example in a copied tree.
///
/// A file is read once, and again if its stamp changes or a reply finds other bytes in the file.
/// The memory is bounded.
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

    /// `nil` stands for a file whose bytes were found to differ.
    private let digests = Mutex<[Key: Digest?]>([:])

    /// The digest of a file with this status. Returns nil if the file was not read yet.
    func digest(of status: FileStatus) -> Digest? {
        digests.withLock { $0[Key(status)] ?? nil }
    }

    /// The digest of a file whose stamp is that of its row; `expected` is the digest in the row.
    ///
    /// Returns nil if a reply found other bytes in the file, and the file was not read since.
    func digest(of status: FileStatus, expected: Digest) -> Digest? {
        digests.withLock { $0[Key(status)] ?? expected }
    }

    /// Stores the digest of a file that had this status before and after the read.
    func note(_ digest: Digest, of status: FileStatus) { set(digest, of: status) }

    /// Notes that a file with this status has other bytes than its row says.
    func doubt(_ status: FileStatus) { set(nil, of: status) }

    private func set(_ digest: Digest?, of status: FileStatus) {
        digests.withLock { digests in
            if digests.count >= KnownDigests.most { digests = [:] }
            digests.updateValue(digest, forKey: Key(status))
        }
    }
}

/// Finds the blocks of rows that may have a file with a given sha256.
///
/// The table takes sixteen bytes a file. The caller adds rows in the order of their paths. The
/// table divides the rows into blocks and stores the first path of each block. Of each row it
/// stores eight bytes of the digest and the number of the block. The caller then searches the few
/// blocks that the table names.
struct DigestTable: Sendable {
    private static let blockSize = 256

    private var rows: [(start: UInt64, block: UInt32)] = []
    private var firstPaths: [String] = []
    private var isSorted = true

    /// Adds the next row, in the order of the paths.
    /// `start` is `Digest.start` of the file's sha256.
    mutating func append(_ path: () -> String, start: UInt64) {
        if rows.count.isMultiple(of: DigestTable.blockSize) { firstPaths.append(path()) }
        rows.append((start, UInt32(firstPaths.count - 1)))
        isSorted = false
    }

    /// Sorts the rows. The caller must sort before it calls `ranges(of:)`.
    mutating func sort() {
        rows.sort { ($0.start, $0.block) < ($1.start, $1.block) }
        isSorted = true
    }

    /// Returns the ranges of paths in which files with the digest may be.
    ///
    /// A range has the paths from `from` to before `to`. If `to` is nil, the range goes to the last
    /// path.
    func ranges(of digest: Digest) -> [(from: String, to: String?)] {
        precondition(isSorted)
        let start = digest.start
        var at = rows.indices.partitioningIndex(where: { rows[$0].start >= start })
        var ranges: [(from: String, to: String?)] = []
        var last: UInt32?
        while at < rows.count, rows[at].start == start {
            let block = rows[at].block
            if block != last {
                let next = Int(block) + 1
                ranges.append(
                    (firstPaths[Int(block)], next < firstPaths.count ? firstPaths[next] : nil))
            }
            last = block
            at += 1
        }
        return ranges
    }
}
