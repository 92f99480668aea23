/// The transfers that wait for a place, each at its host, and the hosts at which one could start.
///
/// After each change at a host the queue considers the host again. It enters the host among those
/// at which a transfer could start, or notes the time at which one could. So the queue finds the
/// next transfer and the time of the next change without a look at all hosts.
struct StartQueue: Sendable {
    var hosts: HostTable
    /// How many places hosts without an answer may hold together while other hosts have work.
    var unansweredLimit: Int
    /// The present time in milliseconds, of any clock that never goes back.
    private(set) var now: Int64
    /// The waiting transfers by their numbers, each with its ticket and host.
    private var waiting: [Int: (ticket: Int, host: Int)] = [:]
    /// The transfers of which a host took a request without answering it.
    private var unanswered: Set<Int> = []
    private var lastTicket = 0
    private var ready = ReadyHosts()
    /// The times at which hosts may be asked again, or at which their limits grow.
    private var openings = DelayQueue()

    init(_ hosts: HostTable, unansweredLimit: Int, now: Int64) {
        self.hosts = hosts
        self.unansweredLimit = unansweredLimit
        self.now = now
    }

    /// Advances the clock, opens hosts whose waits are over, and raises the limits of silent hosts.
    mutating func advance(to now: Int64, hasRead: Bool) {
        self.now = max(self.now, now)
        while let host = openings.popFirst(at: self.now) {
            // Hosts that do not answer must not take the places of others.
            let room = max(0, unansweredLimit - hosts.unansweredPlaces)
            hosts.states[host].pace?.passSilence(room: room, hasRead: hasRead, now: self.now)
            reconsider(host)
        }
    }

    /// The next time at which a host opens or its limit grows.
    ///
    /// `nil` means that the passing of time alone opens no host.
    var nextOpening: Int64? { mutating get { openings.next } }

    /// Returns the index of a host in `hosts`.
    mutating func number(of host: Host) -> Int { hosts.number(of: host, now: now) }

    /// Adds a transfer, which waits at its host or on its way to another source.
    mutating func add(
        _ id: Int, priority: Int32, host: Host, hasOthers: Bool, isBrief: Bool, isProbe: Bool
    ) {
        let host = number(of: host)
        if isProbe { hosts.states[host].isProbed = true }
        lastTicket += 1
        let transfer = QueuedTransfer(
            id: id, priority: priority, ticket: lastTicket, hasOthers: hasOthers, isBrief: isBrief,
            wentUnanswered: !unanswered.isEmpty && unanswered.contains(id))
        let place = waitingPlace(of: transfer, at: host)
        waiting[id] = (lastTicket, place)
        hosts.states[place].waiting.insert(transfer)
        reconsider(place)
    }

    /// Returns the index of the host at which a transfer waits that asks for `host`.
    private func waitingPlace(of transfer: QueuedTransfer, at host: Int) -> Int {
        hosts.states[host].isAway && transfer.hasOthers ? HostTable.nowhere : host
    }

    /// Removes a transfer from the queue.
    mutating func remove(_ id: Int) {
        if !unanswered.isEmpty { unanswered.remove(id) }
        // A removed transfer must not look like one that could start.
        if let host = waiting.removeValue(forKey: id)?.host { reconsider(host) }
    }

    /// Removes and returns the transfer that starts next, and its host.
    ///
    /// Returns nil if no transfer can start.
    mutating func popFirst() -> (transfer: QueuedTransfer, host: Int)? {
        guard let host = bestHost(), let transfer = popFirst(at: host) else { return nil }
        waiting[transfer.id] = nil
        return (transfer, host)
    }

    /// Removes and returns the transfer that starts next at a host.
    ///
    /// Returns nil if no transfer waits there.
    ///
    /// A host that takes requests without answering gets a transfer from anywhere in its queue.
    /// URLs that hang often stand side by side in a list.
    private mutating func popFirst(at host: Int) -> QueuedTransfer? {
        if hosts.states[host].isMute {
            let jitter = hosts.jitter
            while let transfer = hosts.states[host].waiting.popAnyUntried(jitter) {
                if !isEnded(transfer) { return transfer }
            }
            dropEnded(host)
        }
        let untriedFirst = hosts.states[host].isUnanswered
        return hosts.states[host].waiting.popFirst(untriedFirst: untriedFirst)
    }

