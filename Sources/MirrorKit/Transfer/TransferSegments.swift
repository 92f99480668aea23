internal import MirrorModel

/// The further connections of one transfer, and what they share with its own.
final class TransferSegments {
    /// Who fetches what.
    var plan: Segmentation
    /// How many connections there should be.
    var pace: SegmentPace
    /// The run of the transfer's own connection; nil while it has none.
    var main: Int?
    /// The further connections by their runs.
    var helpers: [Int: Segment] = [:]
    /// Whose bytes the part may not hold yet: of all connections in `helpers`, and of some that ended.
    var writers: [PartWriter] = []
    /// Sources that get no further connection in this transfer.
    var barred: Set<Int> = []
    /// How the transfer's own connection failed while others go on.
    var failure: TransportFailure?
    /// Whether each connection has to be one of its own because requests would share one.
    var isMultiplexed = false
    /// Whether others than the transfer's own connection fetch, or fetched, bytes of the part.
    var isShared: Bool

    init(plan: Segmentation, limit: SegmentLimit) {
        self.plan = plan
        isShared = plan.hasIslands
        pace = SegmentPace(limit)
    }

    /// Whether a further connection has brought nothing yet: the rate says nothing of their number.
    var hasSilent: Bool { helpers.keys.contains { plan.isSilent($0) } }

    /// Sources of which a connection brings as much as may be hoped for.
    var helpfulSources: Set<Int> {
        Set(
            plan.runs.values.lazy
                .filter { [plan, barred] in
                    !barred.contains($0.source) && !plan.isHopeless($0.id)
                }
                .map(\.source))
    }

    /// How many connections there are.
    var running: Int { helpers.count + (main == nil ? 0 : 1) }

    /// Up to where the part is known to hold the bytes from the start, but for those of the transfer's
    /// own connection, whose lane sees to that: what is hashed there must not be what a disk only
    /// said that it had written.
    var heldFront: Int64 {
        min(plan.front, writers.lazy.filter { !$0.isHeld }.map(\.heldEnd).min() ?? .max)
    }

    /// Forgets whose bytes are all held; whether none are left.
    func settleWriters() -> Bool {
        writers.removeAll { writer in
            writer.isHeld && !helpers.values.contains { $0.writer === writer }
        }
        return writers.isEmpty
    }

    /// The source of a further connection: among those that have the fewest, the first.
    func source(among sources: [Int]) -> Int? {
        let open = sources.filter { !barred.contains($0) }
        func load(_ source: Int) -> Int { plan.runs.values.count { $0.source == source } }
        return open.min { load($0) < load($1) }
    }
}

/// One further connection.
final class Segment {
    /// The range as it was when it began.
    let run: Segmentation.Run
    var course: SegmentCourse
    let writer: PartWriter
    /// The place that it holds; nil when it is the one of the transfer itself.
    var extraPlace: Host?
    var exchange: Exchange?
    /// What follows from a head whose body is not wanted.
    var verdict: SegmentCourse.Verdict?
    /// Whether its body is taken.
    var isReceiving = false
    /// Whether it was ended because its range was.
    var isCut = false

    init(run: Segmentation.Run, course: SegmentCourse, writer: PartWriter) {
        self.run = run
        self.course = course
        self.writer = writer
    }
}
