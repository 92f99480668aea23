/// The transfers of a run, from which its timeline and throughput are made.
public struct TransferLog: Sendable {
    /// A transfer.
    struct Entry: Sendable {
        let began: Int64
        let ended: Int64
        let bytes: Int64
        let host: Int
        let hasFailed: Bool
        let target: Target
    }

    private(set) var entries: [Entry] = []
    private(set) var hosts: [String] = []
    private var numbers: [String: Int] = [:]
    /// Transfers of which no times were kept.
    public private(set) var untimed = 0

    /// No transfer.
    public init() {}

    /// Whether there is a transfer with times.
    public var isEmpty: Bool { entries.isEmpty }

    /// Takes in a decision; one that needed no transfer adds nothing.
    public mutating func add(_ decision: PastDecision) {
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
        entries.append(
            Entry(
                began: trace.began, ended: trace.ended, bytes: decision.bytesReceived,
                host: number, hasFailed: decision.outcome == .failed, target: decision.target))
    }

    /// The last end in milliseconds, at least 1.
    var length: Int64 { entries.reduce(1) { max($0, $1.ended) } }

    /// The timeline of a run that took so many milliseconds, or longer if a transfer did.
    public func timeline(lasting milliseconds: Int64) -> Timeline {
        let length = max(milliseconds, self.length)
        var packings: [Int: LanePacking] = [:]
        var order: [Int] = []
        for entry in entries.sorted(by: { $0.began < $1.began }) {
            if packings[entry.host] == nil {
                order.append(entry.host)
                packings[entry.host] = LanePacking(hosts[entry.host], length)
            }
            packings[entry.host]?.add(entry)
        }
        let busiest = order.sorted {
            packings[$0].map(\.weight) ?? 0 > packings[$1].map(\.weight) ?? 0
        }
        let shown = Set(busiest.prefix(Timeline.mostLanes))
        return Timeline(
            length: length,
            lanes: order.filter(shown.contains).compactMap { packings[$0]?.lane },
            hostsLeftOut: order.count - shown.count, transfers: entries.count)
    }
}

extension TransferLog {
    /// The transfers that took longest, the longest first, each with its host.
    public func longest(_ count: Int) -> [(host: String, bar: Timeline.Bar)] {
        let longest = entries.sorted { one, other in
            let (left, right) = (one.ended - one.began, other.ended - other.began)
            return left == right ? one.bytes > other.bytes : left > right
        }
        return longest.prefix(count).map { (hosts[$0.host], $0.bar) }
    }
}

extension TransferLog.Entry {
    /// A bar for this transfer alone.
    var bar: Timeline.Bar {
        Timeline.Bar(
            began: began, ended: ended, failed: hasFailed ? 1 : 0, bytes: bytes, target: target)
    }
}