    /// Whether a transfer must let untried transfers ask a host first, because it went unanswered.
    mutating func givesWay(_ id: Int, at host: Int) -> Bool {
        guard hosts.states[host].isMute, unanswered.contains(id) else { return false }
        dropEnded(host)
        return hosts.states[host].waiting.hasUntried
    }

    private func isEnded(_ transfer: QueuedTransfer) -> Bool {
        waiting[transfer.id]?.ticket != transfer.ticket
    }

    private mutating func bestHost() -> Int? {
        let known = ready.first(.known, hosts.states)
        let other =
            ready.first(.fresh, hosts.states) ?? ready.first(.reluctant, hosts.states)
        guard let known else { return other?.host }
        guard hosts.unansweredPlaces < unansweredLimit, let other, other.first < known.first else {
            return known.host
        }
        return other.host
    }

    /// Whether a transfer could start at a host of this kind.
    mutating func hasCandidate(_ kind: ReadyHosts.Kind) -> Bool {
        ready.first(kind, hosts.states) != nil
    }

    /// Whether a transfer could start at any host.
    var hasCandidate: Bool {
        mutating get { ReadyHosts.Kind.allCases.contains { hasCandidate($0) } }
    }

    /// Whether a transfer waits for a place at a host.
    mutating func isWaitedFor(_ host: Int) -> Bool {
        dropEnded(host)
        return !hosts.states[host].waiting.isEmpty
    }
}

// MARK: Changes at hosts

extension StartQueue {
    /// Takes a place at a host.
    mutating func occupy(_ host: Int) {
        hosts.occupy(host)
        reconsider(host)
    }

    /// Gives a place at a host back.
    mutating func leave(_ host: Int) {
        hosts.leave(host)
        reconsider(host)
    }

    /// Gives a place at a host back after a transfer's request there has ended.
    mutating func noteEnd(at host: Int) {
        let isFull = isWaitedFor(host)
        hosts.states[host].pace?.ended(isFull: isFull, now: now)
        hosts.leave(host)
        enter(host)
    }

    /// Notes that a head came from a host.
    mutating func answered(at host: Int) {
        hosts.states[host].lastAnswered = now
        if hosts.answered(host) { reconsider(host) }
    }

    /// Notes a request that ended without a head. Returns what the failure means for its host.
    mutating func failed(
        _ attempt: (transfer: Int, number: Int, began: Int64), at host: Int,
        _ failure: TransportFailure, last: Int
    ) -> HostSilence {
        if failure.wasSent { unanswered.insert(attempt.transfer) }
        dropEnded(host)
        let silence = hosts.failed(host, failure, of: attempt, last: last, now: now)
        if case .ofTransfer = silence {
            // A host that answers other requests but not this one may have more than it can serve.
            if failure.code == .stalled, hosts.states[host].lastAnswered >= attempt.began {
                backOff(attempt, at: host)
            }
            return silence
        }
        // Transfers with another source do not wait for a host that does not answer.
        let others = hosts.states[host].isAway ? takeThoseWithOthers(from: host) : []
        reconsider(host)
        for transfer in others { requeue(transfer, at: host) }
        return silence
    }

    /// Halves a host's limit, because the host had too much to do with a request.
    mutating func backOff(
        _ attempt: (transfer: Int, number: Int, began: Int64), at host: Int
    ) {
        hosts.states[host].pace?.backOff(requestBegan: attempt.began, now: now)
    }

    private mutating func takeThoseWithOthers(from host: Int) -> [QueuedTransfer] {
        var (staying, others) = (HostQueue(), [QueuedTransfer]())
        while let transfer = hosts.states[host].waiting.popFirst(untriedFirst: true) {
            if transfer.hasOthers { others.append(transfer) } else { staying.insert(transfer) }
        }
        hosts.states[host].waiting = staying
        return others
    }

