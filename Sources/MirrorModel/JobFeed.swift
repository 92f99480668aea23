/// Which transfers the loop should know: by priority, and the hosts in turn.
///
/// What waits here costs eight bytes; a transfer that the loop knows costs a thousand. So the loop
/// knows a window of them, and each host that has any left a share of it: a host that does not answer
/// fills its own share and no other one's. A transfer that waits for a retry does not count, so
/// that thousands of them wait at once and not a window after the other.
public struct JobFeed: Sendable {
    private struct Queue {
        let host: Int
        var positions: [Int] = []
        var next = 0
    }

    private struct Level {
        var queues: [Queue] = []
        var turn = 0
        /// Where each host's queue is, while the feed is made.
        private var places: [Int: Int] = [:]

        mutating func add(_ position: Int, of host: Int) {
            if let place = places[host] { return queues[place].positions.append(position) }
            places[host] = queues.count
            queues.append(Queue(host: host, positions: [position]))
        }

        mutating func close() { places = [:] }
    }

    private struct Host {
        /// How many of its transfers have not been taken.
        var left = 0
        /// How many the loop knows, but for those that wait for a retry.
        var known = 0
    }

    private let window: Int
    /// Lowest priority first; one queue for each host that has any left there.
    private var levels: [Level] = []
    private var hosts: [Host] = []
    private var numbers: [Origin: Int] = [:]
    private var hostsWithAnyLeft = 0
    private var knownCount = 0
    private var delayed: Set<Int> = []

    /// How many have not been taken.
    public private(set) var count = 0

    /// How many may wait for a retry beside the window.
    static let mostDelayed = 4096

    /// Takes positions in the order of their plan, with their priorities and hosts.
    ///
    /// - Parameter window: how many transfers the loop should know at once.
    public init(
        _ entries: some Sequence<(position: Int, priority: Int32, host: Origin)> =
            EmptyCollection<(position: Int, priority: Int32, host: Origin)>(), window: Int = 256
    ) {
        self.window = max(1, window)
        var byPriority: [Int32: Level] = [:]
        for entry in entries {
            let host = number(of: entry.host)
            hosts[host].left += 1
            count += 1
            byPriority[entry.priority, default: Level()].add(entry.position, of: host)
        }
        hostsWithAnyLeft = hosts.count
        levels = byPriority.sorted { $0.key < $1.key }.map(\.value)
        for level in levels.indices { levels[level].close() }
    }

    private mutating func number(of host: Origin) -> Int {
        if let number = numbers[host] { return number }
        numbers[host] = hosts.count
        hosts.append(Host())
        return hosts.count - 1
    }

    /// How many transfers of one host the loop should know.
    private var share: Int { max(1, window / max(1, hostsWithAnyLeft)) }

    /// Takes those that the loop should know besides; what becomes of each is told by `began`.
    public mutating func take() -> [Int] {
        var taken: [Int] = []
        var ofHost: [Int: Int] = [:]
        for level in levels.indices.reversed() {
            var passed = 0
            while knownCount + taken.count < window, passed < levels[level].queues.count {
                let turn = levels[level].turn % levels[level].queues.count
                let host = levels[level].queues[turn].host
                if hosts[host].known + ofHost[host, default: 0] >= share {
                    levels[level].turn = turn + 1
                    passed += 1
                } else {
                    passed = 0
                    ofHost[host, default: 0] += 1
                    taken.append(takeNext(of: turn, in: level))
                }
            }
        }
        levels.removeAll { $0.queues.isEmpty }
        return taken
    }

    private mutating func takeNext(of turn: Int, in level: Int) -> Int {
        let queue = levels[level].queues[turn]
        levels[level].queues[turn].next += 1
        levels[level].turn = turn + 1
        if queue.next + 1 == queue.positions.count {
            levels[level].queues.remove(at: turn)
            levels[level].turn = turn
        }
        hosts[queue.host].left -= 1
        if hosts[queue.host].left == 0 { hostsWithAnyLeft -= 1 }
        count -= 1
        return queue.positions[queue.next]
    }

    /// Takes all that are left, because none will be begun.
    public mutating func takeAll() -> [Int] {
        defer { self = JobFeed(window: window) }
        return levels.reversed().flatMap { $0.queues.flatMap { $0.positions[$0.next...] } }
    }

    /// The loop knows a transfer.
    public mutating func began(host: Origin) { change(host, by: 1) }

    /// A transfer waits for a retry; whether more should be taken.
    public mutating func delayed(_ position: Int, host: Origin) -> Bool {
        guard delayed.count < JobFeed.mostDelayed, delayed.insert(position).inserted else {
            return false
        }
        change(host, by: -1)
        return isRunningLow(host)
    }

    /// The loop has done with a transfer; whether more should be taken.
    public mutating func ended(_ position: Int, host: Origin) -> Bool {
        if delayed.remove(position) == nil { change(host, by: -1) }
        return isRunningLow(host)
    }

    private mutating func change(_ host: Origin, by change: Int) {
        guard let host = numbers[host] else { return }
        hosts[host].known += change
        knownCount += change
    }

    /// Whether the loop knows less than half of what it should. It is heard of an end some time after
    /// it, so not each one is answered.
    public var isRunningLow: Bool { count > 0 && knownCount < (window + 1) / 2 }

    private func isRunningLow(_ host: Origin) -> Bool {
        guard let host = numbers[host] else { return isRunningLow }
        return isRunningLow || hosts[host].left > 0 && hosts[host].known < (share + 1) / 2
    }
}
