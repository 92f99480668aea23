internal import CCurl
internal import MirrorModel

/// What runs on the transfer thread: it carries out what courses decide, and decides nothing.
///
/// Everything here belongs to that one thread. Callbacks of libcurl arrive inside `perform` and
/// `EasyHandle.goOn`; they change the state of their transfer, and never start or end one.
final class TransferEngine {
    /// Bytes of one transfer that may wait to be written and hashed.
    static let laneBacklogLimit = 4 << 20
    /// Bytes of all buffers that may be in use.
    let bufferLimit: Int
    /// Bytes of bodies in memory that may wait to be told of.
    private static let newsLimit = 4 << 20

    let configuration: Configuration
    let settings: TransferSettings
    let parts: any PartStore
    let admit: @Sendable (Int64, Target) -> MirrorError?
    let news: NewsRelay
    let inbox: TransferInbox
    let multis: MultiHandles
    let workers: WorkPool
    let copiers: WorkPool
    /// Not larger: the page cache takes what is written at once in as large a piece of memory, and in
    /// a virtual machine those are the ones that its host must find first. 256 KiB took twice the time.
    let chunks = ChunkPool(capacity: 64 << 10, kept: 64)

    var transfers: [Int: Transfer] = [:]
    var dispatcher: Dispatcher
    var exchanges: [UnsafeMutableRawPointer: Exchange] = [:]
    var idleHandles: [EasyHandle] = []
    var bucket: TokenBucket?
    var bytesReceived: Int64 = 0
    /// Why no request is made any more.
    var refusal: MirrorError?
    /// Hosts that asked for fewer requests: they get no further connections.
    var crowdedHosts: Set<Host> = []
    /// Hosts that may speak no HTTP/1.1.
    var choosers: Set<Host> = []
    /// Transfers whose number of connections is to be looked at.
    var unlooked: Set<Int> = []
    /// Transfers that several connections may fetch.
    var divided: Set<Int> = []
    /// When numbers of connections were last held against what came, and this thread's time until then.
    var pacedAt: Int64 = 0
    var busyAtPace: Int64 = 0
    /// Exchanges whose bytes wait within libcurl.
    var heldBack: [Exchange] = []
    var isPaused = false
    var isStopping = false
    /// Whether bytes were held back since the last tick, or came as fast as this thread can take
    /// them: more connections would not bring more.
    var wasHeldBack = false
    private var busyAtTick: Int64 = 0
    private var wasBusy = false
    private var tickedAt: Int64
    /// The time of stall clocks.
    var asking: AskingTime

    init(
        configuration: Configuration, parts: any PartStore,
        admit: @escaping @Sendable (Int64, Target) -> MirrorError?, news: NewsRelay,
        inbox: TransferInbox, workers: WorkPool, copiers: WorkPool
    ) {
        self.configuration = configuration
        self.parts = parts
        self.admit = admit
        self.news = news
        self.inbox = inbox
        multis = MultiHandles(connections: configuration.jobs, signal: inbox.signal)
        settings = TransferSettings(configuration)
        self.workers = workers
        self.copiers = copiers
        // Room for two buffers of each transfer at the least.
        bufferLimit = max(16 << 20, configuration.jobs * (128 << 10))
        tickedAt = SystemClock.monotonic()
        asking = AskingTime(now: tickedAt)
        dispatcher = Dispatcher(
            jobs: configuration.jobs, perHost: configuration.perHost,
            policy: RetryPolicy(configuration.transfer), now: tickedAt)
        bucket = configuration.rateLimit.map { TokenBucket(rate: $0, now: tickedAt) }
    }

    /// Runs until `stop` was asked for and every transfer has ended.
    func run() {
        while true {
            look()
            if multis.networkHasReturned() { dispatcher.networkReturned() }
            listen()
            wakeWaiting()
            listen()
            startNext()
            if isDone { break }
            let pause = breathe()
            if pause == 0 {
                letGo()
                multis.perform()
                while let end = multis.nextEnd() { ended(end.handle, end.result) }
                paceSegments()
                lookAfterSegments()
                limitTotal()
                // The free places are given away before anything is waited for.
                listen()
                startNext()
            }
            tick()
            tellIdle()
            // The message to stop may be among those that were taken just now; its signal is gone.
            if isDone { break }
            // What was just read may have used the limit up, and libcurl watches no socket of a
            // transfer that was held back.
            wait(pause > 0 ? pause : breathe())
        }
        workers.stop()
        copiers.stop()
    }

    /// Takes all messages, also those that follow from a failure that ends everything.
    private func listen() {
        repeat {
            for message in inbox.take() { take(message) }
        } while news.settleFailures()
    }

    private var isDone: Bool { isStopping && transfers.isEmpty }

    /// Takes the time for all that waits. Until now bytes were asked for.
    private func look(hasAsked: Bool = true) {
        let now = SystemClock.monotonic()
        dispatcher.advance(to: now)
        asking.look(now: now, hasAsked: hasAsked)
    }

