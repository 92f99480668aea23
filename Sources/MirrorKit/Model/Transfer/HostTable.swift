/// The state of each host in a run: whether it answers, and how many transfers ask or may ask it.
///
/// The first entry stands for no host (`nowhere`). A transfer whose host does not answer has its
/// place there, on its way to another source.
struct HostTable: Sendable {
    static let nowhere = 0

    private let perHost: Int?
    private let jobs: Int
    private let policy: TransferPolicy
    /// Picks a number from 0 to its argument.
    let jitter: @Sendable (Int64) -> Int64
    /// The limits that earlier runs measured for hosts.
    private let remembered: [Host: Int]
    private var numbers: [Host: Int] = [:]
    /// The last host that `number(of:now:)` was asked for: nearly always the next one too.
    private var last: (host: Host, number: Int)?
    var states: [HostState]
    /// Hosts that asked for fewer requests and get no further connections for a file.
    var crowded: Set<Host> = []
    /// What hosts have shown about their protocols; other hosts speak the usual ones.
    var protocols: [Host: HostProtocols] = [:]
    /// The number of places that transfers hold at hosts without an answer.
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

    /// Returns the index of a host in `states`. The first use of a host adds an entry.
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

    /// The measured number of transfers at once that suits each host, for a later run.
    var learnedLimits: [Host: Int] {
        numbers.compactMapValues { states[$0].pace?.learnedLimit }
    }

    /// Whether one more transfer may ask a host.
    func hasRoom(_ host: Int, now: Int64) -> Bool {
        host == HostTable.nowhere
            || states[host].hasRoom(perHost: perHost ?? jobs, now: now)
    }

    /// Whether a host may get requests in this run, now or after a wait.
    func isAsked(_ host: Int, now: Int64) -> Bool {
        !states[host].isDown && states[host].refusedUntil <= now
    }

    /// Whether more transfers have places at a host than its limit allows.
    func isCrowded(_ host: Int) -> Bool {
        states[host].running > (states[host].pace?.limit ?? perHost ?? jobs)
    }

    /// Whether a further connection of a transfer may ask a host.
    ///
    /// `SegmentPace` measures for the transfer how many further connections pay. So only the host's
    /// greatest limit counts here, and not its present limit.
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

    /// Counts a place at a host as given back.
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

    /// Notes that a head came from a host. Returns whether that changed the host's reach.
    mutating func answered(_ host: Int) -> Bool {
        if case .answering = states[host].reach { return false }
        set(.answering, of: host)
        return true
    }

    /// Notes a try that ended without a head. Returns what the failure means for the host.
    ///
    /// A host that has answered before counts as away only if no connection to it can be made. If
    /// the host took the request, the failure may be the request's own fault.
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

    /// Ends the waits of hosts that do not answer, and returns these hosts.
    mutating func endOutageWaits(at now: Int64) -> [Int] {
        states.indices.filter { host in
            guard case .away(var outage) = states[host].reach else { return false }
            outage.endWait(at: now, most: policy.retries)
            states[host].reach = .away(outage)
            return true
        }
    }

    /// Updates the measured limits. Returns the hosts whose limits or growth times changed.
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
/// If no connection can be made, the host is down after the last try. A host that takes requests
/// without answering may have one URL that hangs. Such a host is down only when `enoughUnanswered`
/// different transfers went unanswered, or all transfers that want the host.
struct Outage: Sendable {
    /// How many transfers must go unanswered before a host that takes requests is down.
    static let enoughUnanswered = 8

    /// How many tries in a row brought no response; extra tries do not count.
    private(set) var tries = 0
    /// How the last try failed.
    private(set) var failure: TransportFailure
    /// The time of the next try, in milliseconds. The host gets no request before it.
    private(set) var nextTry: Int64 = 0
    /// The number of the latest try that had begun when the last known try failed.
    ///
    /// A try with this number or a lower one began before that failure. So its own failure is no
    /// news.
    private(set) var lastAttempt = 0
    /// Whether the last try took a second or more before it failed.
    ///
    /// A transfer that has another source does not make the next try at a slow host.
    private(set) var isSlow = false
    /// The transfers whose requests the host took without answering.
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

