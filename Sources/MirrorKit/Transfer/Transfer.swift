internal import MirrorModel
internal import MirrorSystem

/// A job under way, with its state. Only the transfer thread uses this class.
final class Transfer {
    /// The event that the transfer waits for.
    enum State {
        /// The transfer waits for a place among the running transfers.
        case queued
        /// The transfer waits for a worker, which reads its part, or hashes.
        case working
        /// The transfer waits for a thread that reads its source file.
        case reading(FileReading)
        /// The transfer waits for libcurl.
        case exchanging(ActiveRequest)
        /// The transfer waits for its further connections. Its own one has nothing left to fetch.
        case joined
        /// The transfer waits until a time in milliseconds.
        case waiting(until: Int64)
        /// The transfer waits for the last milestone. Then the engine reports the result.
        case settling(TransferResult)
    }

    /// The job. Renewed credentials replace it by a copy with other headers.
    var job: TransferJob
    var state = State.queued
    /// The state machine that decides each request.
    /// `nil` means that the verified length of an earlier part is not known yet.
    var machine: TransferMachine?
    /// The request that is under way, or comes next.
    var plan: RequestPlan?
    /// The bytes in hand.
    var body: IncomingBody?
    /// The connections and their ranges. `nil` means that the transfer uses one connection.
    var segments: TransferSegments?
    /// How many requests further connections made. The state machine does not count them.
    var segmentRequests = 0
    /// How many requests ended before they had a socket. They do not count.
    var requestsWithoutSocket = 0
    var meter = ProgressMeter()
    var cost = TransferCost()
    var hasStarted = false
    var isPaused = false
    /// The result with which the transfer ends when the worker that is busy with it has answered.
    /// The reason is a cancellation, a full disk, or a limit of the run.
    var earlyResult: TransferResult?
    /// Whether the end of the transfer also discards its part.
    var discardsPart = false
    /// Asks a worker to stop early.
    private(set) lazy var cancellation = CancellationFlag()
    /// Detects that too few bytes come for too long, over all requests of the own connection.
    var stall: StallClock

    init(_ job: TransferJob, stallTimeout: Int64) {
        self.job = job
        stall = StallClock(timeout: stallTimeout)
    }

    /// The host of the next request.
    var nextHost: Host { Host(plan?.url ?? job.sources[0].url) }

    /// How many bytes are in hand, at any place in the file.
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

    /// Updates `cost.requests` with the requests of all connections.
    func countRequests() {
        cost.requests =
            (machine?.requests ?? 0) + segmentRequests - requestsWithoutSocket
    }

    /// Discards the bytes in hand, with their part, and ends the further connections.
    func drop() throws(MirrorError) {
        segments?.dismiss(keeping: false)
        segments = nil
        cost.bytesReused = 0
        let body = body
        self.body = nil
        try body?.discard()
    }
}

/// Measures how fast bytes come, and reports at most twice a second.
struct ProgressMeter {
    private var since: Int64?
    private var bytes: Int64 = 0
    private var rate: Double = 0

    /// Returns bytes a second, smoothed over a few seconds.
    /// Returns nil at the first call, and if less than 500 ms have passed since the last report.
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

    /// Leaves the time until the next `read` out, because the transfer is paused.
    mutating func rest() { since = nil }
}

/// One fetch: everything that the transfer loop must know, with secrets filled in.
///
/// A class, because the job goes from the run to the loop and back with each event. To copy a
/// struct would change a reference count for each of its parts.
final class TransferJob: Sendable {
    /// Unique in the run.
    let id: Int
    /// The target of the bytes; it names the part, and appears in events and errors.
    let target: Target
    /// The sources in the order in which they are tried; never empty.
    let sources: [PreparedSource]
    /// The body of a POST. `nil` means that the request is a GET.
    let postBody: [UInt8]?
    /// The size, digests and media type that the bytes must have.
    let expectation: Expectation
    /// The version at the target, for a conditional request. `nil` makes the request unconditional.
    let local: LocalVersion?
    /// The part that may be resumed. The loop first cuts the part to its verified length.
    let part: PartRecord?
    /// Jobs with a higher priority run first.
    let priority: Int32
    /// Whether a failure of this job ends the run.
    /// After such a failure, no other job begins before the observer has handled it.
    let isDecisive: Bool
    /// Whether its bytes go into a part even if they are few, so that a later run can use them.
    let keepsPart: Bool
    /// Asks the program for other credentials after a 401. `nil` means that it has no others.
    let renew: CredentialRenewal?
    /// The limit that the bytes count against. `nil` means that the run has no limit.
    let allowance: ByteAllowance?
    /// Whether the job goes on when `allowance` is spent.
    let isUrgent: Bool

    /// Makes a job.
    init(
        id: Int, target: Target, sources: [PreparedSource], postBody: [UInt8]?,
        expectation: Expectation, local: LocalVersion?, part: PartRecord?, priority: Int32,
        isDecisive: Bool = false, keepsPart: Bool = false, renew: CredentialRenewal? = nil,
        allowance: ByteAllowance? = nil, isUrgent: Bool = false
    ) {
        self.id = id
        self.target = target
        self.sources = sources
        self.postBody = postBody
        self.expectation = expectation
        self.local = local
        self.part = part
        self.priority = priority
        self.isDecisive = isDecisive
        self.keepsPart = keepsPart
        self.renew = renew
        self.allowance = allowance
        self.isUrgent = isUrgent
    }

