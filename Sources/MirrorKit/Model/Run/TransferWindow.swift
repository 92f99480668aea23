/// Chooses how many transfers of a run the loop, which carries them out, should know.
///
/// The loop gets a window of the transfers, in which each host has its share. While too many files
/// or bytes wait for the disk, the loop gets no further transfers: the network can be faster than
/// the disk.
struct TransferWindow: Sendable {
    /// The most files that may wait for promotion, and the most bytes of theirs in memory.
    private static let mostPromotions = 4096
    private static let mostPromotionBytes = 8 << 20
    /// How many transfers go ahead of all others.
    ///
    /// The loop makes connections for them while the other transfers are prepared.
    private static let mostAtFirst = 32

    private var feed = JobFeed()
    private var hasBegun = false
    /// Steps whose transfers the loop has.
    private(set) var running = PositionSet()
    /// Steps whose transfers became ready to begin while the run was paused.
    private(set) var held: [Int] = []
    private(set) var isPaused = false
    private var promotions = 0
    private var promotionBytes = 0

    /// Sets the feed that the window takes its transfers from.
    mutating func fill(_ feed: JobFeed) { self.feed = feed }

    /// Adds transfers that take their turns with the others.
    mutating func add(_ turns: some Sequence<(position: Int, priority: Int32, host: Host)>) {
        feed.add(turns)
    }

    /// Whether the next steps may begin now.
    var hasNext: Bool {
        feed.isRunningLow && promotions < Self.mostPromotions
            && promotionBytes < Self.mostPromotionBytes
    }

    /// Returns the steps that may begin now.
    ///
    /// The caller reports each step with `begins`, or with `ended` if the step did not begin.
    mutating func next() -> [Int] {
        guard hasNext else { return [] }
        defer { hasBegun = true }
        return feed.take(atMost: hasBegun ? .max : Self.mostAtFirst)
    }

    /// Records that a step's transfer begins. Returns false if a pause holds the transfer back.
    mutating func begins(_ position: Int) -> Bool {
        if isPaused { held.append(position) } else { running.insert(position) }
        return !isPaused
    }

    /// Records that a transfer waits for a retry, so that others may begin.
    mutating func delayed(_ position: Int) { _ = feed.delayed(position) }

    /// Records that the loop has finished a transfer, or never had it.
    mutating func ended(_ position: Int) {
        running.remove(position)
        _ = feed.ended(position)
    }

    /// Holds transfers back from now on.
    mutating func pause() { isPaused = true }

    /// Ends the pause. Returns the transfers that were held back, which begin now.
    mutating func resume() -> [Int] {
        isPaused = false
        defer { held = [] }
        running.insert(held)
        return held
    }

    /// Whether a pause holds a transfer back.
    func isHeld(_ position: Int) -> Bool { held.contains(position) }

    /// Removes one transfer from those held back. Returns false if it is not among them.
    mutating func takeHeld(_ position: Int) -> Bool {
        guard let place = held.firstIndex(of: position) else { return false }
        held.remove(at: place)
        return true
    }

    /// Removes and returns all transfers held back, because none of them will begin.
    mutating func takeHeld() -> [Int] {
        defer { held = [] }
        return held
    }

    /// Removes and returns all transfers that were not begun, because none of them will begin.
    mutating func takeRest() -> [Int] { feed.takeAll() }

    /// Records that bytes are on their way to a final name.
    mutating func promotionBegins(bytesInMemory: Int) {
        promotions += 1
        promotionBytes += bytesInMemory
    }

    /// Records that a promotion has ended.
    mutating func promotionEnded(bytesInMemory: Int) {
        promotions -= 1
        promotionBytes -= bytesInMemory
    }
}

/// Chooses the transfers that the loop should know: by priority, with the hosts in turn.
///
/// A job that waits here takes eight bytes, and a transfer that the loop knows takes a thousand. So
/// the loop knows a window of the jobs, in which each host with jobs left has a share. A host that
/// does not answer fills its own share only. A transfer that has waited for a retry once does not
/// count. So thousands of transfers can wait at the same time.
struct JobFeed: Sendable {
    private struct Level {
        let priority: Int32
        var queues: [(host: Int, positions: [Int], next: Int)] = []
        var turn = 0
        /// The position of each host's queue, while transfers are added.
        private var places: [Int: Int] = [:]

        init(priority: Int32) { self.priority = priority }

        mutating func add(_ position: Int, of host: Int) {
            if let place = places[host] { return queues[place].positions.append(position) }
            places[host] = queues.count
            queues.append((host, [position], 0))
        }

        mutating func close() { places = [:] }
    }

    private let window: Int
    /// Ascending by priority. Each level has a queue for each host with transfers left there.
    private var levels: [Level] = []
    /// By host: how many transfers are left, and how many the loop knows.
    ///
    /// `known` does not count transfers that have waited for a retry.
    private var hosts: [(left: Int, known: Int)] = []
    /// The position of each host in `hosts`.
    private var numbers: [Host: Int] = [:]
    /// How many transfers of one host the loop should know.
    private var share: Int
    private var hostsWithAnyLeft = 0
    /// `belowShare`: the hosts with transfers left of which the loop knows less than their share.
    ///
    /// `belowHalf`: those of them of which the loop knows less than half of the share.
    private var belowShare = 0
    private var belowHalf = 0
    /// The transfers that the loop knows, with their hosts, without those that waited for a retry.
    private var known: [Int: Int] = [:]
    private var delayed = PositionSet()

