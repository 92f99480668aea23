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