    /// Adds a transfer again that waited at a host, unless the queue has removed it.
    private mutating func requeue(_ transfer: QueuedTransfer, at host: Int) {
        let place = waitingPlace(of: transfer, at: host)
        waiting[transfer.id]?.host = place
        hosts.states[place].waiting.insert(transfer)
        reconsider(place)
    }

    /// Leaves a host alone until a time in milliseconds.
    ///
    /// If that is too long to wait, its transfers get places all the same. `Dispatcher.admit` then
    /// refuses them with the reason.
    mutating func hold(_ host: Int, until: Int64, isTooLong: Bool) {
        if isTooLong {
            hosts.states[host].refusedUntil = max(hosts.states[host].refusedUntil, until)
        } else {
            hosts.states[host].heldUntil = max(hosts.states[host].heldUntil, until)
        }
        reconsider(host)
    }

    /// Makes the hosts that do not answer ready for a try at once, because the network is back.
    mutating func networkReturned() {
        for host in hosts.endOutageWaits(at: now) { reconsider(host) }
    }

    /// Changes a host's pace. A greater limit lets other transfers begin.
    mutating func changePace(of host: Int, _ change: (inout HostPace) -> Void) {
        guard var pace = hosts.states[host].pace else { return }
        let before = pace.limit
        // Written back at once: the table must have one owner while it changes.
        change(&pace)
        hosts.states[host].pace = pace
        // After the first connection, `growsAt` has a time even if the limit has not changed.
        if pace.limit > before || pace.growsAt != nil { reconsider(host) }
    }

    /// Updates the measured limits of the hosts.
    mutating func measure() {
        for host in hosts.measure(now: now) { reconsider(host) }
    }

    private mutating func reconsider(_ host: Int) {
        dropEnded(host)
        enter(host)
    }

    /// Enters a host at which a transfer could start now, or notes the time at which one could.
    ///
    /// Requires that the first transfer in the host's queue still waits.
    private mutating func enter(_ host: Int) {
        hosts.states[host].stamp += 1
        guard let first = hosts.states[host].nextTransfer else { return }
        if hosts.hasRoom(host, now: now) {
            let kind = hosts.states[host].kind(quarter: unansweredLimit, now: now)
            ready.insert(host, kind, first: first, stamp: hosts.states[host].stamp)
        } else if hosts.states[host].opensAt > now {
            openings.insert(host, until: hosts.states[host].opensAt)
        } else if !hosts.states[host].isAway, let time = hosts.states[host].pace?.growsAt {
            openings.insert(host, until: time)
        }
    }

    private mutating func dropEnded(_ host: Int) {
        let waiting = waiting
        hosts.states[host].waiting.dropEnded { waiting[$0.id]?.ticket != $0.ticket }
    }
}

/// Hosts at which a transfer could start now if a place were free, best first.
///
/// Each change at a host makes a new entry. `first` recognizes an older entry by its stamp, and
/// skips it.
struct ReadyHosts: Sendable {
    /// What is known of a host, which decides which host goes first.
    package enum Kind: Sendable, CaseIterable {
        /// The host answers.
        case known
        /// The host has got no request yet, or only a few.
        case fresh
        /// The host had time already, and has not answered.
        case reluctant
    }

    private struct Candidate: Comparable {
        let first: QueuedTransfer
        let host: Int
        let stamp: Int

        static func < (left: Candidate, right: Candidate) -> Bool { left.first < right.first }
    }

    private var known = PriorityQueue<Candidate>()
    private var fresh = PriorityQueue<Candidate>()
    private var reluctant = PriorityQueue<Candidate>()

    mutating func insert(_ host: Int, _ kind: Kind, first: QueuedTransfer, stamp: Int) {
        let candidate = Candidate(first: first, host: host, stamp: stamp)
        switch kind {
        case .known: known.insert(candidate)
        case .fresh: fresh.insert(candidate)
        case .reluctant: reluctant.insert(candidate)
        }
    }

