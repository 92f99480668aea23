/// One request for one representation: what is asked for, its bytes, its state and its cost.
///
/// A run makes it for a step of its plan and submits it to the `TransferEngine`, which carries it
/// to its end. Further requests for the same bytes (redirects, retries, other sources, connections
/// for segments) belong to the same download.
final class Download: @unchecked Sendable {
    // Sendable, because only the thread of transfers uses its variables once it is submitted. Other
    // threads read constants, and return the reference with their results.

    /// The event that the download waits for.
    enum State {
        /// The download waits for a place among the running downloads.
        case queued
        /// The download waits for a worker, which reads its part, or hashes.
        case working
        /// The download waits for a thread that reads its source file.
        case reading(FileReading)
        /// The download waits for libcurl.
        case exchanging(ActiveRequest)
        /// The download waits for its further connections. Its own one has nothing left to fetch.
        case joined
        /// The download waits until a time in milliseconds.
        case waiting(until: Int64)
        /// The download waits for the last milestone. Then the engine reports the result.
        case settling(TransferResult)
    }

    /// Unique in the loop.
    let id: Int
    /// The target of the bytes; it names the part, and appears in events and errors.
    let target: Target
    /// The sources in the order in which they are tried; never empty.
    ///
    /// Renewed credentials replace the headers of a source.
    var sources: [PreparedSource]
    /// The body of a POST. `nil` means that the request is a GET.
    let postBody: [UInt8]?
    /// The size, digests and media type that the bytes must have.
    let expectation: Expectation
    /// The version at the target, for a conditional request. `nil` makes the request unconditional.
    let local: LocalVersion?
    /// The part that may be resumed. The loop first cuts the part to its verified length.
    let part: PartRecord?
    /// Downloads with a higher priority run first.
    let priority: Int32
    /// Whether a failure of this download ends the run.
    /// After such a failure, no other download begins before the observer has handled it.
    let isDecisive: Bool
    /// Whether its bytes go into a part even if they are few, so that a later run can use them.
    let keepsPart: Bool
    /// Asks the program for other credentials after a 401. `nil` means that it has no others.
    let renew: CredentialRenewal?
    /// The limit that the bytes count against. `nil` means that the run has no limit.
    let allowance: ByteAllowance?
    /// Whether the download goes on when `allowance` is spent.
    let isUrgent: Bool

    var state = State.queued
    /// The state machine that decides each request.
    /// `nil` means that the verified length of an earlier part is not known yet.
    var machine: TransferMachine?
    /// The request that is under way, or comes next.
    var plan: RequestPlan?
    /// The bytes in hand.
    var body: IncomingBody?
    /// The connections and their ranges. `nil` means that the download uses one connection.
    var segments: TransferSegments?
    /// How many requests further connections made. The state machine does not count them.
    var segmentRequests = 0
    /// How many requests ended before they had a socket. They do not count.
    var requestsWithoutSocket = 0
    /// Up to which length a body of unknown size has room on the disk.
    var admittedLength: Int64 = 0
    var meter = ProgressMeter()
    var cost = TransferCost()
    var hasStarted = false
    var isPaused = false
    /// Whether the last event was reported. A worker's result that comes later is ignored.
    var hasEnded = false
    /// The result with which the download ends when the worker that is busy with it has answered.
    /// The reason is a cancellation, a full disk, or a limit of the run.
    var earlyResult: TransferResult?
    /// Whether the end of the download also discards its part.
    var discardsPart = false
    /// Asks a worker to stop early.
    private(set) lazy var cancellation = CancellationFlag()
    /// Detects that too few bytes come for too long, over all requests of the own connection.
    var stall = StallClock(timeout: .max)

    /// Makes a download that was not submitted yet.
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

    /// Whether the allowance is spent, so that no more bytes are taken until the run decides.
    var hasSpentAll: Bool { !isUrgent && allowance?.isSpent == true }

    /// Whether the response probably takes little more than a round trip.
    var isBrief: Bool {
        local != nil || expectation.size.map { $0 <= Int64(IncomingBody.memoryLimit) } ?? false
    }

    /// The store or cache of the request that is under way or comes next, in front of the sources.
    var place: String? { sources[plan?.source ?? 0].place }

    /// The host of the next request.
    var nextHost: Host { Host(plan?.url ?? sources[0].url) }

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

