/// Finds out near which path a file with some sha256 is, with sixteen bytes of memory a file.
///
/// Rows come in the order of their paths. They are divided into blocks, of which the first path is
/// kept; each row is a part of its digest and the number of its block. The caller then searches
/// the few blocks that the table names.
package struct DigestTable: Sendable {
    private static let blockSize = 256

    private var rows: [(start: UInt64, block: UInt32)] = []
    private var firstPaths: [String] = []
    private var isSorted = true

    package init() {}

    /// Adds the next row, in the order of the paths.
    package mutating func append(_ path: () -> String, start: UInt64) {
        if rows.count.isMultiple(of: DigestTable.blockSize) { firstPaths.append(path()) }
        rows.append((start, UInt32(firstPaths.count - 1)))
        isSorted = false
    }

    /// Makes the table ready to be asked.
    package mutating func sort() {
        rows.sort { ($0.start, $0.block) < ($1.start, $1.block) }
        isSorted = true
    }

    /// The ranges of paths in which files with the digest may be: from the first path to before the
    /// second, or to the end where that is nil.
    package func ranges(of digest: Digest) -> [(from: String, to: String?)] {
        precondition(isSorted)
        let start = digest.start
        var at = rows.indices.first(sortedWhere: { rows[$0].start >= start })
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
