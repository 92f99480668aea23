/// How many transfers one host gets at once, found by measurement.
///
/// It begins with eight, and doubles within a round trip or two as long as that brings more
/// (`OpeningRounds`), up to 64 connections. Where requests share a connection (HTTP/2) they cost
/// the host next to nothing, so small ones get all the streams of a connection at once.
///
/// After that the measurement continues, because networks change: the number is raised where that
/// raises the received amount, and lowered where that loses nothing. Few large files and many small
/// ones have one measure: the bytes received, and a fixed number for each transfer that ended,
/// since a small file costs a round trip and hardly any bytes. A time in which no transfer waited
/// for a place says nothing about the limit and is not counted. A host that reports overload (429,
/// 503), hangs up, or answers others while a request stalls, gets half of its former number.
package struct HostPace: Sendable {
    /// How long one measurement takes, in milliseconds.
    package static let window: Int64 = 500
    /// The number at the beginning.
    package static let start = 8
    /// The most connections to a host.
    ///
    /// With fewer, 500 small files over a long line take a fifth longer: 50 connections need eleven
    /// round trips for them, 64 need nine.
    package static let mostConnections = 64
    /// The most streams of HTTP/2, as many as servers usually allow on a connection.
    ///
    /// For each request above what a server allows, libcurl may open a connection of its own: 1,500
    /// requests, 128 at once, made up to 65 connections to a server that allows 100.
    package static let mostStreams = 100
    /// The most requests that begin because others have their connections. On a long line there is
    /// no such bound.
    static let mostEarly = 16
    /// The most requests that begin because no response has come.
    static let mostUnanswered = 32
    /// The time from the first connection until the line is taken for a long one, because no
    /// response has come; in milliseconds.
    ///
    /// A proxy near by connects at once, however long the line behind it is.
    static let silence: Int64 = 10
    /// The time for a new connection that makes a line a long one, in milliseconds.
    static let longConnecting: Int64 = 20
    /// The value of a transfer's end, in bytes.
    static let endValue: Int64 = 64 << 10
    /// The factor by which the received amount must grow for a higher number to have paid.
    static let gain = 1.08
    /// The factor to which the received amount may fall for a lower number to be as good.
    static let loss = 0.98
    /// How many windows the number stays after a step that did not pay.
    static let rest = 12
    /// How many windows it stays after the host reported overload.
    static let cooldownWindows = 50

    /// The present reason to keep or change the number.
    private enum Phase: Sendable {
        /// The run has just begun with this host.
        case opening(OpeningRounds)
        /// Nothing is known of the present number.
        case measuring
        /// It was raised or lowered, and is compared with the number before.
        case trying(from: Int, value: Double)
        /// It stays for `windows` more windows; then a step in the direction is tried.
        case resting(windows: Int, value: Double, goesUp: Bool)
    }

    /// The most transfers at once for now.
    package private(set) var limit: Int
    /// The greatest value that the limit may reach.
    package private(set) var most: Int
    private let ceiling: Int
    /// The limit at the beginning.
    private let first: Int
    private var phase: Phase
    /// Whether requests to this host have shared a connection.
    private(set) var sharesConnections = false
    private var mayShare = true
    private var isFirstClimb = true
    private var began: Int64?
    private var value: Int64 = 0
    private var wasFull = true
    private var backedOffAt = Int64.min

    /// - Parameters:
    ///   - ceiling: the upper bound of the limit, at least 1.
    ///   - learnedLimit: the number that an earlier run found; nil where there was none.
    ///   - now: milliseconds.
    package init(ceiling: Int, learnedLimit: Int? = nil, now: Int64) {
        self.ceiling = max(1, ceiling)
        most = min(self.ceiling, HostPace.mostConnections)
        limit = min(max(1, learnedLimit ?? HostPace.start), most)
        first = limit
        phase = .opening(OpeningRounds(limit: limit, now: now))
    }

    /// The number for a later run to begin with; nil where this run has found none.
    ///
    /// A host that complained gets its last limit. For others a low number shows only that few
    /// large files are as fast as many, and the next files may be small.
    package var learnedLimit: Int? {
        if backedOffAt != .min { return limit }
        switch phase {
        case .opening(let rounds): return rounds.measured.map { max($0, HostPace.start) }
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
        let found = rounds.ended(limit: limit, most: most, isFull: isFull, now: now)
        phase = .opening(rounds)
        guard let found else { return }
        if found.isFinal { settle(at: found.number, now: now) } else { limit = found.number }
    }

    /// Notes a connection, and how many milliseconds passed from the wish for it to its setup.
    ///
    /// One for a small body lets another begin: most of its setup time is spent on the line. On a
    /// long line, where each step takes longer than many requests, it lets six begin: all are
    /// there after two round trips.
    package mutating func connected(after time: Int64, isBrief: Bool, now: Int64) {
        let mayGrow = isBrief && !hasComplained
        open { rounds, limit in
            rounds.connected(after: time, isBrief: isBrief, now: now)
            guard mayGrow else { return }
            let isFar = time >= HostPace.longConnecting
            limit = max(limit, isFar ? limit + 6 : min(HostPace.mostEarly, limit + 1))
        }
    }

    /// Whether the run has just begun with this host; later, single responses show nothing.
    var isOpening: Bool { if case .opening = phase { true } else { false } }

    /// The time at which the number grows unless a response comes before it; nil if it will not.
    package var growsAt: Int64? {
        guard case .opening(let rounds) = phase, !hasComplained,
            limit < min(most, HostPace.mostUnanswered)
        else { return nil }
        return rounds.silentSince.map { $0 + HostPace.silence }
    }

    /// Lets more requests begin if no response has come for some time after the first connection.
    ///
    /// - Parameters:
    ///   - room: how many more requests may begin at hosts without an answer.
    ///   - hasRead: whether sockets were read until now; a response may wait in one otherwise.
    package mutating func passSilence(room: Int, hasRead: Bool, now: Int64) {
        guard let growsAt, growsAt <= now, case .opening(var rounds) = phase else { return }
        if hasRead {
            limit = min(most, HostPace.mostUnanswered, limit + room)
            rounds.endSilence()
        } else {
            rounds.restartSilence(now: now)
        }
        phase = .opening(rounds)
    }

    /// Whether the host complained in an earlier run: only then it begins with fewer than others.
    private var hasComplained: Bool { first < min(most, HostPace.start) }

    /// Notes a response, and how many milliseconds passed since it was asked for.
    package mutating func answered(after time: Int64) {
        open { rounds, _ in rounds.answered(after: time) }
    }

    /// Notes that requests to this host share a connection, or could.
    package mutating func sharesConnection(isBrief: Bool, now: Int64) {
        guard !sharesConnections, mayShare else { return }
        sharesConnections = true
        most = min(ceiling, HostPace.mostStreams)
        guard isBrief, case .opening = phase else { return }
        settle(at: most, now: now)
    }

    /// Notes that each request to this host has a connection of its own from now on.
    ///
    /// Streams cost a server next to nothing, connections do not.
    package mutating func stopsSharing() {
        mayShare = false
        guard sharesConnections else { return }
        sharesConnections = false
        most = min(ceiling, HostPace.mostConnections)
        limit = min(limit, HostPace.mostEarly)
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

    /// Advances the clock, and changes the limit when a window is over.
    ///
    /// - Parameter isFull: whether a transfer waits for a place with this host.
    package mutating func tick(now: Int64, isFull: Bool) {
        if case .opening(let rounds) = phase {
            // Long bodies: it takes longer to find out how many of them pay.
            guard rounds.isOverdue(now: now) else { return }
            phase = .measuring
            return begin(at: now)
        }
        guard let began else { return begin(at: now) }
        wasFull = wasFull && isFull
        guard now - began >= HostPace.window else { return }
        // A window without bytes proves nothing: the first bytes of long bodies may take longer.
        if wasFull, value > 0 { judge(Double(value) / Double(now - began)) }
        begin(at: now)
    }

    /// Halves the limit, because the host reported overload, hung up or let a request stall.
    ///
    /// A request that had begun before the last reduction changes nothing.
    ///
    /// - Parameter requestBegan: when the request began that the host refused.
    package mutating func backOff(requestBegan: Int64, now: Int64) {
        guard requestBegan >= backedOffAt else { return }
        backedOffAt = now
        limit = max(1, limit / 2)
        isFirstClimb = false
        phase = .resting(windows: HostPace.cooldownWindows, value: 0, goesUp: true)
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

/// Finds within a second how many requests at once a host answers as fast as few.
///
/// It works at the start of a run.
///
/// A round is over when as many requests have ended as were allowed at its beginning. If each of a
/// round's requests only waits for its round trip, twice as many bring twice as much. So a round
/// that brought more than the one before doubles the number, and the first that did not takes the
/// doubling back. The length of a round follows the line: on a short line it takes 20 ms, on a long
/// one about two round trips.
///
/// Requests for long bodies do not end within a few round trips. The number for such a host is
/// found not here but by measuring for longer (`HostPace`).
struct OpeningRounds: Sendable {
    /// The least length of a round, in milliseconds: fewer ends than come in this time say nothing.
    static let leastRound: Int64 = 20
    /// The factor by which the received amount must grow for a higher number to have paid.
    static let gain = 1.25
    /// The longest round, as a multiple of the time that a new connection and a response took.
    static let longestRound: Int64 = 4

    private var began: Int64
    private var ended = 0
    private var value: Int64 = 0
    private var limitAtBegin: Int
    private var wasFull = true
    /// The number of the round before, and its rate.
    private var earlier: (limit: Int, rate: Double)?
    /// The time from asking for a connection until its first response, in milliseconds.
    private var answerTime: Int64 = 0
    private var hasBegun = false
    /// When the first connection of a small body was established, or sockets were read again after
    /// it; nil from the first response on.
    private(set) var silentSince: Int64?

    init(limit: Int, now: Int64) {
        began = now
        limitAtBegin = limit
    }

    /// Notes a connection that took a number of milliseconds to establish.
    ///
    /// The first round begins with the first connection: the time after it is the host's own.
    mutating func connected(after time: Int64, isBrief: Bool, now: Int64) {
        answerTime = max(answerTime, time)
        guard !hasBegun else { return }
        hasBegun = true
        began = now
        if isBrief { silentSince = now }
    }

    /// Notes a response that came a number of milliseconds after its request was wanted.
    mutating func answered(after time: Int64) {
        answerTime = max(answerTime, time)
        silentSince = nil
    }

    /// The number of the last whole round; nil if there was none, or others did not wait in it.
    var measured: Int? { earlier?.limit }

    /// Counts the silence from now on, because no response could have been read before.
    mutating func restartSilence(now: Int64) { silentSince = silentSince.map { _ in now } }

    /// Notes that the silence had its effect.
    mutating func endSilence() { silentSince = nil }

    /// Counts bytes of bodies.
    mutating func received(_ bytes: Int) { value += Int64(bytes) }

    /// Counts a request that ended; returns how many the host gets at once from now on, and whether
    /// that is final. Nil changes nothing.
    ///
    /// - Parameter isFull: whether others wait for a place; if none does, the number proves
    ///   nothing.
    mutating func ended(limit: Int, most: Int, isFull: Bool, now: Int64) -> (
        number: Int, isFinal: Bool
    )? {
        ended += 1
        value += HostPace.endValue
        wasFull = wasFull && isFull
        let elapsed = now - began
        guard ended >= limitAtBegin, elapsed >= OpeningRounds.leastRound else { return nil }
        let rate = Double(value) / Double(elapsed)
        defer { restart(limit: limit, now: now) }
        guard wasFull else {
            earlier = nil
            return nil
        }
        if let earlier, limit > earlier.limit, rate < earlier.rate * OpeningRounds.gain {
            return (earlier.limit, true)
        }
        guard limit < most else { return (limit, true) }
        earlier = (limit, rate)
        limitAtBegin = min(most, limit * 2)
        return (limitAtBegin, false)
    }

    /// Whether the round has taken so long that its requests cannot be short ones.
    func isOverdue(now: Int64) -> Bool {
        let patience = max(HostPace.window, OpeningRounds.longestRound * answerTime)
        return hasBegun && now - began >= patience
    }

    private mutating func restart(limit: Int, now: Int64) {
        limitAtBegin = max(limitAtBegin, limit)
        began = now
        ended = 0
        value = 0
        wasFull = true
    }
}
