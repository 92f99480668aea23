internal import MirrorModel
internal import MirrorSystem

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
    /// Requests of further connections, which the state machine does not count.
    var segmentRequests = 0
    /// Requests that ended before there was a socket for them, so they do not count.
    var requestsWithoutSocket = 0
    var meter = ProgressMeter()
    var cost = TransferCost()
    var hasStarted = false
    var isPaused = false
    /// The result with which it must end, if a worker is busy with it until then: it was cancelled, the
    /// disk is full, or a limit of the run was reached.
    var earlyResult: TransferResult?
    /// Whether that end discards the part too.
    var discardsPart = false
    /// Asks a worker to stop early.
    private(set) lazy var cancellation = CancellationFlag()
    /// Detects that too few bytes come for too long, over all requests of its own connection.
    var stall: StallClock

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
            (machine?.requests ?? 0) + segmentRequests - requestsWithoutSocket
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

/// One fetch: everything that the transfer loop must know, with secrets filled in.
///
/// An object, because it goes from the run to the loop and back with each event, and a copy would
/// count a reference for each of its parts.
final class TransferJob: Sendable {
    /// Unique in the run.
    let id: Int
    /// The target of the bytes; it names the part, and appears in events and errors.
    let target: Target
    /// The sources in the order in which they are tried; never empty.
    let sources: [PreparedSource]
    /// The body of a POST; nil for a GET.
    let postBody: [UInt8]?
    /// The size, digests and media type that the bytes must have.
    let expectation: Expectation
    /// The version at the target, for a conditional request; nil makes the request unconditional.
    let local: LocalVersion?
    /// The part that may be resumed; the loop first cuts it to its verified length.
    let part: PartRecord?
    /// Jobs with a higher priority run first.
    let priority: Int32
    /// Whether its failure ends everything: no other job begins before the observer has handled it.
    let isDecisive: Bool
    /// Whether its bytes go into a part even if they are few, so that a later run can use them.
    let keepsPart: Bool
    /// Asks the program for other credentials after a 401; nil where it has none to give.
    let renew: CredentialRenewal?
    /// What its bytes count against; nil where nothing limits the run.
    let allowance: ByteAllowance?
    /// Whether it goes on when nothing is left of that.
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

    /// The same job with other headers for the origin of one of its sources.
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

    /// Whether it must take no more bytes until the run decides what follows.
    var hasSpentAll: Bool { !isUrgent && allowance?.isSpent == true }

    /// Whether its response is expected to take little more than a round trip.
    var isBrief: Bool {
        local != nil || expectation.size.map { $0 <= Int64(IncomingBody.memoryLimit) } ?? false
    }
}

/// Asks for the headers of a source whose credentials were refused, and passes them on: perhaps at
/// once, perhaps never.
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
    /// Whether one of them is User-Agent.
    let namesUserAgent: Bool

    /// Takes a source and its values.
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

    /// Adds a transfer, which waits for nothing yet.
    func insert(_ transfer: Transfer) { transfers[transfer.job.id] = transfer }

    /// Gives the place of a transfer back, and takes the transfer out of every queue, so that it
    /// cannot begin again.
    func withdraw(_ transfer: Transfer) {
        dispatcher.release(transfer.job.id)
        dispatcher.remove(transfer.job.id)
    }

    /// Removes a transfer and reports the last event of its job.
    func end(_ transfer: Transfer, _ result: TransferResult) {
        let id = transfer.job.id
        withdraw(transfer)
        // A request that still ran would report to segments that are gone.
        transfer.segments?.dismiss(keeping: true)
        transfers[id] = nil
        report(transfer, .ended(result))
    }

    /// Releases the place of the transfer, if it has one, and queues its next request.
    ///
    /// - Parameter isPatient: whether it waits for the host even when the host does not respond.
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

    /// The next transfer that has got a place; nil when none can start.
    func nextToStart() -> Transfer? {
        while let id = dispatcher.next() {
            if let transfer = transfers[id], case .queued = transfer.state { return transfer }
            dispatcher.release(id)
        }
        return nil
    }

    /// The next transfer whose waiting time is over.
    func nextToWake() -> Transfer? {
        while let id = dispatcher.popWoken() {
            // A paused transfer continues when it is resumed.
            if let transfer = transfers[id], !transfer.isPaused, case .waiting = transfer.state {
                return transfer
            }
        }
        return nil
    }

    /// Gives a transfer with several sources the times until which their hosts must not be asked.
    func know(hostsOf transfer: Transfer) {
        guard transfer.job.sources.count > 1 else { return }
        transfer.machine?.know(
            closedFor: transfer.job.sources.map { dispatcher.timeClosed(Host($0.url)) })
    }

    func report(_ transfer: Transfer, _ event: TransferEvent) {
        observer.tell(transfer.job, event)
    }
}