    /// For how many milliseconds no socket is read: under the rate limit, while workers are behind,
    /// and while everything is paused.
    private func breathe() -> Int64 {
        if isPaused { return 1000 }
        if isBehind { return 2 }
        return bucket?.delay(now: SystemClock.monotonic()) ?? 0
    }

    private var isBehind: Bool {
        if chunks.bytesInUse > bufferLimit || news.bytesWaiting > Self.newsLimit { return true }
        // What waits in a lane is in a buffer.
        guard chunks.bytesInUse > Self.laneBacklogLimit else { return false }
        return exchanges.values.contains { exchange in
            guard let transfer = transfers[exchange.id] else { return false }
            let segment = exchange.segment.flatMap { transfer.segments?.helpers[$0] }
            return isBehind(segment?.writer.lane.backlog ?? transfer.body?.backlog ?? 0)
        }
    }

    /// Whether a lane with so many bytes waiting, or all together, have to catch up.
    func isBehind(_ backlog: Int) -> Bool {
        backlog > TransferEngine.laneBacklogLimit || chunks.bytesInUse > bufferLimit
    }

    /// Whether an exchange was held back in the midst of reading, and nobody paused it.
    private func mayGoOn(_ exchange: Exchange) -> Bool {
        exchange.isHeldBack && exchanges[exchange.easy.handle] === exchange
            && transfers[exchange.id]?.isPaused == false
    }

    /// Lets transfers go on that were held back.
    private func letGo() {
        guard !heldBack.isEmpty else { return }
        let waiting = heldBack
        heldBack = []
        for exchange in waiting {
            // The end of one may have been the end of others.
            guard exchange.isHeldBack, exchanges[exchange.easy.handle] === exchange else { continue }
            guard bucket?.isOverdrawn != true, mayGoOn(exchange) else {
                heldBack.append(exchange)
                continue
            }
            exchange.isHeldBack = false
            let result = exchange.easy.goOn()
            if result != CURLE_OK { ended(exchange.easy.handle, result) }
        }
    }

    private func wait(_ pause: Int64) {
        if pause > 0 {
            wasHeldBack = true
            inbox.signal.wait(milliseconds: Int32(clamping: min(pause, AskingTime.look)))
            look(hasAsked: false)
            return
        }
        look()
        multis.wait(milliseconds: timeToWait)
    }

    /// For how many milliseconds there is nothing to do unless somebody says something.
    private var timeToWait: Int64 {
        // What a tick ended may have left connections to look after.
        if !unlooked.isEmpty || heldBack.contains(where: mayGoOn) { return 0 }
        let longest = min(
            exchanges.isEmpty ? 60_000 : AskingTime.look, timeToPaceSegments ?? 60_000)
        return min(longest, dispatcher.timeToWait() ?? longest)
    }

    /// Looks after running transfers four times a second.
    private func tick() {
        let now = SystemClock.monotonic()
        let elapsed = now - tickedAt
        guard elapsed >= AskingTime.look else { return }
        look()
        tickedAt = now
        let busy = SystemClock.threadBusy()
        if (busy - busyAtTick) * 2 > elapsed { wasHeldBack = true }
        busyAtTick = busy
        defer { dispatcher.measure() }
        for exchange in exchanges.values {
            guard let transfer = transfers[exchange.id],
                exchanges[exchange.easy.handle] === exchange
            else { continue }
            do {
                if let segment = exchange.segment {
                    try tick(segment, of: transfer, now: now)
                } else {
                    try transfer.body?.tick(now: now)
                }
            } catch {
                failInMidst(transfer, error)
                continue
            }
            tellProgress(transfer, now: now)
            dispatcher.received(exchange.arrivedBytes, by: exchange.id)
            exchange.arrivedBytes = 0
            if exchange.stall.hasStalled(at: asking.elapsed)
                || exchange.isOverdue(at: asking.elapsed)
            {
                stalled(exchange)
            }
        }
        lendPlaces()
        measureSegments(milliseconds: elapsed)
        wasHeldBack = false
    }

    private func tellProgress(_ transfer: Transfer, now: Int64) {
        guard let course = transfer.course, transfer.body != nil else { return }
        let bytes = transfer.heldBytes
        guard let rate = transfer.meter.read(length: bytes, now: now) else { return }
        report(
            transfer,
            .progress(bytes: bytes, size: course.reception?.total, bytesPerSecond: rate))
    }

    /// Promotion closes its batch when nothing more is coming.
    private func tellIdle() {
        let isBusy = dispatcher.runningCount > 0
        if wasBusy, !isBusy { news.tellIdle() }
        wasBusy = isBusy
    }

    func report(_ transfer: Transfer, _ news: TransferNews) {
        self.news.tell(transfer.job, news)
    }
}
