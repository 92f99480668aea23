/// The transfers of a run that the loop knows, and the rule for giving it more.
///
/// The loop gets a window of the transfers, in which each host has its share. While the permitted
/// number of files or bytes waits for the disk, the loop gets no more: the network can be faster
/// than the disk.
struct TransferWindow: Sendable {
    /// The greatest number of files, and of their bytes in memory, that wait for the promotion.
    private static let mostLandings = 4096
    private static let mostLandingBytes = 8 << 20
    /// How many transfers go ahead of all others: connections are made for them while the others are
    /// prepared.
    private static let mostAtFirst = 32

    private var feed = JobFeed()
    private var hasBegun = false
    /// Steps whose transfers the loop has.
    private(set) var running = PositionSet()
    /// Steps whose transfers became ready to begin while the run was paused.
    private(set) var held: [Int] = []
    private var isPaused = false
    private var landings = 0
    private var landingBytes = 0

    /// Sets the feed that the window takes its transfers from.
    mutating func fill(_ feed: JobFeed) { self.feed = feed }

    /// Adds transfers that may take their turns too.
    mutating func add(_ turns: some Sequence<(position: Int, priority: Int32, host: Host)>) {
        feed.add(turns)
    }

    /// Returns the steps that may begin now.
    ///
    /// The caller reports each with `begins`, or with `ended` if it did not begin.
    mutating func next() -> [Int] {
        guard feed.isRunningLow, landings < Self.mostLandings, landingBytes < Self.mostLandingBytes
        else { return [] }
        defer { hasBegun = true }
        return feed.take(atMost: hasBegun ? .max : Self.mostAtFirst)
    }

    /// Records that a step's transfer begins; false when the transfer is held back instead.
    mutating func begins(_ position: Int) -> Bool {
        if isPaused { held.append(position) } else { running.insert(position) }
        return !isPaused
    }

    /// Records that a transfer waits; others may begin meanwhile.
    mutating func delayed(_ position: Int) { _ = feed.delayed(position) }

    /// Records that the loop has finished a transfer, or never had it.
    mutating func ended(_ position: Int) {
        running.remove(position)
        _ = feed.ended(position)
    }

    /// Holds transfers back from now on.
    mutating func pause() { isPaused = true }

    /// Ends the pause and returns the transfers that were held back; they begin now.
    mutating func resume() -> [Int] {
        isPaused = false
        defer { held = [] }
        running.insert(held)
        return held
    }

    /// Whether a pause holds a transfer back.
    func isHeld(_ position: Int) -> Bool { held.contains(position) }

    /// Removes one transfer from those held back; false when it is not among them.
    mutating func takeHeld(_ position: Int) -> Bool {
        guard let place = held.firstIndex(of: position) else { return false }
        held.remove(at: place)
        return true
    }

    /// Removes and returns all transfers held back, because none of them will begin.
    mutating func takeHeld() -> [Int] {
        defer { held = [] }
        return held
    }

    /// Removes and returns all transfers that were not begun, because none of them will be.
    mutating func takeRest() -> [Int] { feed.takeAll() }

    /// Records that bytes are on their way to a final name.
    mutating func landingBegins(bytesInMemory: Int) {
        landings += 1
        landingBytes += bytesInMemory
    }

    /// Records that such a landing has ended.
    mutating func landingEnded(bytesInMemory: Int) {
        landings -= 1
        landingBytes -= bytesInMemory
    }
}