    /// Returns the same job with other headers for one of its sources.
    func with(_ headers: [(name: String, value: String)], for source: Int) -> TransferJob {
        var sources = sources
        sources[source] = PreparedSource(
            url: sources[source].url, key: sources[source].key, headers: headers)
        return TransferJob(
            id: id, target: target, sources: sources, postBody: postBody,
            expectation: expectation, local: local, part: part, priority: priority,
            isDecisive: isDecisive, keepsPart: keepsPart, renew: renew,
            allowance: allowance, isUrgent: isUrgent)
    }

    /// Whether the allowance is spent, so that the job takes no more bytes until the run decides.
    var hasSpentAll: Bool { !isUrgent && allowance?.isSpent == true }

    /// Whether the response probably takes little more than a round trip.
    var isBrief: Bool {
        local != nil || expectation.size.map { $0 <= Int64(IncomingBody.memoryLimit) } ?? false
    }
}

/// Asks the program for other headers of a source whose credentials were refused.
/// The program calls `then` with them, perhaps at once, perhaps never.
typealias CredentialRenewal =
    @Sendable (PreparedSource, _ then: @escaping @Sendable (RenewedHeaders) -> Void) -> Void

/// All headers of a source, or a sentence that says why there are no others.
enum RenewedHeaders: Sendable {
    case headers([(name: String, value: String)])
    case none(String)
}

/// A source whose header values have been filled in.
struct PreparedSource: Sendable {
    /// Where the bytes are.
    let url: SourceURL
    /// The name under which the source is remembered.
    let key: SourceKey
    /// Names and values, secrets included: never printed, sent to the URL's own origin only.
    let headers: [(name: String, value: String)]
    /// Whether one of the headers is User-Agent.
    let namesUserAgent: Bool

    /// Makes a source with its header values.
    init(url: SourceURL, key: SourceKey, headers: [(name: String, value: String)]) {
        self.url = url
        self.key = key
        self.headers = headers
        namesUserAgent = headers.contains { $0.name.lowercased() == "user-agent" }
    }
}

/// The transfers that have not ended, and the places that they have or wait for.
///
/// The dispatcher decides about places. A transfer that leaves the register gives its place back,
/// and its job gets its last event.
final class TransferRegister {
    /// The transfers by the ids of their jobs.
    private(set) var transfers: [Int: Transfer] = [:]
    var dispatcher: Dispatcher
    private let observer: any TransferObserver

    init(_ dispatcher: consuming Dispatcher, observer: any TransferObserver) {
        self.dispatcher = dispatcher
        self.observer = observer
    }

    /// Adds a transfer, but puts it into no queue.
    func insert(_ transfer: Transfer) { transfers[transfer.job.id] = transfer }

    /// Releases the place of a transfer and removes the transfer from every queue.
    /// So the transfer cannot begin again.
    func withdraw(_ transfer: Transfer) {
        dispatcher.release(transfer.job.id)
        dispatcher.remove(transfer.job.id)
    }

    /// Removes a transfer and reports the last event of its job.
    func end(_ transfer: Transfer, _ result: TransferResult) {
        let id = transfer.job.id
        withdraw(transfer)
        // A further request that still runs would report to segments that no longer exist.
        transfer.segments?.dismiss(keeping: true)
        transfers[id] = nil
        report(transfer, .ended(result))
    }

    /// Releases the place of the transfer, if it has one, and queues its next request.
    ///
    /// - Parameter isPatient: whether the transfer waits for the host even if the host does not
    ///   respond.
    func waitForPlace(_ transfer: Transfer, isPatient: Bool = false) {
        let id = transfer.job.id
        dispatcher.release(id)
        transfer.state = .queued
        if transfer.isPaused { return }
        dispatcher.add(
            id, priority: transfer.job.priority, host: transfer.nextHost,
            hasOthers: !isPatient && transfer.job.sources.count > 1,
            isBrief: transfer.job.isBrief)
    }

    /// Returns the next transfer that has got a place. Returns nil if no transfer can start.
    func nextToStart() -> Transfer? {
        while let id = dispatcher.next() {
            if let transfer = transfers[id], case .queued = transfer.state { return transfer }
            dispatcher.release(id)
        }
        return nil
    }

    /// Returns the next transfer whose wait is over. Returns nil if there is no such transfer.
    func nextToWake() -> Transfer? {
        while let id = dispatcher.popWoken() {
            // This skips a paused transfer, which continues when it is resumed.
            if let transfer = transfers[id], !transfer.isPaused, case .waiting = transfer.state {
                return transfer
            }
        }
        return nil
    }

    /// Passes to the machine of a transfer for how long each source's host must not be asked.
    /// Does nothing if the transfer has only one source.
    func know(hostsOf transfer: Transfer) {
        guard transfer.job.sources.count > 1 else { return }
        transfer.machine?.know(
            closedFor: transfer.job.sources.map { dispatcher.timeClosed(Host($0.url)) })
    }

    func report(_ transfer: Transfer, _ event: TransferEvent) {
        observer.tell(transfer.job, event)
    }
}
