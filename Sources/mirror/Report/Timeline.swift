import MirrorKit

/// The transfers of a run, from which mirror makes a timeline and a throughput.
struct TransferLog: Sendable {
    /// The transfers, each with the position of its host in `hosts`.
    private(set) var entries: [(host: Int, bar: Timeline.Bar)] = []
    private(set) var hosts: [String] = []
    private var numbers: [String: Int] = [:]
    /// The number of transfers without recorded times.
    private(set) var untimed = 0

    /// Creates a log without transfers.
    init() {}

    /// Whether no transfer has recorded times.
    var isEmpty: Bool { entries.isEmpty }

    /// Adds a decision of the run. A decision that needed no transfer changes nothing.
    mutating func add(_ decision: PastDecision) {
        guard let trace = decision.trace else {
            if decision.bytesReceived > 0 { untimed += 1 }
            return
        }
        let host = decision.source.map(SourceKey.host) ?? ""
        let number = numbers[host] ?? hosts.count
        if number == hosts.count {
            numbers[host] = number
            hosts.append(host)
        }
        let bar = Timeline.Bar(
            began: trace.began, ended: trace.ended, failed: decision.outcome == .failed ? 1 : 0,
            bytes: decision.bytesReceived, target: decision.target, waits: decision.waits(in: trace)
        )
        entries.append((number, bar))
    }

    /// The end of the transfer that ended last, in milliseconds of the run. At least 1.
    var length: Int64 { entries.reduce(1) { max($0, $1.bar.ended) } }

    /// Returns the timeline of a run that took this many milliseconds, or longer if a transfer did.
    func timeline(lasting milliseconds: Int64) -> Timeline {
        let length = max(milliseconds, self.length)
        var lanes: [Int: Timeline.Lane] = [:]
        var order: [Int] = []
        for (host, bar) in entries.sorted(by: { $0.bar.began < $1.bar.began }) {
            if lanes[host] == nil {
                order.append(host)
                lanes[host] = Timeline.Lane(host: hosts[host])
            }
            lanes[host]?.add(bar, step: max(1, length / Timeline.steps))
        }
        let busiest = order.sorted { lanes[$0]?.weight ?? 0 > lanes[$1]?.weight ?? 0 }
        let shown = Set(busiest.prefix(Timeline.mostLanes))
        return Timeline(
            length: length,
            lanes: order.filter(shown.contains).compactMap { lanes[$0] },
            hostsLeftOut: order.count - shown.count, transfers: entries.count)
    }
}

extension PastDecision {
    /// Returns the times in which the transfer waited for its next try.
    ///
    /// A wait ends early where the next request failed before its planned end.
    fileprivate func waits(in trace: TransferTrace) -> [Range<Int64>] {
        let waits = failures.filter { $0.wait > 0 }.compactMap { failure in
            failure.began.map { ($0, $0.addingSaturated(failure.wait)) }
        }
        var ranges: [Range<Int64>] = []
        for (position, wait) in waits.enumerated() {
            let next = position + 1 < waits.count ? waits[position + 1].0 : trace.ended
            let start = max(wait.0, ranges.last?.upperBound ?? trace.began)
            let end = min(wait.1, next, trace.ended)
            if start < end { ranges.append(start..<end) }
        }
        return ranges
    }
}

extension TransferLog {
    /// Returns the transfers that took longest, the longest first, each with its host.
    func longest(_ count: Int) -> [(host: String, bar: Timeline.Bar)] {
        let longest = entries.sorted {
            let (one, other) = ($0.bar, $1.bar)
            let (left, right) = (one.ended - one.began, other.ended - other.began)
            return left == right ? one.bytes > other.bytes : left > right
        }
        return longest.prefix(count).map { (hosts[$0.host], $0.bar) }
    }
}

/// A run's transfers over time, as bars in a lane for each host.
///
/// The number of bars does not grow with the number of transfers. Transfers that are too short and
/// too close to be drawn apart share one bar.
struct Timeline: Sendable, Hashable {
    /// A bar of the timeline: one transfer, or several short ones after each other.
    struct Bar: Sendable, Hashable {
        /// When the bar begins, in milliseconds from the beginning of the run's work.
        var began: Int64
        /// When the bar ends, in milliseconds from the beginning of the run's work.
        /// Not before `began`.
        var ended: Int64
        /// The number of transfers that the bar stands for.
        var transfers = 1
        /// The number of the bar's transfers that failed.
        var failed = 0
        /// Body bytes that arrived.
        var bytes: Int64
        /// The first transfer's target.
        var target: Target
        /// The times in which the transfers waited for their next try, in order and apart.
        var waits: [Range<Int64>] = []

