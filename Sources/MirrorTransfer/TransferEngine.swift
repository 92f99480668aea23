internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// The loop of the transfer thread. It carries out the decisions of the state machines, and decides
/// nothing itself.
///
/// The way of a transfer: a message submits its job (`TransferSteering`). The dispatcher gives it a
/// place (`TransferRegister`), and it starts (`TransferStarts`). Its state machine asks for a
/// request (`TransferDriver`), which runs on the wire (`ActiveRequests`). The wire reports heads and
/// bytes inside `perform` and `resume`; they change the state of their transfer, and never start or
/// end one (`ResponseIntake`). What the end of the request means (`RequestEnds`) goes to the state
/// machine, and so do the results of other threads (`TransferWork`, `WorkResults`), until the
/// transfer ends (`TransferEndings`). Everything here belongs to the one thread.
final class TransferEngine {
    /// The dependencies of the engine: the real ones, or those of a simulation.
    struct Surroundings {
        let wire: any Wire
        let parts: any PartStore
        let observer: any TransferObserver
        let inbox: TransferInbox
        /// Thread pools that write and hash bytes, and that read parts.
        let workers: any Workers
        let readers: any Workers
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

    private let surroundings: Surroundings
    let register: TransferRegister
    let throttle: ReadingThrottle
    let work: TransferWork
    private let requests: ActiveRequests
    private let connections: FurtherConnections
    private let steering: TransferSteering
    private let starts: TransferStarts
    private let ends: RequestEnds
    private let results: WorkResults
    private let watch: RequestWatch
    /// Whether no socket has been read since the last iteration.
    private var isHoldingBack = false

    init(_ configuration: Configuration, _ surroundings: Surroundings) {
        let (policy, clock) = (configuration.transfer, surroundings.clock)
        let now = clock.monotonic()
        let work = TransferWork(
            parts: surroundings.parts, inbox: surroundings.inbox, workers: surroundings.workers,
            readers: surroundings.readers, clock: clock,
            stallTimeout: policy.stallTimeout)
        let register = TransferRegister(
            Dispatcher(
                jobs: configuration.jobs, perHost: configuration.perHost,
                policy: RetryPolicy(policy), remembered: surroundings.remembered,
                now: now, jitter: surroundings.jitter),
            observer: surroundings.observer)
        let throttle = ReadingThrottle(
            configuration, chunks: work.chunks, observer: surroundings.observer, clock: clock)
        let requests = ActiveRequests(surroundings.wire, of: register, now: now)
        let connections = FurtherConnections(
            configuration, register: register, requests: requests, throttle: throttle, work: work)
        let endings = TransferEndings(of: register, requests: requests, work: work)
        let intake = ResponseIntake(connections, admit: surroundings.admit)
        let driver = TransferDriver(
            policy, register: register, requests: requests, intake: intake, endings: endings,
            work: work)
        starts = TransferStarts(
            connections, driver: driver, endings: endings, jitter: surroundings.jitter)
        results = WorkResults(
            of: register, driver: driver, starts: starts, endings: endings, intake: intake,
            work: work)
        ends = RequestEnds(
            policy, register: register, requests: requests, driver: driver, endings: endings,
            clock: clock)
        steering = TransferSteering(
            policy, register: register, requests: requests, driver: driver, endings: endings)
        watch = RequestWatch(
            connections, driver: driver, ends: ends, results: results, endings: endings,
            clock: clock)
        self.surroundings = surroundings
        self.register = register
        self.throttle = throttle
        self.work = work
        self.requests = requests
        self.connections = connections
    }
}

// MARK: The loop

extension TransferEngine {
    /// Runs until `stop` was asked for and every transfer has ended.
    func run() {
        while let rest = iterate() {
            switch rest {
            case .watching(let time): surroundings.wire.wait(milliseconds: time)
            case .holdingBack(let time):
                surroundings.inbox.signal.wait(milliseconds: Int32(clamping: time))
            }
        }
        work.stop()
        surroundings.remember(register.dispatcher.learnedLimits)
    }

