/// The loop of the transfer thread. It carries out the decisions of the state machines, and decides
/// nothing itself.
///
/// The dispatcher gives a submitted download a place (`TransferRegister`), and the download starts.
/// Its state machine asks for a request (TransferDriver.swift), which runs on the wire
/// (`ActiveRequests`). The wire reports heads and bytes inside `perform` and `resume`. These
/// reports change the state of their download, and never start or end a request. The engine passes
/// the request's end to the state machine (TransferEndings.swift). It also passes the results of
/// other threads (`TransferWork`), until the transfer ends. Only the transfer thread uses this
/// class.
final class TransferEngine {
    /// The dependencies of the engine: the real ones, or those of a simulation.
    struct Surroundings {
        let wire: any Wire
        let parts: any PartStore
        let observer: any TransferObserver
        let inbox: TransferInbox
        /// `workers`: threads that write and hash bytes. `readers`: threads that read parts.
        let workers: any Workers
        let readers: any Workers
        /// `remembered`: how many downloads at once suited each host in earlier runs.
        /// `remember`: receives the numbers of this run.
        var remembered: [Host: Int] = [:]
        var remember: @Sendable ([Host: Int]) -> Void = { _ in }
        var clock = SystemClock()
        /// Returns a random number from 0 to its argument.
        var jitter: @Sendable (Int64) -> Int64 = { Int64.random(in: 0...$0) }
    }

    let surroundings: Surroundings
    let policy: TransferPolicy
    let register: TransferRegister
    let requests: ActiveRequests
    let throttle: ReadingThrottle
    let work: TransferWork
    /// Maximum number of connections of one download.
    /// `nil` means that the engine finds the number by measurement.
    let segmentLimit: Int?
    /// The ids of the downloads that several connections may fetch.
    var segmented: Set<Int> = []
    /// The ids of the downloads whose connections wait for a review.
    var unreviewed: Set<Int> = []
    /// Measures the time since `paceSegments` last compared connections with received bytes.
    var paced = LoadMeter()
    /// The places in front of the sources that have failed.
    var places = FailedPlaces()
    /// The error that forbids any further request. `nil` means that requests are allowed.
    var refusal: MirrorError?
    /// Whether a write has found the disk full, so that only downloads with room for them begin.
    var isDiskFull = false
    /// Whether a message has asked the engine to stop.
    var isStopping = false
    /// Whether the loop reads no socket until its next iteration, because it has enough to do or
    /// must not receive more.
    private(set) var isHoldingBack = false
    /// How often the loop has turned.
    private(set) var iterations = 0
    private var ticked: LoadMeter

    init(_ configuration: Configuration, _ surroundings: Surroundings) {
        let clock = surroundings.clock
        let now = clock.monotonic()
        policy = configuration.transfer
        segmentLimit = configuration.segments
        work = TransferWork(
            parts: surroundings.parts, inbox: surroundings.inbox, workers: surroundings.workers,
            readers: surroundings.readers, clock: clock,
            stallTimeout: policy.stallTimeout.wholeSeconds)
        register = TransferRegister(
            Dispatcher(
                jobs: configuration.jobs, perHost: configuration.perHost,
                policy: policy, remembered: surroundings.remembered,
                now: now, jitter: surroundings.jitter),
            observer: surroundings.observer)
        throttle = ReadingThrottle(
            configuration, chunks: work.chunks, clock: clock)
        register.dispatcher.follow(rate: throttle.limits.rate)
        requests = ActiveRequests(surroundings.wire, of: register, now: now)
        ticked = LoadMeter(now: now, busy: clock.threadBusy())
        self.surroundings = surroundings
    }
}

// MARK: The loop

extension TransferEngine {
    /// Runs until a message asks to stop and every transfer has ended.
    func run() {
        while let time = iterate() {
            if isHoldingBack {
                surroundings.inbox.signal.wait(milliseconds: Int32(clamping: time))
            } else {
                surroundings.wire.wait(milliseconds: time)
            }
        }
        work.stop()
        surroundings.remember(register.dispatcher.learnedLimits)
    }

