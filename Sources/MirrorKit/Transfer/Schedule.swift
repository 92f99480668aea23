internal import MirrorModel

/// Which transfer goes next: by priority, then in order, within limits for all and for each host.
///
/// A host's limit is the one that was given, or, where that was asked for, the one that measuring
/// finds (`HostPace`), the given one being the most. A transfer whose host is busy, or asked to be left alone, is parked with that host and costs
/// nothing until a place there is free.
struct Schedule {
    /// A host as limits and Retry-After know it: name and port.
    struct Host: Hashable, Sendable {
        let name: String
        let port: UInt16

        init(_ url: SourceURL) {
            name = url.host
            port = url.port
        }
    }

    private struct Entry: Comparable {
        let id: Int
        let priority: Int32
        let order: Int
        let host: Host

        static func < (left: Entry, right: Entry) -> Bool {
            left.priority == right.priority
                ? left.order < right.order : left.priority > right.priority
        }
    }

    private struct Standing {
        var running = 0
        var parked = PriorityQueue<Entry>()
        var heldUntil: Int64 = 0
        var refusedUntil: Int64 = 0
        /// What measuring has found; nil where the number is fixed.
        var pace: HostPace?
    }

    private let jobs: Int
    private let perHost: Int
    private let adapts: Bool
    private var ready = PriorityQueue<Entry>()
    private var hosts: [Host: Standing] = [:]
    private var running: [Int: Host] = [:]
    private var queued: Set<Int> = []
    /// Places that transfers have beside their own.
    private var extras = 0
    /// Hosts with a hold that parked transfers wait for.
    private var held: Set<Host> = []

    init(jobs: Int, perHost: Int, adapts: Bool = false) {
        self.jobs = max(1, jobs)
        self.perHost = max(1, perHost)
        self.adapts = adapts
    }

    /// Changes a host's standing where it is: a copy would take along all that are parked.
    private mutating func change<Value>(
        _ host: Host, _ change: (inout Standing) -> Value
    ) -> Value {
        let newcomer = Standing(pace: adapts ? HostPace(most: perHost) : nil)
        return change(&hosts[host, default: newcomer])
    }

    /// How many transfers have a place.
    var runningCount: Int { running.count }

    /// Whether nothing waits for a place.
    var hasNothingQueued: Bool { queued.isEmpty }

    /// Whether a transfer has a place.
    func isRunning(_ id: Int) -> Bool { running[id] != nil }

    /// Queues a transfer that asks a host.
    mutating func add(_ id: Int, priority: Int32, host: Host) {
        queued.insert(id)
        ready.insert(Entry(id: id, priority: priority, order: id, host: host))
    }

    /// Takes a transfer out of the queue; it is skipped when its turn comes.
    mutating func remove(_ id: Int) { queued.remove(id) }

    /// The next transfer, which has a place now; nil when there is none, or no place.
    mutating func next(now: Int64) -> Int? {
        freeHolds(now: now)
        while running.count + extras < jobs, let entry = ready.popFirst() {
            guard queued.contains(entry.id) else {
                // It was taken out; the one that is parked behind it must not wait for ever.
                promote(entry.host)
                continue
            }
            let perHost = perHost
            let (hasPlace, isHeld) = change(entry.host) { standing in
                let isHeld = standing.heldUntil > now
                let hasPlace = !isHeld && standing.running < standing.pace?.limit ?? perHost
                if hasPlace { standing.running += 1 } else { standing.parked.insert(entry) }
                return (hasPlace, isHeld)
            }
            if isHeld { held.insert(entry.host) }
            guard hasPlace else { continue }
            queued.remove(entry.id)
            running[entry.id] = entry.host
            return entry.id
        }
        return nil
    }

    /// Gives a transfer's place back.
    mutating func release(_ id: Int) {
        guard let host = running.removeValue(forKey: id) else { return }
        hosts[host]?.pace?.ended()
        leave(host)
    }

    /// Counts a running transfer to another host, because it was redirected there.
    mutating func move(_ id: Int, to host: Host) {
        guard let old = running[id], old != host else { return }
        running[id] = host
        change(host) { $0.running += 1 }
        leave(old)
    }

