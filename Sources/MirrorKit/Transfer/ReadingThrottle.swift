internal import Synchronization

/// Decides for how long no socket is read, and when a request must take no more bytes.
///
/// Bytes are held back for two reasons: a rate limit, and workers that are behind. The loop then
/// reads from no socket, so the senders notice it through TCP.
final class ReadingThrottle {
    /// Maximum number of bytes of one download that may wait to be written and hashed.
    static let backlogLimit = 4 << 20

    /// The limits on reading, with the bytes that count against them.
    var limits: ReadingLimits
    /// Maximum number of bytes of all buffers in use.
    private let bufferLimit: Int
    private let rateLimit: RateLimit?
    private let chunks: ChunkPool
    private let clock: SystemClock

    init(_ configuration: Configuration, chunks: ChunkPool, clock: SystemClock) {
        // At least two buffers fit for each download.
        bufferLimit = max(16 << 20, configuration.jobs * (128 << 10))
        rateLimit = configuration.limitRate
        limits = ReadingLimits(
            rate: configuration.limitRate?.rate(at: clock.now(), clock.offset),
            total: configuration.maxTransfer, now: clock.monotonic())
        self.chunks = chunks
        self.clock = clock
    }

    /// Returns for how many milliseconds the loop must leave all sockets unread.
    ///
    /// - Parameter hasBacklog: whether more than `backlogLimit` bytes of one connection wait to be
    ///   written and hashed.
    func delay(hasBacklog: () -> Bool) -> Int64 {
        limits.delay(isBehind: isBehind(hasBacklog), now: clock.monotonic())
    }

    private func isBehind(_ hasBacklog: () -> Bool) -> Bool {
        if chunks.bytesInUse > bufferLimit { return true }
        // Bytes that wait in a pipeline are in buffers, so no backlog is larger than all buffers.
        guard chunks.bytesInUse > Self.backlogLimit else { return false }
        return hasBacklog()
    }

    /// Returns whether a download must take no more bytes now, and notes that bytes are held back.
    /// `backlog` is the number of bytes that wait for its pipeline. Each write of libcurl needs
    /// this check: libcurl reads up to a hundred times in a row from one socket.
    func mustHoldBack(_ download: Download, backlog: Int) -> Bool {
        guard
            download.isPaused || backlog > Self.backlogLimit
                || chunks.bytesInUse > bufferLimit
                || limits.isOverdrawn || limits.exceededTotal != nil || download.hasSpentAll
        else { return false }
        limits.wasHeldBack = true
        return true
    }

    /// Counts received bytes of a body.
    func count(_ bytes: Int, for download: Download) {
        limits.take(bytes)
        download.allowance?.take(bytes)
        download.cost.bytesReceived += Int64(bytes)
    }

    /// Sets the rate that the limit has at this time of day.
    func followRate(now: Int64) {
        guard let rateLimit, rateLimit.changes else { return }
        limits.setRate(rateLimit.rate(at: clock.now(), clock.offset), now: now)
    }

    /// The error that ends the run if it has received more bytes than its limit; otherwise nil.
    var excess: MirrorError? {
        guard let limit = limits.exceededTotal else { return nil }
        let bytes = limits.bytesReceived
        return MirrorError(
            .transferLimit,
            "\(Counted(bytes, "byte")) \(Counted.verb(bytes, "was", "were")) received, the limit for a run is \(limit). Run again to go on."
        )
    }
}

/// How many body bytes the downloads of a run may receive, and how many they received.
///
/// The loop checks the limit before each write of libcurl, so a connection exceeds it by at most
/// one write. The thread of the run sets the limit, and decides what follows when it is reached.
final class ByteAllowance: Sendable {
    private let brought = Atomic<Int64>(0)
    private let limit = Atomic<Int64>(.max)
    private let reached: @Sendable () -> Void

    /// - Parameter reached: called by the loop when the limit is reached.
    init(reached: @escaping @Sendable () -> Void) { self.reached = reached }

    /// Number of bytes that came, including bytes that were dropped.
    var taken: Int64 { brought.load(ordering: .relaxed) }

    /// Sets how many bytes the whole run may receive.
    func allow(_ bytes: Int64) { limit.store(bytes, ordering: .relaxed) }

    /// Whether the limit is reached, so that no more bytes may come.
    var isSpent: Bool { taken >= limit.load(ordering: .relaxed) }

    func take(_ bytes: Int) {
        let before = isSpent
        brought.wrappingAdd(Int64(bytes), ordering: .relaxed)
        if !before, isSpent { reached() }
    }
}
