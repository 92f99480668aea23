internal import MirrorModel

/// The order in which an index delivers rows, held against what was asked for.
///
/// SQLite looks only at the keys that it passes: where a page's keys are not in order, it delivers them
/// as they are. Whoever merges rows with other sorted things would then take files for orphans.
struct AscendingPaths {
    private var last: [UInt8]
    private var hasRow = false

    /// Begins before the rows from a path on.
    init(from start: String = "") { last = Array(start.utf8) }

    /// Goes on to a row's path. Throws `damaged` where it does not follow the one before.
    mutating func advance(to path: UnsafeBufferPointer<UInt8>) throws(IndexError) {
        let order = last.withUnsafeBufferPointer { ByteOrder.compare($0, path) }
        guard order < 0 || order == 0 && !hasRow else {
            throw .damaged("rows of files are not in order")
        }
        hasRow = true
        last.removeAll(keepingCapacity: true)
        last.append(contentsOf: path)
    }
}