    /// Leaves the time until the next `read` out, because the download is paused.
    mutating func rest() { since = nil }
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
    /// The store or cache that it is at, if the user put it in front of the others.
    let place: String?
    /// The other places that a rewrite makes stand for the same URL, without queries.
    let relatives: [String]
    /// Signs the requests, if the source is an object in a bucket of S3.
    let signer: S3Signer?

    /// Makes a source with its header values.
    init(
        url: SourceURL, key: SourceKey, headers: [(name: String, value: String)],
        place: String? = nil, relatives: [String] = [], signer: S3Signer? = nil
    ) {
        self.url = url
        self.key = key
        self.headers = headers
        self.place = place
        self.relatives = relatives
        self.signer = signer
        namesUserAgent = headers.contains { $0.name.lowercased() == "user-agent" }
    }
}

extension PreparedSource {
    /// A file of a folder store.
    init(_ file: (url: SourceURL, place: String)) {
        self.init(
            url: file.url, key: SourceKey(file.url), headers: [], place: file.place)
    }
}

extension Substitutes {
    /// A source behind the places at which rewrites ask for its URL first.
    ///
    /// - Parameters:
    ///   - url: the source's own URL. All places are remembered by its key.
    ///   - headers: returns the headers for a URL.
    func sources(
        of url: SourceURL, headers: (SourceURL) -> [(name: String, value: String)]
    ) -> [PreparedSource] {
        var all: [(place: String?, url: SourceURL)] = places(of: url).map { ($0.place, $0.url) }
        all.append((nil, url))
        return all.map { place, address in
            PreparedSource(
                url: address, key: SourceKey(url), headers: headers(address), place: place,
                relatives: all.lazy.map(\.url.withoutSecrets)
                    .filter { $0 != address.withoutSecrets })
        }
    }
}

/// The downloads that have not ended, and the places that they have or wait for.
///
/// The dispatcher decides about places. A download that leaves the register gives its place back,
/// and its last event is reported.
final class TransferRegister {
    /// The downloads by their ids.
    private(set) var downloads: [Int: Download] = [:]
    var dispatcher: Dispatcher
    private let observer: any TransferObserver

    init(_ dispatcher: consuming Dispatcher, observer: any TransferObserver) {
        self.dispatcher = dispatcher
        self.observer = observer
    }

    /// Adds a download, but puts it into no queue.
    func insert(_ download: Download) { downloads[download.id] = download }

    /// Releases the place of a download and removes the download from every queue.
    /// So the download cannot begin again.
    func withdraw(_ download: Download) {
        dispatcher.release(download.id)
        dispatcher.remove(download.id)
    }

    /// Removes a download and reports its last event.
    func end(_ download: Download, _ result: TransferResult) {
        let id = download.id
        withdraw(download)
        // A further request that still runs would report to segments that no longer exist.
        download.segments?.dismiss(keeping: true)
        downloads[id] = nil
        download.hasEnded = true
        report(download, .ended(result))
        // The pipelines of both refer to the download.
        (download.body, download.segments) = (nil, nil)
    }

    /// Releases the place of the download, if it has one, and queues its next request.
    ///
    /// - Parameter isPatient: whether the download waits for the host even if the host does not
    ///   respond.
    func waitForPlace(_ download: Download, isPatient: Bool = false) {
        let id = download.id
        dispatcher.release(id)
        download.state = .queued
        if download.isPaused { return }
        dispatcher.add(
            id, priority: download.priority, host: download.nextHost,
            hasOthers: !isPatient && download.sources.count > 1,
            isBrief: download.isBrief, isProbe: download.place != nil)
    }

    /// Returns the next download that has got a place. Returns nil if no download can start.
    func nextToStart() -> Download? {
        while let id = dispatcher.next() {
            if let download = downloads[id], case .queued = download.state { return download }
            dispatcher.release(id)
        }
        return nil
    }

    /// Returns the next download whose wait is over. Returns nil if there is none.
    func nextToWake() -> Download? {
        while let id = dispatcher.popWoken() {
            // This skips a paused download, which continues when it is resumed.
            if let download = downloads[id], !download.isPaused, case .waiting = download.state {
                return download
            }
        }
        return nil
    }

    /// Passes to the machine of a download for how long each source's host must not be asked.
    /// Does nothing if the download has only one source.
    func know(hostsOf download: Download) {
        guard download.sources.count > 1 else { return }
        download.machine?.know(
            closedFor: download.sources.map { dispatcher.timeClosed(Host($0.url)) })
    }

    func report(_ download: Download, _ event: TransferEvent) {
        observer.tell(download, event)
    }
}
