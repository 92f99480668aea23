internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// Runs on the transfer thread and carries out the decisions of the state machines.
///
/// It decides nothing itself, and everything here belongs to that one thread. Callbacks of libcurl
/// arrive inside `perform` and `EasyHandle.resume`. They change the state of their transfer, and
/// never start or end one.
final class TransferEngine {
    /// Bytes of one transfer that may wait to be written and hashed.
    static let pipelineBacklogLimit = 4 << 20
    /// Bytes of all buffers that may be in use.
    let bufferLimit: Int
    /// Bytes of in-memory bodies that may wait in the observer.
    private static let eventLimit = 4 << 20

    /// The dependencies of the engine: the real ones, or those of a simulation.
    struct Surroundings {
        let wire: any Wire
        let parts: any PartStore
        let observer: any TransferObserver
        let inbox: TransferInbox
        /// Thread pools that write and hash bytes, and that read files and parts.
        let workers: any Workers
        let copiers: any Workers
        /// Returns the error that forbids a number of further bytes of a target; nil allows them.
        let admit: @Sendable (Int64, Target) -> MirrorError?
        /// The number of transfers at once that suited each host in earlier runs. `remember`
        /// receives the numbers of this run.
        var remembered: [Host: Int] = [:]
        var remember: @Sendable ([Host: Int]) -> Void = { _ in }
        var clock = LoopClock()
        /// Picks a number from 0 to its argument.
        var jitter: @Sendable (Int64) -> Int64 = { Int64.random(in: 0...$0) }
    }

    /// How the loop waits until there is work again, with a limit in milliseconds.
    enum Rest: Equatable {
        /// It waits for sockets and for messages.
        case watching(Int64)
        /// It reads no socket, because it has enough to do or must not receive more.
        case holdingBack(Int64)
    }

    let configuration: Configuration
    private let surroundings: Surroundings
    var wire: any Wire { surroundings.wire }
    var parts: any PartStore { surroundings.parts }
    var inbox: TransferInbox { surroundings.inbox }
    var workers: any Workers { surroundings.workers }
    var copiers: any Workers { surroundings.copiers }
    var clock: LoopClock { surroundings.clock }
    private var observer: any TransferObserver { surroundings.observer }
    /// The capacity must not be larger. The page cache takes each write in a piece of memory of the
    /// same size, and in a virtual machine the host must find large pieces first. 256 KiB took
    /// twice the time.
    package let chunks = ChunkPool(capacity: 64 << 10, kept: 64)

    var transfers: [Serial: Transfer] = [:]
    package var dispatcher: Dispatcher
    /// The requests that run on the wire, by number.
    var activeRequests: [Serial: ActiveRequest] = [:]
    private var requestsMade = 0
    /// The limits on reading from sockets.
    var reading: ReadingLimits
    /// The error that forbids any further request; nil while requests are allowed.
    var refusal: MirrorError?
    /// Transfers that several connections may fetch.
    var segmented = SegmentedTransfers()
    /// Active requests whose bytes wait within libcurl.
    var heldBack: [ActiveRequest] = []
    var isStopping = false
    /// Whether no socket has been read since the last iteration.
    private var isHoldingBack = false
    private var ticked: LoadMeter
    /// The time of stall clocks.
    var asking: AskingTime

    init(_ configuration: Configuration, _ surroundings: Surroundings) {
        self.configuration = configuration
        self.surroundings = surroundings
        // At least two buffers fit for each transfer.
        bufferLimit = max(16 << 20, configuration.jobs * (128 << 10))
        let now = surroundings.clock.monotonic()
        ticked = LoadMeter(now: now)
        asking = AskingTime(now: now)
        reading = ReadingLimits(
            rate: configuration.rateLimit?.rate(
                at: surroundings.clock.now(), surroundings.clock.offset),
            total: configuration.transferLimit, now: now)
        dispatcher = Dispatcher(
            jobs: configuration.jobs, perHost: configuration.perHost,
            policy: RetryPolicy(configuration.transfer), remembered: surroundings.remembered,
            now: now, jitter: surroundings.jitter)
    }

    /// Runs until `stop` was asked for and every transfer has ended.
    func run() {
        while let rest = iterate() {
            switch rest {
            case .watching(let time): wire.wait(milliseconds: time)
            case .holdingBack(let time): inbox.signal.wait(milliseconds: Int32(clamping: time))
            }
        }
        workers.stop()
        copiers.stop()
        surroundings.remember(dispatcher.learnedLimits)
    }

    /// Does all work that is possible now, and returns how to wait; nil when everything has ended.
    func iterate() -> Rest? {
        look(hasAsked: !isHoldingBack)
        isHoldingBack = false
        if wire.networkHasReturned() { dispatcher.networkReturned() }
        listen()
        wakeWaiting()
        listen()
        startNext()
        if isDone { return nil }
        let pause = throttleDelay()
        if pause == 0 {
            resumeThrottled()
            wire.perform()
            while let end = wire.nextEnd() { ended(end) }
            paceSegments()
            lookAfterSegments()
            limitTotal()
            // Free places are assigned before the loop waits.
            listen()
            startNext()
        }
        tick()
        // The message to stop may be among those just taken, and its signal is consumed.
        if isDone { return nil }
        // The bytes just read may have used up the limit, and libcurl watches no socket of a
        // transfer that was held back.
        return rest(pause > 0 ? pause : throttleDelay())
    }

    private func rest(_ pause: Int64) -> Rest {
        if pause > 0 {
            reading.wasHeldBack = true
            isHoldingBack = true
            return .holdingBack(min(pause, AskingTime.look))
        }
        look()
        return .watching(timeToWait)
    }