    /// Does all work that is possible now, and returns how to wait; nil when everything has ended.
    func iterate() -> Rest? {
        watch.look(hasAsked: !isHoldingBack)
        isHoldingBack = false
        if surroundings.wire.networkHasReturned() { register.dispatcher.networkReturned() }
        listen()
        starts.wakeWaiting()
        listen()
        starts.startNext()
        if steering.isDone { return nil }
        let pause = throttleDelay()
        if pause == 0 {
            exchange()
            watch.reviewConnections()
            watch.limitTotal()
            // Free places are assigned before the loop waits.
            listen()
            starts.startNext()
        }
        watch.tick()
        // The message to stop may be among those just taken, and its signal is consumed.
        if steering.isDone { return nil }
        // The bytes just read may have used up the limit, and libcurl watches no socket of a
        // transfer that was held back.
        return rest(pause > 0 ? pause : throttleDelay())
    }

    /// Reads from and writes to sockets, and handles the requests that end.
    private func exchange() {
        for active in requests.takeHeldBack() {
            let mayRead = !throttle.limits.isOverdrawn
            if let end = requests.goOn(active, mayRead: mayRead) { ends.ended(end) }
        }
        surroundings.wire.perform()
        while let end = surroundings.wire.nextEnd() { ends.ended(end) }
        for active in requests.takeMisplaced() { ends.misplaced(active) }
    }

    private func rest(_ pause: Int64) -> Rest {
        if pause > 0 {
            throttle.limits.wasHeldBack = true
            isHoldingBack = true
            return .holdingBack(min(pause, AskingTime.look))
        }
        watch.look()
        if requests.running.isEmpty { surroundings.observer.rested() }
        return .watching(timeToWait)
    }

    /// The milliseconds for which no socket is read.
    private func throttleDelay() -> Int64 {
        throttle.delay {
            requests.running.values.contains { active in
                guard let transfer = register.transfers[active.id] else { return false }
                let backlog = active.segment.flatMap { transfer.segments?.backlog(of: $0) }
                return (backlog ?? transfer.body?.backlog ?? 0) > ReadingThrottle.backlogLimit
            }
        }
    }

    /// The milliseconds for which the loop has nothing to do unless a message arrives.
    private var timeToWait: Int64 {
        // A request that the tick ended may have left connections to check.
        if connections.needReview || requests.hasResumable { return 0 }
        let isAsking = !requests.running.isEmpty || !work.files.isEmpty
        let longest = min(
            isAsking ? AskingTime.look : 60_000, connections.timeToPace ?? 60_000)
        return min(longest, register.dispatcher.timeToWait() ?? longest)
    }
}

// MARK: Messages

extension TransferEngine {
    /// Takes all messages, and those that follow from a failure that ends everything.
    private func listen() {
        repeat {
            for message in surroundings.inbox.take() { take(message) }
        } while surroundings.observer.settleFailures()
    }

    private func take(_ message: TransferMessage) {
        switch message {
        case .submit(let jobs, let paused):
            for job in jobs { steering.submit(job) }
            for id in paused { steering.pause(id) }
        case .pause(let id): steering.pause(id)
        case .resume(let id): steering.resume(id)
        case .pauseAll: throttle.limits.isPaused = true
        case .resumeAll: throttle.limits.isPaused = false
        case .cancel(let ids, let discardingPart):
            steering.cancel(ids, discardingPart: discardingPart)
        case .cancelAll: steering.cancelAll()
        case .stop: steering.stop()
        case .established(let id, let file, let length, let rangesBeyond):
            results.established(id, file: file, length: length, rangesBeyond: rangesBeyond)
        case .hashed(let id, let digests, let piecesHold):
            results.hashed(id, digests, piecesHold: piecesHold)
        case .segmentHeld(let id): results.segmentHeld(id)
        case .settled(let id): results.settled(id)
        case .renewed(let id, let source, let headers):
            results.renewed(id, source: source, headers)
        case .broken(let id, let error): results.broken(id, error)
        case .file(let reading, let news): results.file(reading, news)
        }
    }
}

/// Starts transfers that have got a place, and wakes those whose waiting time is over.
///
/// A transfer starts with the part of an earlier run, if it has one: a worker establishes how much
/// of it can be trusted. Then its state machine begins.
final class TransferStarts {
    /// The most transfers that start at one time: a handshake, and what else is under way, goes on meanwhile.
    /// To start one takes up to 0.06 ms.
    private static let mostAtATime = 4

