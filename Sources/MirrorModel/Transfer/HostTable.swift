/// The state of each host in a run: whether it answers, and how many transfers ask or may ask it.
///
/// The first entry is no host. A transfer has its place there if it only passes by a host that does
/// not answer, on its way to another.
struct HostTable: Sendable {
    static let nowhere = 0

    private let perHost: Int?
    private let jobs: Int
    private let policy: TransferPolicy
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
        perHost: Int?, jobs: Int, policy: TransferPolicy, remembered: [Host: Int],
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
        _ host: Int, _ failure: TransportFailure,
        of attempt: (transfer: Int, number: Int, began: Int64), last: Int, now: Int64
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

/// A host that does not answer: one series of tries, shared by all its transfers.
///
/// A host that cannot be connected to is down after the last of them. One that takes requests and
/// answers none may have one address that hangs, so it is down only when `enoughUnanswered`
/// different transfers went unanswered, or all that want it.
package struct Outage: Sendable {
    /// How many different transfers must have gone unanswered before a host that takes requests is down.
    static let enoughUnanswered = 8

    /// How many tries in a row brought no response.
    package private(set) var tries = 0
    /// How the last of them failed.
    package private(set) var failure: TransportFailure
    /// The time of the next try, in milliseconds; there is none before it.
    package private(set) var nextTry: Int64 = 0
    /// The number of the last try that had begun when one failed.
    ///
    /// A try that had begun by then says nothing new when it fails too.
    private(set) var lastAttempt = 0
    /// Whether the last try was slow, so that a transfer with another source should not try next.
    private(set) var isSlow = false
    /// The transfers whose requests the host took and did not answer.
    private var unanswered: Set<Int> = []
    private var waited: Int64 = 0
    /// How often the network came back before the time of the next try.
    private var returns = 0
    /// Whether the next try is an extra one, because the network came back.
    private var isExtra = false

    init(_ failure: TransportFailure) { self.failure = failure }

    /// Notes a try that failed, and sets the time of the next.
    mutating func fail(
        _ failure: TransportFailure, took: Int64, last: Int, now: Int64, policy: TransferPolicy,
        jitter: (Int64) -> Int64
    ) {
        // An extra try is not counted.
        if !isExtra { tries += 1 }
        isExtra = false
        self.failure = failure
        let wait = policy.wait(beforeRetry: tries, waited: waited, jitter: jitter)
        waited += wait
        lastAttempt = last
        nextTry = now + wait
        isSlow = took >= 1000
    }

    /// Notes a transfer whose request was sent and not answered.
    mutating func noteUnanswered(_ transfer: Int) {
        if unanswered.count < Outage.enoughUnanswered { unanswered.insert(transfer) }
    }

    /// Whether the host took the last request and did not answer it.
    var takesRequests: Bool { failure.wasSent }

    /// Whether the host gets no more requests in this run.
    ///
    /// - Parameter isLast: whether no other transfer is being tried or was never tried.
    func isOver(retries: Int, isLast: Bool) -> Bool {
        guard failure.isPassing else { return true }
        guard tries > retries else { return false }
        if !takesRequests || isLast || unanswered.count >= Outage.enoughUnanswered { return true }
        // Each further try is another transfer's, so there are no more of them than that.
        return tries > retries + Outage.enoughUnanswered
    }

    /// Makes the next try possible at once, because the network is back.
    ///
    /// - Parameter most: how many such tries are not counted; a network that keeps coming
    ///   and going must not keep a run alive for ever.
    mutating func endWait(at now: Int64, most: Int) {
        guard nextTry > now else { return }
        nextTry = now
        returns += 1
        isExtra = returns <= most
    }
}

/// The state of one host: its reach, its running transfers and its waiting ones.
struct HostState: Sendable {
    /// Whether it can be reached.
    enum Reach: Sendable {
        /// It was never asked, or has not answered yet.
        case unknown
        case answering
        /// It does not answer, and gets one try at a time.
        case away(Outage)
        /// It gets no more requests in this run.
        case down(Outage)
    }

    /// How long a try first keeps its place while others wait for one, in milliseconds.
    static let firstPatience: Int64 = 1000
    /// The patience in milliseconds beyond which a try keeps its place to its own end.
    static let lastPatience: Int64 = 20_000

    var reach = Reach.unknown
    var running = 0
    var waiting = HostQueue()
    /// When its last response began.
    var lastAnswered = Int64.min
    /// The time until which it asked to be left alone.
    var heldUntil: Int64 = 0
    /// The time until which it gets no requests, because the wait would be too long.
    var refusedUntil: Int64 = 0
    /// How long its tries keep their places while others wait for one.
    var patience = HostState.firstPatience
    /// The result of measurement; nil where the number is fixed.
    var pace: HostPace?
    /// Counts changes, so that an entry from before a change is recognized as outdated.
    var stamp = 0

    init(pace: HostPace? = nil) { self.pace = pace }

    /// Whether it never answered, or answers no longer.
    var isUnanswered: Bool {
        switch reach {
        case .unknown, .away: true
        case .answering, .down: false
        }
    }

    var isDown: Bool { if case .down = reach { true } else { false } }

    var isAway: Bool { if case .away = reach { true } else { false } }

    /// Whether it takes requests and has answered none so far.
    var isMute: Bool { if case .away(let outage) = reach { outage.takesRequests } else { false } }

    /// The transfer that starts next here.
    var nextTransfer: QueuedTransfer? { waiting.first(untriedFirst: isUnanswered) }

