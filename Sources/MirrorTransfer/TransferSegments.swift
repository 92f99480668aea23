internal import MirrorModel

/// The further connections of one transfer: how their bytes get into the part, and over which requests
/// they come. What they are to do is decided by their state.
final class TransferSegments {
    var state: SegmentSet
    /// The requests of further connections that are under way, by their runs.
    var activeRequests: [Int: ActiveRequest] = [:]
    /// Whose bytes go into the part, by their runs.
    private(set) var writers: [Int: PartWriter] = [:]
    /// Connections that ended, and whose bytes the part may not hold yet.
    var ended: [PartWriter] = []

    init(_ plan: Segmentation, limit: SegmentLimit) { state = SegmentSet(plan, limit: limit) }

    /// A further connection begins.
    func open(_ opening: SegmentSet.Opening, extraPlace: Host?, writer: PartWriter) {
        state.open(opening, extraPlace: extraPlace)
        writers[opening.assignment.id] = writer
    }

    /// A further connection has ended; gives whose bytes it brought, and where they end, unless another
    /// one has taken its range over.
    func close(_ id: Int) -> (writer: PartWriter, end: Int64?)? {
        let end = state.close(id)
        guard let writer = writers.removeValue(forKey: id) else { return nil }
        ended.append(writer)
        return (writer, end)
    }

    /// Those whose requests are still to be made.
    var unasked: [Int] { state.helpers.keys.filter { activeRequests[$0] == nil } }

    /// The ways of bytes on which there may be some left.
    var pipelines: [WritePipeline] { (Array(writers.values) + ended).map(\.pipeline) }

    /// Up to where the part is known to hold the bytes from the start, but for those of the transfer's
    /// own connection, whose pipeline sees to that: what is hashed there must not be what a disk only
    /// said that it had written.
    var heldFront: Int64 {
        var front = state.plan.front
        for writer in writers.values where !writer.isHeld { front = min(front, writer.heldEnd) }
        for writer in ended where !writer.isHeld { front = min(front, writer.heldEnd) }
        return front
    }

    /// Whether the part holds all that came over connections that ended.
    func settleWriters() -> Bool {
        ended.removeAll(where: \.isHeld)
        return ended.isEmpty
    }
}