    private let register: TransferRegister
    private let connections: FurtherConnections
    private let driver: TransferDriver
    private let endings: TransferEndings
    private let work: TransferWork
    private let policy: TransferPolicy
    /// Picks a number from 0 to its argument.
    private let jitter: @Sendable (Int64) -> Int64

    init(
        _ connections: FurtherConnections, driver: TransferDriver, endings: TransferEndings,
        jitter: @escaping @Sendable (Int64) -> Int64
    ) {
        register = connections.register
        work = connections.work
        policy = connections.policy
        self.connections = connections
        self.driver = driver
        self.endings = endings
        self.jitter = jitter
    }

    /// Starts transfers as long as there are places, up to the most that start at one time. While there are
    /// more, the dispatcher lets nobody wait.
    func startNext() {
        guard !connections.throttle.limits.isPaused, !endings.isStopping else { return }
        for _ in 0..<Self.mostAtATime {
            guard let transfer = register.nextToStart() else { return }
            start(transfer)
        }
    }

    /// Wakes transfers whose waiting time is over.
    func wakeWaiting() {
        guard !connections.throttle.limits.isPaused else { return }
        while let transfer = register.nextToWake() { driver.decide(transfer) { $0.waited() } }
    }

    private func start(_ transfer: Transfer) {
        if let refusal = endings.refusal {
            register.end(transfer, .failed(refusal, transfer.cost))
        } else if let plan = transfer.plan {
            driver.request(plan, for: transfer)
        } else if let part = transfer.job.part, transfer.job.postBody == nil {
            transfer.state = .working
            transfer.body = work.establish(part, for: transfer)
        } else {
            begin(transfer, part: nil)
        }
    }

    /// Begins the transfer after its part was read.
    func established(
        _ transfer: Transfer, file: PartFile?, length: Int64, rangesBeyond: [Range<Int64>]
    ) {
        guard let record = transfer.job.part, let pipeline = transfer.body?.pipeline else { return }
        transfer.body = nil
        guard let file, length > 0 else {
            do { try work.parts.discard(part: record.name) } catch {
                return endings.fail(transfer, error)
            }
            return begin(transfer, part: nil)
        }
        transfer.body = IncomingBody(
            resuming: record, file: file, length: length, pipeline: pipeline, of: transfer,
            by: work)
        transfer.cost.bytesReused = length
        if let total = transfer.job.expectation.size ?? record.total, length <= total {
            let plan = Segmentation(total: total, front: length, rangesBeyond: rangesBeyond)
            transfer.cost.bytesReused = plan.heldBytes
            connections.resume(plan, of: transfer)
        }
        begin(transfer, part: (record, length))
    }

    private func begin(_ transfer: Transfer, part: (record: PartRecord, length: Int64)?) {
        let job = transfer.job
        var machine = TransferMachine(
            target: job.target,
            sources: job.sources.map {
                CandidateSource(
                    url: $0.url, key: $0.key, mayRenewCredentials: job.renew != nil)
            },
            isPost: job.postBody != nil, expectation: job.expectation, local: job.local,
            part: part, policy: policy, jitter: jitter)
        machine.know(gapEnd: transfer.segments?.state.plan.gapEnd)
        let known = register.dispatcher.hostProtocols
        if !known.isEmpty {
            for (position, source) in job.sources.enumerated() {
                if let protocols = known[Host(source.url)] { machine.know(protocols, of: position) }
            }
        }
        let action = machine.begin()
        transfer.machine = consume machine
        driver.act(action, transfer)
    }
}

/// Watches the running requests: stalls, progress, the number of connections, the run's limits.
///
/// Most of it is done four times a second.
final class RequestWatch {
    private let register: TransferRegister
    private let requests: ActiveRequests
    private let throttle: ReadingThrottle
    private let connections: FurtherConnections
    private let driver: TransferDriver
    private let ends: RequestEnds
    private let results: WorkResults
    private let endings: TransferEndings
    private let clock: LoopClock
    private var ticked: LoadMeter