    /// Does all work that is possible now, and returns the milliseconds to wait.
    /// Returns nil when everything has ended. If `isHoldingBack` is set, the wait must read no
    /// socket.
    func iterate() -> Int64? {
        iterations += 1
        look(hasAsked: !isHoldingBack)
        isHoldingBack = false
        if surroundings.wire.networkHasReturned() { register.dispatcher.networkReturned() }
        listen()
        wakeWaiting()
        listen()
        startNext()
        if isDone { return nil }
        let pause = throttleDelay()
        if pause == 0 {
            exchange()
            reviewConnections()
            limitTotal()
            // Requests that ended have freed places. Other downloads get them before the loop
            // waits.
            listen()
            startNext()
        }
        tick()
        // The message to stop may be among those just handled, and its signal is already cleared.
        if isDone { return nil }
        // The bytes just read may have used up the limit, and libcurl watches no socket of a
        // transfer that was held back.
        return rest(pause > 0 ? pause : throttleDelay())
    }

    /// Whether a message has asked the engine to stop, and every transfer has ended.
    private var isDone: Bool { isStopping && register.downloads.isEmpty }

    /// Whether the engine is ending all downloads.
    private var endsAll: Bool { isStopping || refusal != nil }

    /// Reads from and writes to sockets, and handles the requests that end.
    private func exchange() {
        for active in requests.takeHeldBack() {
            let mayRead = !throttle.limits.isOverdrawn
            if let end = requests.goOn(active, mayRead: mayRead) { ended(end) }
        }
        surroundings.wire.perform()
        while let end = surroundings.wire.nextEnd() { ended(end) }
        for active in requests.takeMisplaced() { endMisplaced(active) }
    }

    private func rest(_ pause: Int64) -> Int64 {
        if pause > 0 {
            throttle.limits.wasHeldBack = true
            isHoldingBack = true
            return min(pause, AskingTime.look, surroundings.observer.timeToWait ?? pause)
        }
        look()
        return timeToWait
    }

    /// Returns for how many milliseconds the loop must leave all sockets unread.
    private func throttleDelay() -> Int64 {
        throttle.delay {
            requests.running.values.contains { active in
                guard let download = active.download else { return false }
                let backlog = active.segment.flatMap { download.segments?.backlog(of: $0) }
                return (backlog ?? download.body?.backlog ?? 0) > ReadingThrottle.backlogLimit
            }
        }
    }

    /// Milliseconds until the loop has work again, if no message or socket event arrives before.
    private var timeToWait: Int64 {
        // A request that the tick ended may have left connections to check.
        if !unreviewed.isEmpty || requests.hasResumable { return 0 }
        let isAsking = !requests.running.isEmpty || !work.files.isEmpty
        // Messages wake the loop between two ticks, and must not delay the next one.
        let elapsed = ticked.elapsed(now: surroundings.clock.monotonic())
        let longest = min(
            isAsking ? max(0, AskingTime.look - elapsed) : 60_000, timeToPace ?? 60_000,
            surroundings.observer.timeToWait ?? 60_000)
        return min(longest, register.dispatcher.timeToWait() ?? longest)
    }
}

// MARK: Messages

extension TransferEngine {
    /// Handles all messages, and gives the observer a turn to act on the resulting events.
    private func listen() {
        for message in surroundings.inbox.take() { message(self) }
        surroundings.observer.takeTurn()
    }

    /// Ends all downloads, and makes `run` return when they have ended.
    func stop() {
        isStopping = true
        for download in Array(register.downloads.values) { cancel(download, discardingPart: false) }
    }

    /// Continues a download after a worker's message.
    /// If the download was ended while the worker was busy, it ends now.
    func goOn(_ download: Download, _ next: () -> Void) {
        if download.hasEnded { return }
        // The download has failed already, and only waits for its last milestone.
        if case .settling = download.state { return }
        if let ending = download.earlyResult { return finish(download, ending) }
        next()
    }

    /// Fails a download after a worker's failure. A stopped pipeline also reports its waiting work.
    func broken(_ download: Download, _ error: MirrorError) {
        goOn(download) { failInMidst(download, error) }
    }

