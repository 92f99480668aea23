/// The writers of further connections, which put their bytes into one part.
///
/// A connection that ended leaves its writer here until the part is known to hold all its bytes.
struct SegmentWriters {
    /// The writers of open connections, by the ids of their assignments.
    private var open: [Int: PartWriter] = [:]
    /// The writers of ended connections, whose bytes the part may not hold yet.
    private var ended: [PartWriter] = []

    /// The writer of an open connection.
    subscript(id: Int) -> PartWriter? { open[id] }

    /// The pipelines that may still hold bytes.
    var pipelines: [WritePipeline] { (Array(open.values) + ended).map(\.pipeline) }

    /// Adds the writer of a connection that begins.
    mutating func insert(_ writer: PartWriter, for id: Int) { open[id] = writer }

    /// Moves the writer of a connection to those that ended, and returns it.
    mutating func end(_ id: Int) -> PartWriter? {
        guard let writer = open.removeValue(forKey: id) else { return nil }
        ended.append(writer)
        return writer
    }

    /// The offset up to which the part is known to hold the bytes from the start, at most `front`.
    /// Bytes of the transfer's own connection are excepted, because their pipeline verifies them.
    /// The digest must not cover bytes that a disk only claimed to have written.
    func heldFront(upTo front: Int64) -> Int64 {
        var front = front
        for writer in open.values where !writer.isHeld { front = min(front, writer.heldEnd) }
        for writer in ended where !writer.isHeld { front = min(front, writer.heldEnd) }
        return front
    }

    /// Whether the part holds all bytes of connections that ended.
    mutating func settle() -> Bool {
        ended.removeAll(where: \.isHeld)
        return ended.isEmpty
    }
}