    /// Notes a transfer whose request the host took without answering.
    mutating func noteUnanswered(_ transfer: Int) {
        if unanswered.count < Outage.enoughUnanswered { unanswered.insert(transfer) }
    }

    /// Whether the host took the last request without answering it.
    var takesRequests: Bool { failure.wasSent }

    /// Whether the host gets no more requests in this run.
    ///
    /// - Parameter isLast: whether no other transfer asks the host, and none waits untried.
    func isOver(retries: Int, isLast: Bool) -> Bool {
        guard failure.isPassing else { return true }
        guard tries > retries else { return false }
        if !takesRequests || isLast || unanswered.count >= Outage.enoughUnanswered { return true }
        // Each further try belongs to another transfer, so this many tries are enough.
        return tries > retries + Outage.enoughUnanswered
    }

    /// Makes the next try possible at once, because the network is back.
    ///
    /// - Parameter most: how many of these tries do not count as tries. A network that keeps coming
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
    /// Whether the host can be reached.
    enum Reach: Sendable {
        /// The host was never asked, or has not answered yet.
        case unknown
        case answering
        /// The host does not answer, and gets one try at a time.
        case away(Outage)
        /// The host gets no more requests in this run.
        case down(Outage)
    }

    /// How long a host's first try keeps its place while others wait for one, in milliseconds.
    static let firstPatience: Int64 = 1000
    /// With a patience beyond this, in milliseconds, a try keeps its place until it ends.
    static let lastPatience: Int64 = 20_000

    var reach = Reach.unknown
    var running = 0
    var waiting = HostQueue()
    /// When the host's last response began, in milliseconds.
    var lastAnswered = Int64.min
    /// The host asked to get no requests until this time, in milliseconds.
    var heldUntil: Int64 = 0
    /// Until this time, in milliseconds, requests are refused, because the wait would be too long.
    var refusedUntil: Int64 = 0
    /// Whether the host gets one try at a time until it has answered.
    var isProbed = false
    /// How long the host's tries keep their places while others wait, in milliseconds.
    var patience = HostState.firstPatience
    /// The measured limit of the host; nil if the limit is fixed.
    var pace: HostPace?
    /// Counts changes of the host. An entry in a queue with an earlier stamp is outdated.
    var stamp = 0

    init(pace: HostPace? = nil) { self.pace = pace }

    /// Whether the host never answered, or answers no longer but may still be tried.
    var isUnanswered: Bool {
        switch reach {
        case .unknown, .away: true
        case .answering, .down: false
        }
    }

    /// Whether only one transfer may ask the host, to find out whether it answers.
    private var isTried: Bool { isAway || isProbed && isUnanswered }

    var isDown: Bool { if case .down = reach { true } else { false } }

    var isAway: Bool { if case .away = reach { true } else { false } }

    /// Whether the host took the last request of an outage without answering it.
    var isMute: Bool { if case .away(let outage) = reach { outage.takesRequests } else { false } }

    /// The transfer that starts next at this host.
    var nextTransfer: QueuedTransfer? { waiting.first(untriedFirst: isUnanswered) }

    /// The time from which the host may be asked, in milliseconds; a past time means now.
    var opensAt: Int64 {
        if case .away(let outage) = reach { return max(heldUntil, outage.nextTry) }
        return heldUntil
    }

    /// Returns which kind of host this is for the order in which transfers start.
    ///
    ///
    /// - Parameter quarter: how many places the hosts without an answer may hold together.
    func kind(quarter: Int, now: Int64) -> ReadyHosts.Kind {
        if !isUnanswered || refusedUntil > now { return .known }
        let isFresh = !isAway && running < quarter && patience == HostState.firstPatience
        return isFresh ? .fresh : .reluctant
    }