        /// The milliseconds in which the transfers waited for their next try.
        var waited: Int64 { waits.reduce(0) { $0 + $1.upperBound - $1.lowerBound } }

        /// The times in which the transfers did not wait, at least one.
        var active: [Range<Int64>] {
            var times: [Range<Int64>] = []
            var start = began
            for wait in waits {
                if start < wait.lowerBound { times.append(start..<wait.lowerBound) }
                start = wait.upperBound
            }
            if start < ended || times.isEmpty { times.append(start..<ended) }
            return times
        }
    }

    /// The bars of one host, in rows. The bars of a row do not overlap.
    struct Lane: Sendable, Hashable {
        /// The host's scheme, name and port.
        var host: String
        /// The rows. Each row has its bars in the order of time.
        var rows: [[Bar]] = []
        /// The number of the host's transfers.
        var transfers = 0
        /// The number of the host's transfers that failed.
        var failed = 0
        /// Body bytes that arrived.
        var bytes: Int64 = 0
        /// The milliseconds that all transfers of the host took together.
        var weight: Int64 = 0
    }

    /// The greatest number of lanes.
    static let mostLanes = 12
    /// The greatest number of rows in a lane, and so of transfers drawn at the same time.
    static let mostRows = 32
    /// The number of steps of the whole time. Short bars less than a step apart are joined.
    static let steps: Int64 = 600

    /// The whole time in milliseconds, at least 1.
    let length: Int64
    /// The lanes. The host whose transfer began first comes first.
    let lanes: [Lane]
    /// The number of hosts that have no lane.
    let hostsLeftOut: Int
    /// The number of all transfers.
    let transfers: Int
}

extension Timeline.Lane {
    /// Adds a transfer. The caller adds transfers in the order in which they began.
    ///
    /// - Parameter step: in milliseconds, the gap below which two short bars are joined.
    fileprivate mutating func add(_ bar: Timeline.Bar, step: Int64) {
        transfers += 1
        bytes = bytes.addingSaturated(bar.bytes)
        failed += bar.failed
        weight = weight.addingSaturated(bar.ended - bar.began + 1)
        // A wait that is too short to be seen would only add to the page.
        var bar = bar
        bar.waits.removeAll { $0.upperBound - $0.lowerBound < step }
        let row = freeRow(at: bar.began)
        guard let last = rows[row].last, Timeline.Lane.joins(last, bar, step) else {
            return rows[row].append(bar)
        }
        let end = rows[row].count - 1
        rows[row][end].ended = max(last.ended, bar.ended)
        rows[row][end].transfers += 1
        rows[row][end].failed += bar.failed
        rows[row][end].bytes = last.bytes.addingSaturated(bar.bytes)
        // While one of two simultaneous transfers waits, the other may not.
        rows[row][end].waits = bar.began < last.ended ? [] : last.waits + bar.waits
    }

    /// Returns the first row whose last bar has ended, or a new row.
    ///
    /// If the lane may have no further row, returns the row that ends first.
    private mutating func freeRow(at time: Int64) -> Int {
        let ends = rows.map { $0.last?.ended ?? 0 }
        if let free = ends.firstIndex(where: { $0 <= time }) { return free }
        if rows.count < Timeline.mostRows {
            rows.append([])
            return rows.count - 1
        }
        return ends.indices.min { ends[$0] < ends[$1] } ?? 0
    }

    /// Whether two bars of a row overlap, or are too short and too close to be drawn apart.
    private static func joins(
        _ last: Timeline.Bar, _ next: Timeline.Bar, _ step: Int64
    ) -> Bool {
        if next.began < last.ended { return true }
        let isNear = next.began - last.ended < step
        let areShort =
            next.ended - next.began < 3 * step
            && (last.transfers > 1 || last.ended - last.began < 3 * step)
        return isNear && areShort
    }
}