    /// Takes a place for a further connection of a transfer; false when there is none, or somebody
    /// waits for one.
    mutating func takeExtra(at host: Host, now: Int64) -> Bool {
        guard queued.isEmpty, running.count + extras < jobs else { return false }
        let perHost = perHost
        let hasPlace = change(host) { standing in
            guard standing.running < standing.pace?.limit ?? perHost, standing.heldUntil <= now,
                standing.refusedUntil <= now
            else { return false }
            standing.running += 1
            return true
        }
        if hasPlace { extras += 1 }
        return hasPlace
    }

    /// Gives such a place back.
    mutating func releaseExtra(at host: Host) {
        extras -= 1
        leave(host)
    }

    private mutating func leave(_ host: Host) {
        hosts[host]?.running -= 1
        promote(host)
        guard let standing = hosts[host] else { return }
        let isIdle =
            standing.running == 0 && standing.parked.isEmpty && standing.heldUntil == 0
            && standing.refusedUntil == 0 && standing.pace == nil
        if isIdle { hosts[host] = nil }
    }

    private mutating func promote(_ host: Host) {
        if let entry = hosts[host]?.parked.popFirst() { ready.insert(entry) }
    }

    /// Leaves a host alone until a time in milliseconds.
    ///
    /// When that is too long to wait for, transfers get their place all the same, and find out by
    /// `refusal(of:now:)`.
    mutating func hold(_ host: Host, until: Int64, isTooLong: Bool) {
        let freed = change(host) { standing -> PriorityQueue<Entry>? in
            guard isTooLong else {
                standing.heldUntil = max(standing.heldUntil, until)
                return nil
            }
            standing.refusedUntil = max(standing.refusedUntil, until)
            defer { standing.parked = PriorityQueue() }
            return standing.parked
        }
        if let freed { makeReady(freed) }
    }

    private mutating func makeReady(_ parked: consuming PriorityQueue<Entry>) {
        while let entry = parked.popFirst() { ready.insert(entry) }
    }

    /// For how many more milliseconds a host is not asked at all; nil when it may be asked.
    func refusal(of host: Host, now: Int64) -> Int64? {
        guard let until = hosts[host]?.refusedUntil, until > now else { return nil }
        return until - now
    }

    /// Whether a host asked to be left alone for now.
    func isHeld(_ host: Host, now: Int64) -> Bool { (hosts[host]?.heldUntil ?? 0) > now }

    /// When the next hold ends that somebody waits for.
    var nextHoldEnd: Int64? { held.compactMap { hosts[$0]?.heldUntil }.min() }

    /// Counts bytes that a running transfer received.
    mutating func received(_ bytes: Int, by id: Int) {
        guard adapts, let host = running[id] else { return }
        hosts[host]?.pace?.received(bytes)
    }

    /// A host that a running transfer asks had too much, or hung up.
    mutating func backOff(_ id: Int, now: Int64) {
        guard adapts, let host = running[id] else { return }
        hosts[host]?.pace?.backOff(now: now)
    }

    /// Measures; a host whose limit rose takes in as many that are parked as have a place now.
    mutating func tick(now: Int64) {
        guard adapts else { return }
        for host in Array(hosts.keys) {
            let places = change(host) { standing -> Int in
                let isHeld = standing.heldUntil > now
                standing.pace?.tick(now: now, isFull: !standing.parked.isEmpty && !isHeld)
                guard !isHeld, let limit = standing.pace?.limit else { return 0 }
                return limit - standing.running
            }
            for _ in 0..<max(0, places) { promote(host) }
        }
    }

    private mutating func freeHolds(now: Int64) {
        for host in held where !isHeld(host, now: now) {
            held.remove(host)
            guard hosts[host] != nil else { continue }
            let freed = change(host) { standing in
                standing.heldUntil = 0
                defer { standing.parked = PriorityQueue() }
                return standing.parked
            }
            makeReady(freed)
        }
    }
}