    /// Whether one more transfer may have a place at this host.
    ///
    /// If the host gets no requests, the answer is always true: a transfer that only learns the
    /// reason takes nothing from others.
    func hasRoom(perHost: Int, now: Int64) -> Bool {
        if isDown || refusedUntil > now { return true }
        return opensAt <= now && running < (isTried ? 1 : pace?.limit ?? perHost)
    }
}

/// A transfer that waits for a place.
struct QueuedTransfer: Comparable, Sendable {
    let id: Int
    let priority: Int32
    /// Distinguishes this wait from an earlier wait of the same transfer.
    let ticket: Int
    /// Whether the transfer can use another host if this one does not answer.
    let hasOthers: Bool
    /// Whether the response is expected to take little more than a round trip.
    let isBrief: Bool
    /// Whether a host took a request of this transfer without answering it.
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
/// Transfers that the host left unanswered once stand behind the others of their priority. So URLs
/// that hang do not hold up the rest of the list.
struct HostQueue: Sendable {
    private var untried = PriorityQueue<QueuedTransfer>()
    private var unanswered = PriorityQueue<QueuedTransfer>()

    var isEmpty: Bool { untried.isEmpty && unanswered.isEmpty }

    /// Whether a transfer waits that the host has not left unanswered.
    var hasUntried: Bool { !untried.isEmpty }

    mutating func insert(_ transfer: QueuedTransfer) {
        if transfer.wentUnanswered { unanswered.insert(transfer) } else { untried.insert(transfer) }
    }

    /// Returns the transfer that starts next; nil if none waits.
    ///
    /// - Parameter untriedFirst: whether untried transfers come first whatever their priority.
    func first(untriedFirst: Bool) -> QueuedTransfer? {
        isUntriedNext(untriedFirst) ? untried.first : unanswered.first
    }

    mutating func popFirst(untriedFirst: Bool) -> QueuedTransfer? {
        isUntriedNext(untriedFirst) ? untried.popFirst() : unanswered.popFirst()
    }

    /// Removes and returns any untried transfer. Returns nil if there is none.
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

    /// Removes the transfers at the front that no longer wait.
    mutating func dropEnded(_ isEnded: (QueuedTransfer) -> Bool) {
        while let next = untried.first, isEnded(next) { _ = untried.popFirst() }
        while let next = unanswered.first, isEnded(next) { _ = unanswered.popFirst() }
    }
}

/// What a request that ended without a response means for its host.
enum HostSilence: Sendable {
    /// The failure concerns only the transfer, because the host answers others.
    case ofTransfer
    /// The host does not answer. Its next try comes in `milliseconds`, from any transfer.
    case ofHost(milliseconds: Int64)
    /// The host gets no more requests in this run.
    case forGood(Outage)
}

/// What the responses of a host have shown about the protocols that it speaks over TLS.
///
/// By default mirror asks for long bodies over HTTP/1.1. It asks for all others over the protocol
/// that TLS negotiates (RFC 7301).
struct HostProtocols: Sendable, Hashable {
    /// Whether the host refused HTTP/1.1. Each request then uses the protocol that TLS negotiates.
    var refusesHTTP1: Bool = false
    /// Whether requests to the host must not share a connection, so that they use HTTP/1.1.
    ///
    /// One reason is that some connections of the host speak HTTP/2 and others HTTP/1.1. Another is
    /// that its bodies over HTTP/2 have no length, so their end does not prove that they are
    /// complete.
    var forbidsSharing: Bool = false

    /// Whether each request needs a connection of its own, because HTTP/1.1 is refused too.
    var isAlone: Bool { refusesHTTP1 && forbidsSharing }

    /// Adds what another answer has shown.
    mutating func learn(_ other: HostProtocols) {
        refusesHTTP1 = refusesHTTP1 || other.refusesHTTP1
        forbidsSharing = forbidsSharing || other.forbidsSharing
    }
}
