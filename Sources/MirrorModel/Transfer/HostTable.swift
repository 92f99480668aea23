/// The state of each host in a run: whether it answers, and how many transfers ask or may ask it.
///
/// The first entry is no host. A transfer has its place there if it only passes by a host that does
/// not answer, on its way to another.
struct HostTable: Sendable {
    static let nowhere = 0

    private let perHost: Int?
    private let jobs: Int
    private let policy: RetryPolicy
    /// Picks a number from 0 to its argument.
    let jitter: @Sendable (Int64) -> Int64
    /// The numbers of transfers at once that earlier runs found for hosts.
    private let remembered: [Host: Int]
    private var numbers: [Host: Int] = [:]
    /// The last host whose number was asked for: nearly always the next one too.
    private var last: (host: Host, number: Int)?
    var states: [HostState]
    /// Hosts that asked for fewer requests: they get no further connections.
    var crowded: Set<Host> = []
    /// Hosts that do not speak the protocols that are usual.
    var protocols: [Host: HostProtocols] = [:]
    /// The number of places held at hosts without an answer.
    private(set) var unansweredPlaces = 0

    init(
        perHost: Int?, jobs: Int, policy: RetryPolicy, remembered: [Host: Int],
        jitter: @escaping @Sendable (Int64) -> Int64
    ) {
        self.perHost = perHost.map { max(1, $0) }
        self.jobs = jobs
        self.policy = policy
        self.jitter = jitter
        self.remembered = remembered
        var nowhere = HostState()
        nowhere.reach = .answering
        states = [nowhere]
    }

    /// The number of a host, which is entered at its first use.
    mutating func number(of host: Host, now: Int64) -> Int {
        if let last, last.host == host { return last.number }
        if let number = numbers[host] {
            last = (host, number)
            return number
        }
        numbers[host] = states.count
        let pace =
            perHost == nil
            ? HostPace(ceiling: jobs, learnedLimit: remembered[host], now: now)
            : nil
        states.append(HostState(pace: pace))
        return states.count - 1
    }

    /// The number of transfers at once that suits each host, as far as this run found out.
    var learnedLimits: [Host: Int] {
        numbers.compactMapValues { states[$0].pace?.learnedLimit }
    }

    /// Whether one more transfer may ask a host.
    func hasRoom(_ host: Int, now: Int64) -> Bool {
        host == HostTable.nowhere
            || states[host].hasRoom(perHost: perHost ?? jobs, now: now)
    }

    /// Whether a host may get requests in this run, sooner or later.
    func isAsked(_ host: Int, now: Int64) -> Bool {
        !states[host].isDown && states[host].refusedUntil <= now
    }

    /// Whether more transfers have places at a host than may ask it.
    func isCrowded(_ host: Int) -> Bool {
        states[host].running > (states[host].pace?.limit ?? perHost ?? jobs)
    }

    /// Whether a further connection of a transfer may ask a host.
    ///
    /// The number of further connections that pay is measured for the transfer.
    func hasRoomForExtra(_ host: Int, now: Int64) -> Bool {
        guard let pace = states[host].pace, !states[host].isAway else {
            return hasRoom(host, now: now)
        }
        return states[host].opensAt <= now && states[host].running < pace.most
    }

    /// Counts a place that a transfer, or a further connection, takes at a host.
    mutating func occupy(_ host: Int) {
        states[host].running += 1
        if states[host].isUnanswered { unansweredPlaces += 1 }
    }

    /// Counts a place at a host that was given back.
    mutating func leave(_ host: Int) {
        states[host].running -= 1
        if states[host].isUnanswered { unansweredPlaces -= 1 }
    }

    private mutating func set(_ reach: HostState.Reach, of host: Int) {
        let (running, was) = (states[host].running, states[host].isUnanswered)
        states[host].reach = reach
        let isUnanswered = states[host].isUnanswered
        if was != isUnanswered { unansweredPlaces += isUnanswered ? running : -running }
    }

    /// Notes that a head came from a host; returns whether that changed the host's state.
    mutating func answered(_ host: Int) -> Bool {
        if case .answering = states[host].reach { return false }
        set(.answering, of: host)
        return true
    }

    /// Notes a try that ended without a head, and returns its meaning for the host.
    ///
    /// A host that has answered before is away only when no connection to it can be made. The
    /// failure of a request that it took may be the request's own fault.
    mutating func failed(
        _ host: Int, _ failure: TransportFailure, of attempt: HostAttempt, last: Int, now: Int64
    ) -> HostSilence {
        var outage: Outage
        var isNews = true
        switch states[host].reach {
        case .answering:
            guard failure.isPassing, !failure.wasSent,
                failure.code == .connectFailed || failure.code == .nameNotResolved
            else { return .ofTransfer }
            outage = Outage(failure)
        case .unknown:
            guard failure.isPassing || failure.code == .tlsFailed else { return .ofTransfer }
            outage = Outage(failure)
        case .away(let known):
            outage = known
            // A try that was under way when the last one failed is not counted as a further one.
            isNews = attempt.number > known.lastAttempt
        case .down(let known): return .forGood(known)
        }
        if failure.wasSent { outage.noteUnanswered(attempt.transfer) }
        if isNews {
            outage.fail(
                failure, took: now - attempt.began, last: last, now: now, policy: policy,
                jitter: jitter)
        }
        let isLast = states[host].running <= 1 && !states[host].waiting.hasUntried
        guard !outage.isOver(retries: policy.retries, isLast: isLast) else {
            set(.down(outage), of: host)
            return .forGood(outage)
        }
        set(.away(outage), of: host)
        return .ofHost(milliseconds: max(0, outage.nextTry - now))
    }

    /// Makes the hosts that do not answer ready for a try at once; returns them.
    mutating func endOutageWaits(at now: Int64) -> [Int] {
        states.indices.filter { host in
            guard case .away(var outage) = states[host].reach else { return false }
            outage.endWait(at: now, most: policy.retries)
            states[host].reach = .away(outage)
            return true
        }
    }

    /// Measures the hosts, if measurement finds their numbers; returns those whose numbers changed.
    mutating func measure(now: Int64) -> [Int] {
        guard perHost == nil else { return [] }
        var changed: [Int] = []
        for host in states.indices.dropFirst() {
            let isFull = !states[host].waiting.isEmpty && states[host].opensAt <= now
            let before = (states[host].pace?.limit, states[host].pace?.growsAt)
            states[host].pace?.tick(now: now, isFull: isFull)
            if (states[host].pace?.limit, states[host].pace?.growsAt) != before {
                changed.append(host)
            }
        }
        return changed
    }
}
