internal import MirrorModel
internal import MirrorSystem

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
