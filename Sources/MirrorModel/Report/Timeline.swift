/// A run's transfers over time, as bars in a lane for each host.
///
/// The number of bars does not grow with the number of transfers: where several begin and end within
/// what the eye can tell apart, one bar stands for them.
public struct Timeline: Sendable, Hashable {
    /// A bar: one transfer, or several short ones after each other.
    public struct Bar: Sendable, Hashable {
        /// Milliseconds from the beginning of the run's work.
        public var began: Int64
        /// Milliseconds from the beginning of the run's work; not before `began`.
        public var ended: Int64
        /// How many transfers it stands for.
        public var transfers = 1
        /// How many of these failed.
        public var failed = 0
        /// Body bytes that arrived.
        public var bytes: Int64
        /// The first transfer's target.
        public var target: Target
    }

    /// The bars of a host, in rows in which none overlaps another.
    public struct Lane: Sendable, Hashable {
        /// Scheme, name and port.
        public var host: String
        /// The rows; each has its bars in the order of time.
        public var rows: [[Bar]] = []
        /// How many transfers there were.
        public var transfers = 0
        /// How many failed.
        public var failed = 0
        /// Body bytes that arrived.
        public var bytes: Int64 = 0
    }

    /// How many lanes are drawn.
    public static let mostLanes = 12
    /// How many transfers at once have a row of their own.
    public static let mostRows = 32
    /// Into how many steps the whole time is divided; bars are not told apart below one.
    public static let steps: Int64 = 600

    /// The whole time in milliseconds, at least 1.
    public let length: Int64
    /// The lanes, that of the host with the earliest transfer first.
    public let lanes: [Lane]
    /// Hosts that have no lane.
    public let hostsLeftOut: Int
    /// All transfers.
    public let transfers: Int
}

/// Puts the transfers of a host into rows, in the order in which they began.
struct LanePacking {
    private(set) var lane: Timeline.Lane
    /// The time below which bars are not told apart.
    private let step: Int64
    /// The milliseconds in which it transferred, all transfers added up.
    private(set) var weight: Int64 = 0

    init(_ host: String, _ length: Int64) {
        lane = Timeline.Lane(host: host)
        step = max(1, length / Timeline.steps)
    }

    mutating func add(_ entry: TransferLog.Entry) {
        lane.transfers += 1
        lane.bytes = lane.bytes.addingSaturated(entry.bytes)
        if entry.hasFailed { lane.failed += 1 }
        weight = weight.addingSaturated(entry.ended - entry.began + 1)
        let row = freeRow(at: entry.began)
        let bar = entry.bar
        guard let last = lane.rows[row].last, joins(last, bar) else {
            return lane.rows[row].append(bar)
        }
        let end = lane.rows[row].count - 1
        lane.rows[row][end].ended = max(last.ended, bar.ended)
        lane.rows[row][end].transfers += 1
        lane.rows[row][end].failed += bar.failed
        lane.rows[row][end].bytes = last.bytes.addingSaturated(bar.bytes)
    }

    /// The first row whose last bar has ended; where all are taken, the one that ends first.
    private mutating func freeRow(at time: Int64) -> Int {
        let ends = lane.rows.map { $0.last?.ended ?? 0 }
        if let free = ends.firstIndex(where: { $0 <= time }) { return free }
        if lane.rows.count < Timeline.mostRows {
            lane.rows.append([])
            return lane.rows.count - 1
        }
        return ends.indices.min { ends[$0] < ends[$1] } ?? 0
    }

    /// Whether two bars of a row cannot be told apart, or would lie over each other.
    private func joins(_ last: Timeline.Bar, _ next: Timeline.Bar) -> Bool {
        if next.began < last.ended { return true }
        let isNear = next.began - last.ended < step
        let areShort =
            next.ended - next.began < 3 * step
            && (last.transfers > 1 || last.ended - last.began < 3 * step)
        return isNear && areShort
    }
}