/// The rate at which bytes arrived, over the time of a run.
///
/// The bytes of a transfer count as spread evenly over the time in which it did not wait.
struct Throughput: Sendable, Hashable {
    /// The greatest number of buckets: equal parts of the run's time.
    static let mostBuckets: Int64 = 120

    /// The length of a bucket in milliseconds, at least 1.
    let bucketLength: Int64
    /// Bytes a second in each bucket.
    let rates: [Int64]
    /// The number of all bytes.
    let bytes: Int64
    /// The whole time in milliseconds, at least 1.
    let length: Int64

    /// The greatest rate in bytes a second.
    var peak: Int64 { rates.max() ?? 0 }

    /// The mean rate over the whole time, in bytes a second.
    var mean: Int64 { Int64(clamping: Int(Double(bytes) * 1000 / Double(length))) }

    /// When the greatest rate was first reached, in milliseconds from the beginning.
    var peakTime: Int64 {
        Int64(rates.firstIndex(of: peak) ?? 0) * bucketLength
    }
}

extension TransferLog {
    /// Returns the throughput of a run that took this many milliseconds, or longer if a transfer
    /// did.
    func throughput(lasting milliseconds: Int64) -> Throughput {
        let length = max(milliseconds, self.length)
        let width = max(1, (length + Throughput.mostBuckets - 1) / Throughput.mostBuckets)
        let count = Int((length + width - 1) / width)
        var sums = [Double](repeating: 0, count: max(count, 1))
        var bytes: Int64 = 0
        for (_, entry) in entries where entry.bytes > 0 {
            bytes = bytes.addingSaturated(entry.bytes)
            let times = entry.active
            let whole = Double(max(entry.ended - entry.began - entry.waited, 1))
            for time in times {
                let part = Double(time.upperBound - time.lowerBound) / whole
                TransferLog.spread(
                    Double(entry.bytes) * (times.count == 1 ? 1 : part), over: time, width, &sums)
            }
        }
        return Throughput(
            bucketLength: width,
            rates: sums.map { Int64(($0 * 1000 / Double(width)).rounded()) },
            bytes: bytes, length: length)
    }

    /// Adds bytes to the buckets of a time, each of which is `width` milliseconds long.
    private static func spread(
        _ bytes: Double, over time: Range<Int64>, _ width: Int64, _ sums: inout [Double]
    ) {
        let first = min(Int(time.lowerBound / width), sums.count - 1)
        let last = min(Int(time.upperBound / width), sums.count - 1)
        let span = Double(max(time.upperBound - time.lowerBound, 1))
        for bucket in first...max(first, last) {
            let start = max(Double(time.lowerBound), Double(Int64(bucket) * width))
            let end = min(Double(time.upperBound), Double(Int64(bucket + 1) * width))
            sums[bucket] += bytes * (first == last ? 1 : max(0, end - start) / span)
        }
    }
}

/// The marks of a time axis: at most five steps of a round length.
struct TimeAxis: Sendable, Hashable {
    /// The whole time in milliseconds, at least 1.
    let length: Int64
    /// The marks in milliseconds, from 0.
    let ticks: [Int64]
    private let step: Int64

    /// Creates the axis for a whole time in milliseconds, at least 1.
    init(_ length: Int64) {
        let length = max(1, length)
        self.length = length
        step = TimeAxis.steps.first { length / $0 <= 5 } ?? (length / 5 / day + 1) * day
        ticks = Array(stride(from: 0, through: length, by: Int(step)).map { Int64($0) })
    }

    /// Returns the text at a mark, in the unit of the step.
    func label(_ tick: Int64) -> String {
        if tick == 0 { return "0" }
        if step < 1000 {
            return step % 100 == 0 && step >= 100
                ? "\(tick / 1000).\(tick % 1000 / 100) s" : "\(tick) ms"
        }
        if step < minute { return "\(tick / 1000) s" }
        if step < hour { return "\(tick / minute) min" }
        return step < day ? "\(tick / hour) h" : "\(tick / day) d"
    }

    private static let steps: [Int64] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, minute,
        2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 3 * hour,
        6 * hour, 12 * hour, day,
    ]
}

private let minute: Int64 = 60_000
private let hour = 60 * minute
private let day = 24 * hour
