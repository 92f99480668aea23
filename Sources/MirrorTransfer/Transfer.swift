internal import MirrorModel
internal import Synchronization

/// One job on its way: what the transfer thread knows of it.
final class Transfer {
    /// What it is waiting for.
    enum State {
        /// A place among the running.
        case queued
        /// A worker, which reads its part, copies a file, or hashes.
        case working
        /// libcurl.
        case exchanging(ActiveRequest)
        /// Its further connections; its own has nothing left to fetch.
        case joined
        /// A time in milliseconds.
        case waiting(until: Int64)
        /// The last milestone; then the result is told.
        case settling(TransferResult)
    }

    let job: TransferJob
    var state = State.queued
    /// The decisions; nil until it is known how far an earlier part goes.
    var machine: TransferMachine?
    /// The next request.
    var plan: RequestPlan?
    /// The bytes in hand.
    var body: IncomingBody?
    /// Who fetches what of the bytes in hand; nil where only one connection will do.
    var segments: TransferSegments?
    /// Requests of further connections.
    var segmentRequests = 0
    /// Requests that ended before there was a socket for them.
    var requestsWithoutSocket = 0
    var meter = ProgressMeter()
    var cost = TransferCost()
    var hasStarted = false
    var isPaused = false
    /// Whether a cancellation takes the part along.
    var discardsPart = false
    /// The digests of the complete bytes.
    var digests: [Digest] = []
    /// How it ends, once it has to: set by a cancellation while a worker is busy with it.
    var ending: TransferResult?
    /// Tells a worker to stop early.
    let cancellation = Cancellation()

    /// Tells when too little comes for too long, over all requests of its own connection.
    var stall: StallClock

    init(_ job: TransferJob, stallTimeout: Int64) {
        self.job = job
        stall = StallClock(timeout: stallTimeout)
    }

    /// The host that the next request goes to.
    var nextHost: Host { Host(plan?.url ?? job.sources[0].url) }

    /// All bytes in hand, wherever in the file they are.
    var heldBytes: Int64 {
        guard let segments, let body else { return body?.length ?? 0 }
        return max(body.length, segments.state.plan.heldBytes)
    }

    /// A second digest that the bytes are held against besides sha256, the strongest one declared.
    var otherAlgorithm: DigestAlgorithm? {
        job.expectation.digests.map(\.algorithm).filter { $0 != .sha256 }.max()
    }
}

/// Set by one thread, seen by others.
final class Cancellation: Sendable {
    private let flag = Atomic(false)

    var isRequested: Bool { flag.load(ordering: .relaxed) }

    func request() { flag.store(true, ordering: .relaxed) }
}

/// How fast bytes come, told at most twice a second.
struct ProgressMeter {
    private var since: Int64 = 0
    private var bytes: Int64 = 0
    private var rate: Double = 0

    /// Bytes a second, smoothed over a few seconds; nil when it was told less than 500 ms ago.
    mutating func read(length: Int64, now: Int64) -> Int64? {
        guard since > 0 else {
            (since, bytes) = (now, length)
            return nil
        }
        let elapsed = now - since
        guard elapsed >= 500 else { return nil }
        let current = Double(max(0, length - bytes)) * 1000 / Double(elapsed)
        rate = rate == 0 ? current : rate * 0.7 + current * 0.3
        (since, bytes) = (now, length)
        return Int64(rate)
    }
}
