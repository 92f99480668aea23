/// Which transfers of a run the loop knows, and when it may be given more.
///
/// The loop is given a window of the transfers, in which each host has its share. While as much waits
/// for the disk as may, it is given none: the network can be faster than the disk.
struct TransferWindow: Sendable {
    /// Bounds on what waits for the promotion.
    private static let mostLandings = 4096
    private static let mostLandingBytes = 11 << 20

    private var feed = JobFeed()
    /// Steps whose transfers the loop has.
    private(set) var running: Set<Int> = []
    /// Steps whose transfers would have begun while the run was paused.
    private var held: [Int] = []
    private var isPaused = false
    private var landings = 0
    private var landingBytes = 0

    /// Fills the window's source.
    mutating func fill(_ feed: JobFeed) { self.feed = feed }

    /// The steps that may begin now; each `begins`, or `ended` without having begun.
    mutating func next() -> [Int] {
        guard feed.isRunningLow, landings < Self.mostLandings, landingBytes < Self.mostLandingBytes
        else { return [] }
        return feed.take()
    }

    /// Notes that a step's transfer begins; false when it is held back instead.
    mutating func begins(_ position: Int) -> Bool {
        if isPaused { held.append(position) } else { running.insert(position) }
        return !isPaused
    }

    /// Notes that a transfer waits: others may begin meanwhile.
    mutating func delayed(_ position: Int) { _ = feed.delayed(position) }

    /// Notes that the loop has done with a transfer, or never had it.
    mutating func ended(_ position: Int) {
        running.remove(position)
        _ = feed.ended(position)
    }

    /// Holds transfers back from now on.
    mutating func pause() { isPaused = true }

    /// Gives the transfers that were held back: they begin now.
    mutating func resume() -> [Int] {
        isPaused = false
        defer { held = [] }
        running.formUnion(held)
        return held
    }

    /// Takes one out of those that are held back; false when it is not among them.
    mutating func takeHeld(_ position: Int) -> Bool {
        guard let place = held.firstIndex(of: position) else { return false }
        held.remove(at: place)
        return true
    }

    /// Takes those that are held back, because none will begin.
    mutating func takeHeld() -> [Int] {
        defer { held = [] }
        return held
    }

    /// Takes all that were not begun, because none will be.
    mutating func takeRest() -> [Int] { feed.takeAll() }

    /// Notes that bytes are on their way to a final name.
    mutating func landingBegins(bytesInMemory: Int) {
        landings += 1
        landingBytes += bytesInMemory
    }

    /// Notes that a landing is over.
    mutating func landingEnded(bytesInMemory: Int) {
        landings -= 1
        landingBytes -= bytesInMemory
    }
}