    init(
        _ connections: FurtherConnections, driver: TransferDriver, ends: RequestEnds,
        results: WorkResults, endings: TransferEndings, clock: LoopClock
    ) {
        register = connections.register
        requests = connections.requests
        throttle = connections.throttle
        ticked = LoadMeter(now: clock.monotonic(), busy: clock.threadBusy())
        self.connections = connections
        self.driver = driver
        self.ends = ends
        self.results = results
        self.endings = endings
        self.clock = clock
    }

    /// Reads the clock for the dispatcher and the stall clocks. `hasAsked` says whether the loop
    /// has read sockets until now.
    func look(hasAsked: Bool = true) {
        let now = clock.monotonic()
        register.dispatcher.advance(to: now, hasRead: hasAsked)
        requests.look(now: now, hasAsked: hasAsked)
    }

    /// Reviews transfers whose number of connections may change.
    func reviewConnections() {
        connections.pace()
        guard !throttle.limits.isPaused else { return }
        let ids = connections.takeReviews()
        guard !endings.endsAll else { return }
        for id in ids {
            guard let transfer = register.transfers[id] else { continue }
            driver.decide(transfer, transfer.segments?.review())
        }
    }

    /// Ends all transfers when the run has received more bytes than its limit.
    func limitTotal() {
        if !endings.endsAll, let excess = throttle.excess { endings.refuseAll(excess) }
    }

    /// Checks running transfers four times a second.
    func tick() {
        let now = clock.monotonic()
        let elapsed = ticked.elapsed(now: now)
        guard elapsed >= AskingTime.look else { return }
        look()
        throttle.followRate(now: now)
        if ticked.restart(now: now, busy: clock.threadBusy()) {
            throttle.limits.wasHeldBack = true
        }
        defer { register.dispatcher.measure() }
        for active in requests.running.values {
            guard let transfer = register.transfers[active.id], requests.isRunning(active)
            else { continue }
            tick(active, of: transfer, now: now)
        }
        for reading in connections.work.files.stalled(now: now) {
            results.stalled(reading)
        }
        ends.lendPlaces()
        connections.measure(milliseconds: elapsed)
        throttle.limits.wasHeldBack = false
    }

    private func tick(_ active: ActiveRequest, of transfer: Transfer, now: Int64) {
        do throws(MirrorError) {
            if let segment = active.segment {
                try transfer.segments?.tick(segment, now: now)
            } else {
                try transfer.body?.tick(now: now)
            }
        } catch { return endings.failInMidst(transfer, error) }
        tellProgress(transfer, now: now)
        register.dispatcher.received(active.arrivedBytes, by: active.id)
        active.arrivedBytes = 0
        let time = requests.asking.elapsed
        if active.stall.hasStalled(at: time) || active.isOverdue(at: time) { ends.stalled(active) }
    }

    private func tellProgress(_ transfer: Transfer, now: Int64) {
        guard transfer.body != nil else { return }
        if transfer.isPaused || throttle.limits.isPaused { return transfer.meter.rest() }
        let bytes = transfer.heldBytes
        guard let rate = transfer.meter.read(length: bytes, now: now) else { return }
        register.report(
            transfer,
            .progress(
                bytes: bytes, size: transfer.machine?.reception?.total, bytesPerSecond: rate))
    }
}
