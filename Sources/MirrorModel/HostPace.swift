/// How many transfers one host gets at once, found by measuring instead of by asking the user.
///
/// The number is raised as long as that raises what comes in, goes back to the last one that paid,
/// stays there for a while, and is tried again one step higher and one step lower, because networks
/// change. Few large files and many small ones have one measure: the bytes that came in, and a
/// fixed number for each transfer that ended, since a small file costs a round trip and hardly any
/// bytes. A window in which no transfer waited for a place says nothing about the limit and is not
/// counted. A host that says it has too much (429, 503) or hangs up gets half of what it had.
public struct HostPace: Sendable {
    /// How long one measurement takes, in milliseconds.
    public static let window: Int64 = 500
    /// The number at the beginning.
    public static let start = 4
    /// What the end of a transfer counts for, in bytes.
    static let endValue: Int64 = 64 << 10
    /// By how much more must come in for a higher number to have paid.
    static let gain = 1.08
    /// How much of it may be lost for a lower number to be as good.
    static let loss = 0.98
    /// How many windows the number stays after a step that did not pay.
    static let rest = 12
    /// How many windows it stays after the host had too much.
    static let penance = 50

    /// What the number is changed for.
    private enum Phase: Sendable, Hashable {
        /// Nothing is known of the present number.
        case measuring
        /// It was raised or lowered, and is held against the one before.
        case trying(from: Int, value: Double)
        /// It stays for so many windows more; then it is tried in the direction.
        case resting(windows: Int, value: Double, goesUp: Bool)
    }

    /// The most transfers at once for now.
    public private(set) var limit: Int
    private let most: Int
    private var phase = Phase.measuring
    private var isFirstClimb = true
    private var began: Int64?
    private var value: Int64 = 0
    private var wasFull = true

    /// - Parameter most: never more than so many, at least 1.
    public init(most: Int) {
        self.most = max(1, most)
        limit = min(HostPace.start, self.most)
    }

    /// Counts bytes of bodies.
    public mutating func received(_ bytes: Int) { value += Int64(bytes) }

    /// Counts a transfer that ended.
    public mutating func ended() { value += HostPace.endValue }

    /// Takes the time, and whether a transfer is waiting for a place with this host; changes the
    /// limit when a window is over and says so.
    public mutating func tick(now: Int64, isFull: Bool) {
        guard let began else { return begin(at: now) }
        wasFull = wasFull && isFull
        guard now - began >= HostPace.window else { return }
        if wasFull { judge(Double(value) / Double(now - began)) }
        begin(at: now)
    }

    /// The host said that it has too much, or closed connections.
    public mutating func backOff(now: Int64) {
        limit = max(1, limit / 2)
        isFirstClimb = false
        phase = .resting(windows: HostPace.penance, value: 0, goesUp: true)
        begin(at: now)
    }

    private mutating func begin(at now: Int64) {
        began = now
        value = 0
        wasFull = true
    }

    private mutating func judge(_ rate: Double) {
        switch phase {
        case .measuring: tryUp(from: rate)
        case .trying(let from, let before):
            let hasPaid =
                limit > from ? rate >= before * HostPace.gain : rate >= before * HostPace.loss
            guard hasPaid else {
                isFirstClimb = false
                let goesUp = limit < from
                limit = from
                phase = .resting(windows: HostPace.rest, value: before, goesUp: goesUp)
                return
            }
            if limit > from { tryUp(from: rate) } else { tryDown(from: rate) }
        case .resting(let windows, let value, let goesUp):
            guard windows <= 1 else {
                // The newest measurement counts: networks change.
                let value = value == 0 ? rate : (3 * value + rate) / 4
                phase = .resting(windows: windows - 1, value: value, goesUp: goesUp)
                return
            }
            if goesUp { tryUp(from: rate) } else { tryDown(from: rate) }
        }
    }

    private mutating func tryUp(from rate: Double) {
        let higher = min(most, isFirstClimb ? limit * 2 : limit + max(1, limit / 4))
        guard higher > limit else {
            phase = .resting(windows: HostPace.rest, value: rate, goesUp: false)
            return
        }
        phase = .trying(from: limit, value: rate)
        limit = higher
    }

    private mutating func tryDown(from rate: Double) {
        let lower = max(1, limit - max(1, limit / 4))
        guard lower < limit else {
            phase = .resting(windows: HostPace.rest, value: rate, goesUp: true)
            return
        }
        phase = .trying(from: limit, value: rate)
        limit = lower
    }
}