    /// Reports the result of an ending download whose last milestone was logged.
    func settled(_ download: Download) {
        guard !download.hasEnded, case .settling(let result) = download.state else { return }
        register.end(download, result)
    }

    /// Adds a download to the queue.
    func submit(_ download: Download) {
        download.stall = StallClock(timeout: policy.stallTimeout.wholeSeconds)
        places.leaveOutDown(of: &download.sources)
        register.insert(download)
        if let refusal {
            return register.end(download, .failed(refusal, download.cost))
        }
        if isStopping { return register.end(download, .cancelled(download.cost)) }
        register.waitForPlace(download)
    }

    /// Requests no more bytes of a download until it is resumed.
    /// A running download gives its place back if a later request can continue the download.
    /// Otherwise it keeps the place.
    func pause(_ id: Int) {
        guard let download = register.downloads[id], !download.isPaused else { return }
        download.isPaused = true
        switch download.state {
        case .queued, .waiting: register.dispatcher.remove(id)
        case .exchanging, .joined:
            requests.pause(id)
            breakOff(download)
        case .working, .reading, .settling: break
        }
    }

    /// Resumes a paused download.
    func resume(_ id: Int) {
        guard let download = register.downloads[id], download.isPaused else { return }
        download.isPaused = false
        switch download.state {
        case .exchanging, .joined: requests.resume(id)
        case .queued: register.waitForPlace(download)
        case .waiting(let until): register.dispatcher.delay(id, until: until)
        case .working, .reading, .settling: break
        }
    }

    /// Handles the program's answer: other credentials for a source, or the reason for having none.
    func renewed(_ download: Download, source: Int, _ headers: RenewedHeaders) {
        guard !download.hasEnded, case .waiting = download.state, download.plan?.source == source
        else { return }
        let reason: String?
        switch headers {
        case .headers(let headers):
            let old = download.sources[source]
            download.sources[source] = PreparedSource(
                url: old.url, key: old.key, headers: headers, place: old.place,
                relatives: old.relatives, signer: old.signer)
            reason = nil
        case .none(let why): reason = why
        }
        guard let action = download.machine?.renewed(without: reason) else { return }
        register.dispatcher.remove(download.id)
        act(action, download)
    }
}

// MARK: Starts

extension TransferEngine {
    /// Maximum number of downloads that start in one iteration. One start takes up to 0.06 ms.
    /// The limit lets handshakes and other requests under way go on.
    private static let mostAtATime = 4

    /// Starts downloads that have places, up to `mostAtATime`.
    /// While more transfers could start, the dispatcher's `timeToWait` is 0.
    private func startNext() {
        if isStopping { return }
        for _ in 0..<Self.mostAtATime {
            guard let download = register.nextToStart() else { return }
            start(download)
        }
    }

    /// Wakes downloads whose waiting time is over.
    private func wakeWaiting() {
        while let download = register.nextToWake() { decide(download) { $0.waited() } }
    }

    private func start(_ download: Download) {
        if let refusal {
            register.end(download, .failed(refusal, download.cost))
        } else if let plan = download.plan {
            request(plan, for: download)
        } else if isDiskFull, let reason = lackOfRoom(for: download) {
            register.end(download, .leftOut(reason, download.cost))
        } else if let part = download.part, download.postBody == nil {
            download.state = .working
            download.body = work.establish(part, for: download)
        } else {
            begin(download, part: nil)
        }
    }

    /// Begins the download after a worker has read and verified its part.
    func established(
        _ download: Download, file: PartFile?, length: Int64, rangesBeyond: [Range<Int64>] = []
    ) {
        goOn(download) { resume(download, file, length: length, rangesBeyond: rangesBeyond) }
    }

    /// Begins a download after its part, or at the start if no byte of the part can be used.
    private func resume(
        _ download: Download, _ file: PartFile?, length: Int64, rangesBeyond: [Range<Int64>]
    ) {
        guard let record = download.part, let pipeline = download.body?.pipeline else { return }
        download.body = nil
        guard let file, length > 0 else {
            do { try work.parts.discard(part: record.name) } catch {
                return fail(download, error)
            }
            return begin(download, part: nil)
        }
        download.body = IncomingBody(
            resuming: record, file: file, length: length, pipeline: pipeline, of: download,
            by: work)
        download.cost.bytesReused = length
        if let total = download.expectation.size ?? record.total, length <= total {
            let plan = Segmentation(total: total, front: length, rangesBeyond: rangesBeyond)
            download.cost.bytesReused = plan.heldBytes
            resumeSegments(plan, of: download)
        }
        begin(download, part: (record, length))
    }

