internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// Says for how long no socket is read, and when a request must take no more bytes.
///
/// Bytes are held back for three reasons: a rate limit, workers that are behind, and a pause of all
/// transfers. The loop then reads from no socket, so the senders notice it through TCP.
final class ReadingThrottle {
    /// Bytes of one transfer that may wait to be written and hashed.
    static let backlogLimit = 4 << 20

    /// The limits, and what counts against them.
    var limits: ReadingLimits
    /// Bytes of all buffers that may be in use.
    private let bufferLimit: Int
    private let rateLimit: RateLimit?
    private let chunks: ChunkPool
    private let clock: SystemClock

    init(_ configuration: Configuration, chunks: ChunkPool, clock: SystemClock) {
        // At least two buffers fit for each transfer.
        bufferLimit = max(16 << 20, configuration.jobs * (128 << 10))
        rateLimit = configuration.rateLimit
        limits = ReadingLimits(
            rate: configuration.rateLimit?.rate(at: clock.now(), clock.offset),
            total: configuration.transferLimit, now: clock.monotonic())
        self.chunks = chunks
        self.clock = clock
    }

    /// The milliseconds for which no socket is read.
    ///
    /// - Parameter hasBacklog: whether more than `backlogLimit` bytes of one connection wait to be
    ///   written and hashed.
    func delay(hasBacklog: () -> Bool) -> Int64 {
        limits.delay(isBehind: !limits.isPaused && isBehind(hasBacklog), now: clock.monotonic())
    }

    private func isBehind(_ hasBacklog: () -> Bool) -> Bool {
        if chunks.bytesInUse > bufferLimit { return true }
        // All bytes that wait in a pipeline are in buffers.
        guard chunks.bytesInUse > Self.backlogLimit else { return false }
        return hasBacklog()
    }

    /// Whether a transfer must take no more bytes now; `backlog` bytes wait for its pipeline.
    /// libcurl reads up to a hundred times in a row from a socket that has more.
    func mustHoldBack(_ transfer: Transfer, backlog: Int) -> Bool {
        guard
            transfer.isPaused || backlog > Self.backlogLimit
                || chunks.bytesInUse > bufferLimit
                || limits.isOverdrawn || limits.exceededTotal != nil || transfer.job.hasSpentAll
        else { return false }
        limits.wasHeldBack = true
        return true
    }

    /// Counts received bytes of a body.
    func count(_ bytes: Int, for transfer: Transfer) {
        limits.take(bytes)
        transfer.job.allowance?.take(bytes)
        transfer.cost.bytesReceived += Int64(bytes)
    }

    /// Takes the rate of another time of day.
    func followRate(now: Int64) {
        guard let rateLimit, rateLimit.changes else { return }
        limits.setRate(rateLimit.rate(at: clock.now(), clock.offset), now: now)
    }

    /// The error that ends the run, if it has received more bytes than its limit.
    var excess: MirrorError? {
        guard let limit = limits.exceededTotal else { return nil }
        let bytes = limits.bytesReceived
        return MirrorError(
            .transferLimit,
            "\(Counted(bytes, "byte")) \(Counted.verb(bytes, "was", "were")) received, the limit for a run is \(limit). Run again to go on."
        )
    }
}

/// How many body bytes the transfers of a run may bring, and how many they brought.
///
/// The loop takes from it before each write of libcurl, so at most one write a connection goes beyond.
/// The run says how many are allowed, and decides what follows.
final class ByteAllowance: Sendable {
    private let brought = Atomic<Int64>(0)
    private let limit = Atomic<Int64>(.max)
    private let reached: @Sendable () -> Void

    /// - Parameter reached: called by the loop when the limit is reached.
    init(reached: @escaping @Sendable () -> Void) { self.reached = reached }

    /// The bytes that came, those that were dropped included.
    var taken: Int64 { brought.load(ordering: .relaxed) }

    /// Sets how many bytes may come in the whole run.
    func allow(_ bytes: Int64) { limit.store(bytes, ordering: .relaxed) }

    /// Whether no more bytes may come.
    var isSpent: Bool { taken >= limit.load(ordering: .relaxed) }

    func take(_ bytes: Int) {
        let before = isSpent
        brought.wrappingAdd(Int64(bytes), ordering: .relaxed)
        if !before, isSpent { reached() }
    }
}
