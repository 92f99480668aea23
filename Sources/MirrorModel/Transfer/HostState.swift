/// A host that does not answer: one ladder of tries, shared by all who need the host.
package struct Outage: Sendable {
    /// How many tries, one after another, brought no answer.
    package private(set) var tries = 0
    /// How the last of them failed.
    package private(set) var failure: TransportFailure
    /// Before this time, in milliseconds, there is no further try.
    package private(set) var nextTry: Int64 = 0
    /// The number of the last try that had begun when one failed: what had begun by then says
    /// nothing new when it fails too.
    private(set) var lastAttempt = 0
    /// Whether the last try took so long that nobody who can go elsewhere should make the next.
    private(set) var isSlow = false
    private var waited: Int64 = 0
    /// How often the network came back before the time of the next try.
    private var returns = 0
    /// Whether the next try is made because of that.
    private var isExtra = false

    init(_ failure: TransportFailure) { self.failure = failure }

    /// A try brought nothing.
    mutating func fail(
        _ failure: TransportFailure, took: Int64, last: Int, now: Int64, policy: RetryPolicy,
        jitter: (Int64) -> Int64
    ) {
        // It was made early, so it is none of those that the ladder has.
        if !isExtra { tries += 1 }
        isExtra = false
        self.failure = failure
        let wait = policy.wait(beforeRetry: tries, waited: waited, jitter: jitter)
        waited += wait
        lastAttempt = last
        nextTry = now + wait
        isSlow = took >= 1000
    }

    /// The network is back: the next try need not wait.
    ///
    /// - Parameter most: how often such a try is beside the ladder; a network that comes and goes all the time
    ///   must not keep a run for ever.
    mutating func endWait(at now: Int64, most: Int) {
        guard nextTry > now else { return }
        nextTry = now
        returns += 1
        isExtra = returns <= most
    }
}

/// One request's try at a host.
struct HostAttempt: Sendable {
    /// Counts all tries of a run.
    let number: Int
    /// When it began, in milliseconds.
    let began: Int64
}

/// What one host did so far, how many ask it, and who waits for a place with it.
struct HostState: Sendable {
    /// Whether it can be reached.
    enum Reach: Sendable {
        /// It was never asked, or has not answered yet.
        case unknown
        case answering
        /// It does not answer: one try at a time.
        case away(Outage)
        /// It is not asked any more in this run.
        case down(Outage)
    }

    /// For how many milliseconds a try keeps its place at first while others wait for one.
    static let firstPatience: Int64 = 1000
    /// A try that was given so much time keeps its place to its own end.
    static let lastPatience: Int64 = 20_000

    var reach = Reach.unknown
    var running = 0
    var waiting = PriorityQueue<QueuedTransfer>()
    /// Until when it asked to be left alone.
    var heldUntil: Int64 = 0
    /// Until when it is not asked at all, because that is too long to wait for.
    var refusedUntil: Int64 = 0
    /// How long its tries keep their places while others wait for one.
    var patience = HostState.firstPatience
    /// What measuring has found; nil where the number is fixed.
    var pace: HostPace?
    /// Counts changes, so that what was concluded before one is known to be old.
    var stamp = 0

    init(pace: HostPace? = nil) { self.pace = pace }

    /// Whether nothing came from it so far, or nothing comes any more.
    var isUnanswered: Bool {
        switch reach {
        case .unknown, .away: true
        case .answering, .down: false
        }
    }

    var isDown: Bool { if case .down = reach { true } else { false } }

    var isAway: Bool { if case .away = reach { true } else { false } }

    /// When it may be asked; what is over may be asked now.
    var opensAt: Int64 {
        if case .away(let outage) = reach { return max(heldUntil, outage.nextTry) }
        return heldUntil
    }

    /// Whether one more transfer may ask it. Those that only find out that it is not asked need no
    /// place of its.
    func hasRoom(perHost: Int, now: Int64) -> Bool {
        if isDown || refusedUntil > now { return true }
        return opensAt <= now && running < (isAway ? 1 : pace?.limit ?? perHost)
    }
}

/// A transfer that waits for a place.
struct QueuedTransfer: Comparable, Sendable {
    let id: Int
    let priority: Int32
    /// Tells it from an earlier wait of the same transfer.
    let ticket: Int
    /// Whether it can go to another host when this one does not answer.
    let hasOthers: Bool
    /// Whether its answer is expected to take a round trip and little more.
    let isBrief: Bool

    static func < (left: QueuedTransfer, right: QueuedTransfer) -> Bool {
        left.priority == right.priority ? left.id < right.id : left.priority > right.priority
    }

    static func == (left: QueuedTransfer, right: QueuedTransfer) -> Bool {
        left.id == right.id && left.ticket == right.ticket
    }
}