    /// How many transfers have not been taken.
    private(set) var count = 0

    /// How many transfers may wait for a retry beside the window.
    static let mostDelayed = 4096

    /// Takes positions in the order of their plan, with their priorities and hosts.
    ///
    /// - Parameter window: how many transfers the loop should know at once.
    init(
        _ entries: some Sequence<(position: Int, priority: Int32, host: Host)> =
            EmptyCollection<(position: Int, priority: Int32, host: Host)>(), window: Int = 256
    ) {
        self.window = max(1, window)
        share = self.window
        add(entries)
    }

    /// Adds positions, which take their turns with the positions that are left.
    mutating func add(
        _ entries: some Sequence<(position: Int, priority: Int32, host: Host)>
    ) {
        var added: [Level] = []
        var levelNumbers: [Int32: Int] = [:]
        // Nearly all entries have the host and the priority of the one before.
        var last: (host: Host, number: Int)?
        var level = 0
        for entry in entries {
            let host: Int
            if let last, last.host == entry.host {
                host = last.number
            } else {
                host = numbers[entry.host] ?? hosts.count
                last = (entry.host, host)
            }
            if host == hosts.count {
                numbers[entry.host] = host
                hosts.append((0, 0))
            }
            hosts[host].left += 1
            count += 1
            if added.isEmpty || added[level].priority != entry.priority {
                level = levelNumbers[entry.priority] ?? added.count
                if level == added.count {
                    levelNumbers[entry.priority] = level
                    added.append(Level(priority: entry.priority))
                }
            }
            added[level].add(entry.position, of: host)
        }
        for level in added.indices { added[level].close() }
        levels = (added + levels).sorted { $0.priority < $1.priority }
        hostsWithAnyLeft = hosts.count { $0.left > 0 }
        share = fairShare
        tallyAll()
    }

    /// Takes the next transfers for the loop, up to a limit.
    ///
    /// The caller reports each of them with `ended`, even if it never began.
    mutating func take(atMost limit: Int = .max) -> [Int] {
        var taken: [Int] = []
        for level in levels.indices.reversed() {
            var passed = 0
            while known.count < window, belowShare > 0, taken.count < limit,
                passed < levels[level].queues.count
            {
                let turn = levels[level].turn % levels[level].queues.count
                if hosts[levels[level].queues[turn].host].known < share {
                    passed = 0
                    taken.append(takeNext(of: turn, in: level))
                } else {
                    passed += 1
                    levels[level].turn = turn + 1
                }
            }
            if known.count == window || belowShare == 0 || taken.count == limit { break }
        }
        if levels.contains(where: \.queues.isEmpty) { levels.removeAll(where: \.queues.isEmpty) }
        return taken
    }

    private mutating func takeNext(of turn: Int, in level: Int) -> Int {
        let queue = levels[level].queues[turn]
        levels[level].queues[turn].next += 1
        levels[level].turn = turn + 1
        if queue.next + 1 == queue.positions.count {
            // The last queue takes the place of the empty one, so that no other queue moves.
            levels[level].queues.swapAt(turn, levels[level].queues.count - 1)
            levels[level].queues.removeLast()
            levels[level].turn = turn
        }
        let position = queue.positions[queue.next]
        known[position] = queue.host
        count -= 1
        change(queue.host, left: -1, known: 1)
        return position
    }

    /// Takes all transfers that are left, because none of them will begin.
    mutating func takeAll() -> [Int] {
        defer { self = JobFeed(window: window) }
        return levels.reversed().flatMap { $0.queues.flatMap { $0.positions[$0.next...] } }
    }

    /// Notes that a transfer waits for a retry. Returns whether more should be taken.
    mutating func delayed(_ position: Int) -> Bool {
        guard delayed.count < JobFeed.mostDelayed, let host = known.removeValue(forKey: position)
        else { return false }
        delayed.insert(position)
        change(host, known: -1)
        return isRunningLow
    }

    /// Notes that the loop is done with a transfer. Returns whether more should be taken.
    mutating func ended(_ position: Int) -> Bool {
        if let host = known.removeValue(forKey: position) {
            change(host, known: -1)
        } else {
            delayed.remove(position)
        }
        return isRunningLow
    }

    /// Whether the window has room, and the loop knows less than half of some host's share.
    ///
    /// The feed waits for the half, so that it does not refill after each end.
    var isRunningLow: Bool { belowHalf > 0 && known.count < window }

    private mutating func change(_ host: Int, left: Int = 0, known: Int = 0) {
        tally(hosts[host], -1)
        hosts[host].left += left
        hosts[host].known += known
        tally(hosts[host], 1)
        if left != 0, hosts[host].left == 0 {
            hostsWithAnyLeft -= 1
            divide()
        }
    }

    private mutating func tally(_ host: (left: Int, known: Int), _ sign: Int) {
        guard host.left > 0 else { return }
        if host.known < share { belowShare += sign }
        if host.known < (share + 1) / 2 { belowHalf += sign }
    }

    private var fairShare: Int { max(1, window / max(1, hostsWithAnyLeft)) }

    /// Gives each host with transfers left the same share.
    private mutating func divide() {
        guard fairShare != share else { return }
        share = fairShare
        tallyAll()
    }

    private mutating func tallyAll() {
        (belowShare, belowHalf) = (0, 0)
        for host in hosts { tally(host, 1) }
    }
}
