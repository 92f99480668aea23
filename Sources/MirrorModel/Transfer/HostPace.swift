/// How many transfers one host gets at once, found by measuring instead of by asking the user.
///
/// It begins with eight, and doubles within a round trip or two as long as that brings more
/// (`OpeningRounds`), up to fifty connections. Where requests share a connection (HTTP/2) they cost the
/// host next to nothing, so small ones get a hundred streams at once.
///
/// After that the number is measured on: raised where that raises what comes in, lowered where that
/// loses nothing, because networks change. Few large files and many small ones have one measure: the
/// bytes that came in, and a fixed number for each transfer that ended, since a small file costs a
/// round trip and hardly any bytes. A time in which no transfer waited for a place says nothing
/// about the limit and is not counted. A host that says it has too much (429, 503) or hangs up gets half
/// of what it had.
package struct HostPace: Sendable {
    /// How long one measurement takes, in milliseconds.
    package static let window: Int64 = 500
    /// The number at the beginning.
    package static let start = 8
    /// The most connections to a host.
    package static let mostConnections = 50
    /// The most streams of HTTP/2, as many as servers usually allow on a connection.
    package static let mostStreams = 100
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
    private enum Phase: Sendable {
        /// The run has just begun with this host.
        case opening(OpeningRounds)
        /// Nothing is known of the present number.
        case measuring
        /// It was raised or lowered, and is held against the one before.
        case trying(from: Int, value: Double)
        /// It stays for so many windows more; then it is tried in the direction.
        case resting(windows: Int, value: Double, goesUp: Bool)
    }

    /// The most transfers at once for now.
    package private(set) var limit: Int
    /// The greatest limit that it may come to.
    package private(set) var most: Int
    private let ceiling: Int
    /// What it began with.
    private let first: Int
    private var phase: Phase
    /// Whether requests to this host were seen to share a connection.
    private(set) var sharesConnections = false
    private var isFirstClimb = true
    private var began: Int64?
    private var value: Int64 = 0
    private var wasFull = true
    private var backedOffAt = Int64.min

    /// - Parameters:
    ///   - ceiling: never more than so many, at least 1.
    ///   - liked: what a run before found out; nil where there was none.
    ///   - now: milliseconds.
    package init(ceiling: Int, liked: Int? = nil, now: Int64) {
        self.ceiling = max(1, ceiling)
        most = min(self.ceiling, HostPace.mostConnections)
        limit = min(max(1, liked ?? HostPace.start), most)
        first = limit
        phase = .opening(OpeningRounds(limit: limit, now: now))
    }

    /// What a later run should begin with; nil where this one has found nothing out.
    ///
    /// A host that complained gets as little as it got in the end. Of others a low number says only that
    /// few large files are as fast as many, and the next files may be small.
    package var liked: Int? {
        if backedOffAt != .min { return limit }
        switch phase {
        case .opening: return limit == first ? nil : max(limit, HostPace.start)
        case .trying(let from, _): return max(min(limit, from), HostPace.start)
        case .measuring, .resting: return max(limit, HostPace.start)
        }
    }

    /// Counts bytes of bodies.
    package mutating func received(_ bytes: Int) {
        value += Int64(bytes)
        open { rounds, _ in rounds.received(bytes) }
    }

    /// Counts a transfer that ended.
    ///
    /// - Parameter isFull: whether others wait for a place.
    package mutating func ended(isFull: Bool, now: Int64) {
        value += HostPace.endValue
        guard case .opening(var rounds) = phase else { return }
        let verdict = rounds.ended(limit: limit, most: most, isFull: isFull, now: now)
        phase = .opening(rounds)
        switch verdict {
        case .proceed: break
        case .grow(let number): limit = number
        case .settle(let number): settle(at: number, now: now)
        }
    }

    /// A connection stands, so many milliseconds after it was wanted. One for a small body lets another
    /// begin: most of the time that it takes is the line's.
    package mutating func connected(after time: Int64, isBrief: Bool, now: Int64) {
        open { rounds, limit in
            rounds.connected(after: time, now: now)
            if isBrief, limit < 2 * HostPace.start { limit += 1 }
        }
    }

    /// An answer came, so many milliseconds after it was asked for.
    package mutating func answered(after time: Int64) {
        open { rounds, _ in rounds.answered(after: time) }
    }

    /// Requests to this host share a connection, or could.
    package mutating func sharesConnection(isBrief: Bool, now: Int64) {
        guard !sharesConnections else { return }
        sharesConnections = true
        most = min(ceiling, HostPace.mostStreams)
        guard isBrief, case .opening = phase else { return }
        settle(at: most, now: now)
    }

    private mutating func open(_ change: (inout OpeningRounds, inout Int) -> Void) {
        guard case .opening(var rounds) = phase else { return }
        change(&rounds, &limit)
        limit = min(limit, most)
        phase = .opening(rounds)
    }

    private mutating func settle(at number: Int, now: Int64) {
        limit = number
        isFirstClimb = false
        phase = .resting(windows: HostPace.rest, value: 0, goesUp: number < most)
        begin(at: now)
    }

    /// Takes the time, and whether a transfer is waiting for a place with this host; changes the
    /// limit when a window is over and says so.
    package mutating func tick(now: Int64, isFull: Bool) {
        if case .opening(let rounds) = phase {
            // Long bodies: how many of them pay takes longer to find out.
            guard rounds.isOverdue(now: now) else { return }
            phase = .measuring
            return begin(at: now)
        }
        guard let began else { return begin(at: now) }
        wasFull = wasFull && isFull
        guard now - began >= HostPace.window else { return }
        // Nothing at all says nothing: the first bytes of long bodies may take longer.
        if wasFull, value > 0 { judge(Double(value) / Double(now - began)) }
        begin(at: now)
    }

    /// The host said that it has too much, or closed connections, in answer to a request that began then:
    /// those that had begun before the last time say it only once more.
    package mutating func backOff(requestBegan: Int64, now: Int64) {
        guard requestBegan >= backedOffAt else { return }
        backedOffAt = now
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
        case .opening: break
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