    /// The time from which it may be asked; a past time means now.
    var opensAt: Int64 {
        if case .away(let outage) = reach { return max(heldUntil, outage.nextTry) }
        return heldUntil
    }

    /// Its place in the order of hosts at which a transfer could start.
    ///
    /// - Parameter quarter: the places that hosts without an answer share.
    func kind(quarter: Int, now: Int64) -> ReadyHosts.Kind {
        if !isUnanswered || refusedUntil > now { return .known }
        let isFresh = !isAway && running < quarter && patience == HostState.firstPatience
        return isFresh ? .fresh : .reluctant
    }

    /// Whether one more transfer may ask it.
    ///
    /// A transfer that only finds out that the host gets no requests needs no place.
    func hasRoom(perHost: Int, now: Int64) -> Bool {
        if isDown || refusedUntil > now { return true }
        return opensAt <= now && running < (isAway ? 1 : pace?.limit ?? perHost)
    }
}

/// A transfer that waits for a place.
struct QueuedTransfer: Comparable, Sendable {
    let id: Int
    let priority: Int32
    /// Distinguishes this wait from an earlier wait of the same transfer.
    let ticket: Int
    /// Whether it can use another host when this one does not answer.
    let hasOthers: Bool
    /// Whether its response is expected to take little more than a round trip.
    let isBrief: Bool
    /// Whether a host took a request of it and did not answer.
    let wentUnanswered: Bool

    static func < (left: QueuedTransfer, right: QueuedTransfer) -> Bool {
        left.priority == right.priority ? left.id < right.id : left.priority > right.priority
    }

    static func == (left: QueuedTransfer, right: QueuedTransfer) -> Bool {
        left.id == right.id && left.ticket == right.ticket
    }
}

/// The transfers that wait for a place at one host.
///
/// Those that the host left unanswered once stand behind the others of their priority, so that
/// addresses that hang do not hold up the rest of the list.
struct HostQueue: Sendable {
    private var untried = PriorityQueue<QueuedTransfer>()
    private var unanswered = PriorityQueue<QueuedTransfer>()

    var isEmpty: Bool { untried.isEmpty && unanswered.isEmpty }

    /// Whether a transfer waits that the host never left unanswered.
    var hasUntried: Bool { !untried.isEmpty }

    mutating func insert(_ transfer: QueuedTransfer) {
        if transfer.wentUnanswered { unanswered.insert(transfer) } else { untried.insert(transfer) }
    }

    /// The transfer that comes first.
    ///
    /// - Parameter untriedFirst: whether untried ones come first whatever their priority.
    func first(untriedFirst: Bool) -> QueuedTransfer? {
        isUntriedNext(untriedFirst) ? untried.first : unanswered.first
    }

    mutating func popFirst(untriedFirst: Bool) -> QueuedTransfer? {
        isUntriedNext(untriedFirst) ? untried.popFirst() : unanswered.popFirst()
    }

    /// Removes any untried transfer; nil when there is none.
    ///
    /// - Parameter jitter: picks a number from 0 to its argument.
    mutating func popAnyUntried(_ jitter: (Int64) -> Int64) -> QueuedTransfer? {
        guard !untried.isEmpty else { return nil }
        return untried.remove(at: Int(jitter(Int64(untried.count - 1))))
    }

    private func isUntriedNext(_ untriedFirst: Bool) -> Bool {
        guard let next = untried.first else { return false }
        guard !untriedFirst, let other = unanswered.first else { return true }
        return next.priority >= other.priority
    }

    /// Removes the transfers at the front that wait no longer.
    mutating func dropEnded(_ isEnded: (QueuedTransfer) -> Bool) {
        while let next = untried.first, isEnded(next) { _ = untried.popFirst() }
        while let next = unanswered.first, isEnded(next) { _ = unanswered.popFirst() }
    }
}

/// The meaning of a failure without an answer for the host.
package enum HostSilence: Sendable {
    /// No meaning: the host answers others.
    case ofTransfer
    /// The next try at the host comes in `milliseconds`, from any transfer.
    case ofHost(milliseconds: Int64)
    /// The host is not asked any more in this run.
    case forGood(Outage)
}

/// What the answers of a host have shown about the protocols that it speaks over TLS.
///
/// Without it, mirror asks for long bodies over HTTP/1.1, and for all others over the protocol that
/// TLS negotiates (RFC 7301).
package struct HostProtocols: Sendable, Hashable {
    /// Whether it refused HTTP/1.1: each request then uses the protocol that TLS negotiates.
    package var refusesHTTP1: Bool
    /// Whether its requests must not share a connection, so that they use HTTP/1.1.
    ///
    /// Some connections of the host speak HTTP/2 and others HTTP/1.1, or its bodies over HTTP/2 have
    /// no length, and then their end does not prove that they are complete.
    package var forbidsSharing: Bool

    /// Takes what is known; by default that is nothing.
    package init(refusesHTTP1: Bool = false, forbidsSharing: Bool = false) {
        self.refusesHTTP1 = refusesHTTP1
        self.forbidsSharing = forbidsSharing
    }

    /// Whether each request needs a connection of its own, because HTTP/1.1 is refused too.
    package var isAlone: Bool { refusesHTTP1 && forbidsSharing }

    /// Adds what another answer has shown.
    package mutating func learn(_ other: HostProtocols) {
        refusesHTTP1 = refusesHTTP1 || other.refusesHTTP1
        forbidsSharing = forbidsSharing || other.forbidsSharing
    }
}