    /// Returns the best host of a kind, and its first transfer.
    ///
    /// Returns nil if no transfer could start at a host of this kind.
    mutating func first(
        _ kind: Kind, _ states: [HostState]
    ) -> (first: QueuedTransfer, host: Int)? {
        switch kind {
        case .known: ReadyHosts.first(&known, states)
        case .fresh: ReadyHosts.first(&fresh, states)
        case .reluctant: ReadyHosts.first(&reluctant, states)
        }
    }

    private static func first(
        _ queue: inout PriorityQueue<Candidate>, _ states: [HostState]
    ) -> (first: QueuedTransfer, host: Int)? {
        while let candidate = queue.first {
            if states[candidate.host].stamp == candidate.stamp {
                return (candidate.first, candidate.host)
            }
            _ = queue.popFirst()
        }
        return nil
    }
}

/// Numbers that wait, each until a time, and the one whose time comes next.
///
/// A wait that is replaced or removed stays in the heap. `next` skips it.
struct DelayQueue: Sendable {
    private struct Delay: Comparable {
        let until: Int64
        let id: Int

        static func < (left: Delay, right: Delay) -> Bool {
            (left.until, left.id) < (right.until, right.id)
        }
    }

    private var heap = PriorityQueue<Delay>()
    private var delays: [Int: (until: Int64, endsWithNetwork: Bool)] = [:]

    /// Adds a wait until a time in milliseconds, which the return of the network may end earlier.
    mutating func insert(_ id: Int, until: Int64, endsWithNetwork: Bool = false) {
        if let known = delays[id], known == (until, endsWithNetwork) { return }
        delays[id] = (until, endsWithNetwork)
        heap.insert(Delay(until: until, id: id))
    }

    /// Removes the wait of a number.
    mutating func remove(_ id: Int) { if !delays.isEmpty { delays[id] = nil } }

    /// Removes and returns the next number whose time has come. Returns nil if no time has come.
    mutating func popFirst(at now: Int64) -> Int? {
        guard let until = next, until <= now, let delay = heap.popFirst() else { return nil }
        delays[delay.id] = nil
        return delay.id
    }

    /// The time at which the next wait ends; nil if no number waits.
    var next: Int64? {
        mutating get {
            while let delay = heap.first {
                if delays[delay.id]?.until == delay.until { return delay.until }
                _ = heap.popFirst()
            }
            return nil
        }
    }

    /// Ends the waits that were added with `endsWithNetwork`.
    mutating func endWithNetwork(at now: Int64) {
        for (id, delay) in delays where delay.endsWithNetwork { insert(id, until: now) }
    }
}

/// A binary heap. The first element by the elements' order comes out first.
struct PriorityQueue<Element: Comparable> {
    private var heap: [Element] = []

    init() {}

    var isEmpty: Bool { heap.isEmpty }
    var count: Int { heap.count }
    var first: Element? { heap.first }

    mutating func insert(_ element: Element) {
        heap.append(element)
        rise(from: heap.count - 1)
    }

    mutating func popFirst() -> Element? { heap.isEmpty ? nil : remove(at: 0) }

    /// Removes and returns the element at a position of the heap.
    ///
    /// The position is from 0 to `count - 1`; 0 is the first element in the order.
    mutating func remove(at position: Int) -> Element {
        let last = heap.removeLast()
        guard position < heap.count else { return last }
        let removed = heap[position]
        heap[position] = last
        rise(from: position)
        sink(from: position)
        return removed
    }

    private mutating func rise(from position: Int) {
        var child = position
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child] < heap[parent] else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func sink(from position: Int) {
        var parent = position
        while true {
            var least = parent
            let (left, right) = (2 * parent + 1, 2 * parent + 2)
            if left < heap.count, heap[left] < heap[least] { least = left }
            if right < heap.count, heap[right] < heap[least] { least = right }
            if least == parent { return }
            heap.swapAt(least, parent)
            parent = least
        }
    }
}

extension PriorityQueue: Sendable where Element: Sendable {}
