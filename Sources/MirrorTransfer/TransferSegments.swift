internal import MirrorModel

/// The further connections of one transfer: their requests, and the writers of their bytes. Their
/// state decides what the connections do.
final class TransferSegments {
    var state: SegmentSet
    /// The active requests of further connections, by the ids of their assignments.
    var activeRequests: [Int: ActiveRequest] = [:]
    /// The writers of bytes into the part, by the ids of their assignments.
    private(set) var writers: [Int: PartWriter] = [:]
    /// Writers of ended connections, whose bytes the part may not hold yet.
    var ended: [PartWriter] = []

    init(_ plan: Segmentation, limit: SegmentLimit) { state = SegmentSet(plan, limit: limit) }

    /// Adds a further connection.
    func open(_ opening: SegmentSet.Opening, extraPlace: Host?, writer: PartWriter) {
        state.open(opening, extraPlace: extraPlace)
        writers[opening.assignment.id] = writer
    }

    /// Removes an ended connection. Returns its writer and the end of its bytes; the end is nil if
    /// another connection has taken over its range.
    func close(_ id: Int) -> (writer: PartWriter, end: Int64?)? {
        let end = state.close(id)
        guard let writer = writers.removeValue(forKey: id) else { return nil }
        ended.append(writer)
        return (writer, end)
    }

    /// The ids of connections whose requests are still to be made.
    var unasked: [Int] { state.helpers.keys.filter { activeRequests[$0] == nil } }

    /// The pipelines that may still hold bytes.
    var pipelines: [WritePipeline] { (Array(writers.values) + ended).map(\.pipeline) }

    /// The offset up to which the part is known to hold the bytes from the start. Bytes of the
    /// transfer's own connection are excepted, because their pipeline verifies them. The digest
    /// must not cover bytes that a disk only claimed to have written.
    var heldFront: Int64 {
        var front = state.plan.front
        for writer in writers.values where !writer.isHeld { front = min(front, writer.heldEnd) }
        for writer in ended where !writer.isHeld { front = min(front, writer.heldEnd) }
        return front
    }

    /// Whether the part holds all bytes of connections that ended.
    func settleWriters() -> Bool {
        ended.removeAll(where: \.isHeld)
        return ended.isEmpty
    }
}