    private func begin(_ download: Download, part: (record: PartRecord, length: Int64)?) {
        var machine = TransferMachine(
            target: download.target,
            sources: download.sources.map {
                CandidateSource(
                    url: $0.url, key: $0.key,
                    mayRenewCredentials: download.renew != nil || $0.signer?.keys != nil,
                    isSigned: $0.signer?.keys != nil,
                    place: $0.place, relatives: $0.relatives)
            },
            isPost: download.postBody != nil, expectation: download.expectation,
            local: download.local, part: part, policy: policy, jitter: surroundings.jitter)
        machine.know(gapEnd: download.segments?.state.plan.gapEnd)
        let known = register.dispatcher.hostProtocols
        if !known.isEmpty {
            for (position, source) in download.sources.enumerated() {
                if let protocols = known[Host(source.url)] { machine.know(protocols, of: position) }
            }
        }
        let action = machine.begin()
        download.machine = consume machine
        act(action, download)
    }
}

// MARK: Running requests

extension TransferEngine {
    /// Reads the clock for the dispatcher and the stall clocks. `hasAsked` says whether the loop
    /// has read sockets until now.
    private func look(hasAsked: Bool = true) {
        let now = surroundings.clock.monotonic()
        register.dispatcher.advance(to: now, hasRead: hasAsked)
        requests.look(now: now, hasAsked: hasAsked)
    }

    /// Reviews transfers whose number of connections may change.
    private func reviewConnections() {
        paceSegments()
        let ids = unreviewed
        unreviewed = []
        guard !endsAll else { return }
        for id in ids {
            guard let download = register.downloads[id] else { continue }
            decide(download, download.segments?.review())
        }
    }

    /// Ends all downloads when the run has received more bytes than its limit.
    private func limitTotal() {
        if !endsAll, let excess = throttle.excess { refuseAll(excess) }
    }

    /// Checks running downloads four times a second.
    private func tick() {
        let now = surroundings.clock.monotonic()
        let elapsed = ticked.elapsed(now: now)
        guard elapsed >= AskingTime.look else { return }
        look()
        throttle.followRate(now: now)
        register.dispatcher.follow(rate: throttle.limits.rate)
        if ticked.restart(now: now, busy: surroundings.clock.threadBusy()) {
            throttle.limits.wasHeldBack = true
        }
        defer { register.dispatcher.measure() }
        for active in requests.running.values {
            guard let download = active.download, requests.isRunning(active)
            else { continue }
            tick(active, of: download, now: now)
        }
        for reading in work.files.stalled(now: now) {
            stalled(reading)
        }
        lendPlaces()
        measureSegments(milliseconds: elapsed)
        throttle.limits.wasHeldBack = false
    }

    private func tick(_ active: ActiveRequest, of download: Download, now: Int64) {
        do throws(MirrorError) {
            if let segment = active.segment {
                try download.segments?.tick(segment, now: now)
            } else {
                try download.body?.tick(now: now)
            }
        } catch { return failInMidst(download, error) }
        tellProgress(download, now: now)
        register.dispatcher.received(active.arrivedBytes, by: active.id)
        active.arrivedBytes = 0
        let time = requests.asking.elapsed
        if active.stall.hasStalled(at: time) || active.isOverdue(at: time) { stalled(active) }
    }

    private func tellProgress(_ download: Download, now: Int64) {
        guard download.body != nil else { return }
        if download.isPaused { return download.meter.rest() }
        let bytes = download.heldBytes
        guard let rate = download.meter.read(length: bytes, now: now) else { return }
        register.report(
            download,
            .progress(
                bytes: bytes, size: download.machine?.reception?.total, bytesPerSecond: rate))
    }
}
