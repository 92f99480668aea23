internal import MirrorModel
internal import Synchronization

/// One job on its way, with its state on the transfer thread.
final class Transfer {
    /// The event that the transfer waits for.
    enum State {
        /// It waits for a place among the running transfers.
        case queued
        /// It waits for a worker, which reads its part, or hashes.
        case working
        /// It waits for a thread that reads its source file.
        case reading(FileReading)
        /// It waits for libcurl.
        case exchanging(ActiveRequest)
        /// It waits for its further connections; its own connection has nothing left to fetch.
        case joined
        /// It waits until a time in milliseconds.
        case waiting(until: Int64)
        /// It waits for the last milestone; then the result is reported.
        case settling(TransferResult)
    }

    /// It is another one once credentials were renewed.
    var job: TransferJob
    var state = State.queued
    /// The state machine that decides; nil until the verified length of an earlier part is known.
    var machine: TransferMachine?
    /// The next request.
    var plan: RequestPlan?
    /// The bytes in hand.
    var body: IncomingBody?
    /// The connections and their ranges; nil where only one connection is used.
    var segments: TransferSegments?
    var extraRequests = ExtraRequests()
    var meter = ProgressMeter()
    var cost = TransferCost()
    var hasStarted = false
    var isPaused = false
    /// How it is ended from outside.
    var earlyEnd = EarlyEnd()
    /// Detects that too few bytes come for too long, over all requests of its own connection.
    var stall: StallClock

    /// Requests that the state machine does not count, or should not have counted.
    struct ExtraRequests {
        /// Requests of further connections.
        var ofSegments = 0
        /// Requests that ended before there was a socket for them.
        var withoutSocket = 0
    }

    /// The end of a transfer that somebody else decided: a cancellation, a full disk, a limit of the run.
    struct EarlyEnd {
        /// The result with which it must end, if a worker is busy with it until then.
        var result: TransferResult?
        /// Whether the part is discarded too.
        var discardsPart = false
        /// Tells a worker to stop early.
        private(set) lazy var cancellation = Cancellation()
    }

    init(_ job: TransferJob, stallTimeout: Int64) {
        self.job = job
        stall = StallClock(timeout: stallTimeout)
    }

    /// The host that the next request goes to.
    var nextHost: Host { Host(plan?.url ?? job.sources[0].url) }

    /// The number of all bytes in hand, at any place in the file.
    var heldBytes: Int64 {
        guard let segments, let body else { return body?.length ?? 0 }
        return max(body.length, segments.state.plan.heldBytes)
    }

    /// Whether bytes are being received, over any connection.
    var isFetching: Bool {
        switch state {
        case .exchanging, .joined: true
        case .queued, .working, .reading, .waiting, .settling: false
        }
    }

    /// Adds the requests of all its connections up.
    func countRequests() {
        cost.requests =
            (machine?.requests ?? 0) + extraRequests.ofSegments - extraRequests.withoutSocket
    }

    /// Discards the bytes in hand.
    func drop() throws(MirrorError) {
        segments?.dismiss(keeping: false)
        segments = nil
        cost.bytesReused = 0
        let body = body
        self.body = nil
        try body?.discard()
    }
}

/// A flag that one thread sets and others read.
final class Cancellation: Sendable {
    private let flag = Atomic(false)

    var isRequested: Bool { flag.load(ordering: .relaxed) }

    func request() { flag.store(true, ordering: .relaxed) }
}

/// Measures how fast bytes come, and reports at most twice a second.
struct ProgressMeter {
    private var since: Int64?
    private var bytes: Int64 = 0
    private var rate: Double = 0

    /// Returns bytes a second, smoothed over a few seconds. Returns nil when less than 500 ms have
    /// passed since the last report.
    mutating func read(length: Int64, now: Int64) -> Int64? {
        guard let since else {
            (self.since, bytes) = (now, length)
            return nil
        }
        let elapsed = now - since
        guard elapsed >= 500 else { return nil }
        let current = Double(max(0, length - bytes)) * 1000 / Double(elapsed)
        rate = rate == 0 ? current : rate * 0.7 + current * 0.3
        (self.since, bytes) = (now, length)
        return Int64(rate)
    }

    /// Leaves out the time until the next reading, because the transfer is paused.
    mutating func rest() { since = nil }
}