    /// Makes a request with the next number.
    func makeRequest(for transfer: Transfer, segment: Int?, stall: StallClock) -> ActiveRequest {
        requestsMade += 1
        return ActiveRequest(
            number: requestsMade, id: transfer.job.id, segment: segment, listener: self,
            stall: stall)
    }

    /// Takes all messages, and those that follow from a failure that ends everything.
    private func listen() {
        repeat {
            for message in inbox.take() { take(message) }
        } while observer.settleFailures()
    }

    private var isDone: Bool { isStopping && transfers.isEmpty }

    /// Reads the clock for the dispatcher and the stall clocks. `hasAsked` says whether the loop
    /// has read sockets until now.
    private func look(hasAsked: Bool = true) {
        let now = clock.monotonic()
        dispatcher.advance(to: now)
        asking.look(now: now, hasAsked: hasAsked)
    }

    /// The milliseconds for which no socket is read. A pause has three causes: the rate limit,
    /// workers that are behind, and a pause of all transfers.
    private func throttleDelay() -> Int64 {
        reading.delay(isBehind: !reading.isPaused && isBehind, now: clock.monotonic())
    }

    private var isBehind: Bool {
        if chunks.bytesInUse > bufferLimit || observer.bytesWaiting > Self.eventLimit {
            return true
        }
        // All bytes that wait in a pipeline are in buffers.
        guard chunks.bytesInUse > Self.pipelineBacklogLimit else { return false }
        return activeRequests.values.contains { active in
            guard let transfer = transfers[active.id] else { return false }
            let writer = active.segment.flatMap { transfer.segments?.writers[$0] }
            return (writer?.pipeline.backlog ?? transfer.body?.backlog ?? 0)
                > Self.pipelineBacklogLimit
        }
    }

    /// Whether a transfer must take no more bytes now; `backlog` bytes wait for its pipeline.
    /// libcurl reads up to a hundred times in a row from a socket that has more.
    func mustHoldBack(_ transfer: Transfer, backlog: Int) -> Bool {
        guard
            transfer.isPaused || backlog > Self.pipelineBacklogLimit
                || chunks.bytesInUse > bufferLimit
                || reading.isOverdrawn || reading.exceededTotal != nil
        else { return false }
        reading.wasHeldBack = true
        return true
    }

    /// Whether an active request was held back while it read, and its transfer is not paused.
    private func mayGoOn(_ active: ActiveRequest) -> Bool {
        active.isHeldBack && activeRequests[active.number] === active
            && transfers[active.id]?.isPaused == false
    }

    /// Resumes active requests that were held back.
    private func resumeThrottled() {
        guard !heldBack.isEmpty else { return }
        let waiting = heldBack
        heldBack = []
        for active in waiting {
            // The end of one request may have ended others.
            guard active.isHeldBack, activeRequests[active.number] === active else { continue }
            guard !reading.isOverdrawn, mayGoOn(active) else {
                heldBack.append(active)
                continue
            }
            active.isHeldBack = false
            if let end = wire.resume(active) { ended(end) }
        }
    }

    /// The milliseconds for which the loop has nothing to do unless a message arrives.
    private var timeToWait: Int64 {
        // A request that the tick ended may have left connections to check.
        if segmented.hasUnlooked || heldBack.contains(where: mayGoOn) { return 0 }
        let longest = min(
            activeRequests.isEmpty ? 60_000 : AskingTime.look, timeToPaceSegments ?? 60_000)
        return min(longest, dispatcher.timeToWait() ?? longest)
    }

    /// Checks running transfers four times a second.
    private func tick() {
        let now = clock.monotonic()
        let elapsed = ticked.elapsed(now: now)
        guard elapsed >= AskingTime.look else { return }
        look()
        followRate(now: now)
        if ticked.restart(now: now, busy: clock.threadBusy()) { reading.wasHeldBack = true }
        defer { dispatcher.measure() }
        for active in activeRequests.values {
            guard let transfer = transfers[active.id],
                activeRequests[active.number] === active
            else { continue }
            do {
                if let segment = active.segment {
                    try tick(segment, of: transfer, now: now)
                } else {
                    try transfer.body?.tick(now: now)
                }
            } catch {
                failInMidst(transfer, error)
                continue
            }
            tellProgress(transfer, now: now)
            dispatcher.received(active.arrivedBytes, by: active.id)
            active.arrivedBytes = 0
            if active.stall.hasStalled(at: asking.elapsed)
                || active.isOverdue(at: asking.elapsed)
            {
                stalled(active)
            }
        }
        lendPlaces()
        measureSegments(milliseconds: elapsed)
        reading.wasHeldBack = false
    }

    /// Takes the rate of another time of day.
    private func followRate(now: Int64) {
        guard let limit = configuration.rateLimit, limit.changes else { return }
        reading.setRate(limit.rate(at: clock.now(), clock.offset), now: now)
    }

    private func tellProgress(_ transfer: Transfer, now: Int64) {
        guard transfer.body != nil else { return }
        if transfer.isPaused || reading.isPaused { return transfer.meter.rest() }
        let bytes = transfer.heldBytes
        guard let rate = transfer.meter.read(length: bytes, now: now) else { return }
        report(
            transfer,
            .progress(
                bytes: bytes, size: transfer.machine?.reception?.total, bytesPerSecond: rate))
    }

    func report(_ transfer: Transfer, _ event: TransferEvent) {
        observer.tell(transfer.job, event)
    }

    /// Returns the error that forbids `bytes` further bytes of a target; nil where they are
    /// allowed.
    func refusal(of bytes: Int64, for target: Target) -> MirrorError? {
        surroundings.admit(bytes, target)
    }

    /// Picks a number from 0 to its argument.
    var jitter: @Sendable (Int64) -> Int64 { surroundings.jitter }
}
