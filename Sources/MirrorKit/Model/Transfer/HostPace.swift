/// Measures how many transfers one host should get at once.
///
/// The limit begins at eight. It doubles within a round trip or two as long as that brings more
/// (`OpeningRounds`), up to 32 connections. Where requests share a connection (HTTP/2), they cost
/// the host next to nothing. So requests for small bodies get all the streams of a connection at
/// once.
///
/// After that the measurement continues, because networks change. `HostPace` raises the limit where
/// that raises the received amount, and lowers it where that loses nothing. One measure serves few
/// large files and many small ones: the bytes received, plus a fixed number for each transfer that
/// ended. A small file costs a round trip and hardly any bytes.
///
/// A time in which no transfer waited for a place says nothing about the limit and is not counted.
/// `backOff` halves the limit of a host that reports overload (429, 503), hangs up, or answers
/// others while a request stalls.
struct HostPace: Sendable {
    /// How long one measurement takes, in milliseconds.
    static let window: Int64 = 500
    /// The limit with which a host begins.
    static let start = 8
    /// The most connections to a host.
    ///
    /// More of them would take a server's places from others. With 64, 500 small files over a long
    /// line would take nine round trips instead of sixteen.
    static let mostConnections = 32
    /// The most streams of HTTP/2, as many as servers usually allow on a connection.
    ///
    /// For each request above what a server allows, libcurl may open a connection of its own: 1,500
    /// requests, 128 at once, made up to 65 connections to a server that allows 100.
    static let mostStreams = 100
    /// How far new connections alone may raise the limit on a short line.
    ///
    /// A connection for a small body lets one more request begin. On a long line there is no such
    /// bound.
    static let mostEarly = 16
    /// How far silence may raise the limit of a host that has not answered.
    static let mostUnanswered = 32
    /// How long a silence after the first connection shows a long line, in milliseconds.
    ///
    /// A proxy near by connects at once, however long the line behind it is. So a late first
    /// response shows the long line.
    static let silence: Int64 = 10
    /// A new connection that takes at least this long shows a long line, in milliseconds.
    static let longConnecting: Int64 = 20
    /// What the end of a transfer is worth in the received amount, in bytes.
    static let endValue: Int64 = 64 << 10
    /// The factor by which the received amount must grow to justify a higher limit.
    static let gain = 1.08
    /// The factor to which the received amount may fall with a lower limit.
    static let loss = 0.98
    /// How many windows the limit stays after a step that did not pay.
    static let rest = 12
    /// How many windows the limit stays after the host reported overload.
    static let cooldownWindows = 50

    /// What the measurement of this host does now.
    private enum Phase: Sendable {
        /// The run has just begun with this host.
        case opening(OpeningRounds)
        /// The rate at the present limit is not known yet.
        case measuring
        /// The limit was raised or lowered; its rate is compared with `value`, the rate at `from`.
        case trying(from: Int, value: Double)
        /// The limit stays for `windows` more windows. Then a step up or down follows.
        case resting(windows: Int, value: Double, goesUp: Bool)
    }

    /// The most transfers at once for now.
    private(set) var limit: Int
    /// The greatest value that the limit may reach.
    private(set) var most: Int
    private let ceiling: Int
    /// The limit at the beginning of this run.
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
    ///   - learnedLimit: the limit that an earlier run found; nil if there was none.
    ///   - now: milliseconds.
    init(ceiling: Int, learnedLimit: Int? = nil, now: Int64) {
        self.ceiling = max(1, ceiling)
        most = min(self.ceiling, HostPace.mostConnections)
        limit = min(max(1, learnedLimit ?? HostPace.start), most)
        first = limit
        phase = .opening(OpeningRounds(limit: limit, now: now))
    }

    /// The limit for a later run to begin with. `nil` means that this run has measured none.
    ///
    /// A host that complained gets its last limit. For other hosts the result is at least `start`.
    /// A low limit shows only that few large files are as fast as many, and the next files may be
    /// small.
    var learnedLimit: Int? {
        if backedOffAt != .min { return limit }
        switch phase {
        case .opening(let rounds): return rounds.measured.map { max($0, HostPace.start) }
        case .trying(let from, _): return max(min(limit, from), HostPace.start)
        case .measuring, .resting: return max(limit, HostPace.start)
        }
    }

    /// Counts received bytes of bodies.
    mutating func received(_ bytes: Int) {
        value += Int64(bytes)
        open { rounds, _ in rounds.received(bytes) }
    }

    /// Counts a transfer that ended.
    ///
    /// - Parameter isFull: whether others wait for a place.
    mutating func ended(isFull: Bool, now: Int64) {
        value += HostPace.endValue
        guard case .opening(var rounds) = phase else { return }
        let found = rounds.ended(limit: limit, most: most, isFull: isFull, now: now)
        phase = .opening(rounds)
        guard let found else { return }
        if found.isFinal { settle(at: found.number, now: now) } else { limit = found.number }
    }

    /// Notes a connection that took `time` milliseconds to set up, and may raise the limit.
    ///
    /// A connection for a small body (`isBrief`) lets one more request begin, because most of the
    /// body's time on the line is setup. On a long line each step takes longer than many requests.
    /// So a connection there lets six more begin, and all are set up after two round trips.
    mutating func connected(after time: Int64, isBrief: Bool, now: Int64) {
        let mayGrow = isBrief && !hasComplained
        open { rounds, limit in
            rounds.connected(after: time, isBrief: isBrief, now: now)
            guard mayGrow else { return }
            let isFar = time >= HostPace.longConnecting
            limit = max(limit, isFar ? limit + 6 : min(HostPace.mostEarly, limit + 1))
        }
    }

    /// Whether the run has just begun with this host. Later, single responses show nothing.
    var isOpening: Bool { if case .opening = phase { true } else { false } }

    /// The time at which a silent host's limit grows; nil if silence raises it no more.
    var growsAt: Int64? {
        guard case .opening(let rounds) = phase, !hasComplained,
            limit < min(most, HostPace.mostUnanswered)
        else { return nil }
        return rounds.silentSince.map { $0 + HostPace.silence }
    }

    /// Raises the limit if no response has come for `silence` after the first connection.
    ///
    /// - Parameters:
    ///   - room: how many more requests may begin at hosts without an answer.
    ///   - hasRead: whether sockets were read until now. If not, a response may wait unread, so the
    ///     silence is counted from now on.
    ///
    /// - Parameters:
    ///   - room: how many more requests may begin at hosts without an answer.
    ///   - hasRead: whether sockets were read until now; a response may wait in one otherwise.
    mutating func passSilence(room: Int, hasRead: Bool, now: Int64) {
        guard let growsAt, growsAt <= now, case .opening(var rounds) = phase else { return }
        if hasRead {
            limit = min(most, HostPace.mostUnanswered, limit + room)
            rounds.endSilence()
        } else {
            rounds.restartSilence(now: now)
        }
        phase = .opening(rounds)
    }

    /// Whether the host complained in an earlier run, so that its first limit is lower.
    private var hasComplained: Bool { first < min(most, HostPace.start) }

    /// Notes a response that came `time` milliseconds after the transfer asked for its request.
    mutating func answered(after time: Int64) {
        open { rounds, _ in rounds.answered(after: time) }
    }

    /// Notes that requests to this host share a connection, or could.
    mutating func sharesConnection(isBrief: Bool, now: Int64) {
        guard !sharesConnections, mayShare else { return }
        sharesConnections = true
        most = min(ceiling, HostPace.mostStreams)
        guard isBrief, case .opening = phase else { return }
        settle(at: most, now: now)
    }

    /// Notes that each request to this host has a connection of its own from now on.
    ///
    /// Streams cost a server next to nothing, but connections do cost. So the limits fall.
    mutating func stopsSharing() {
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

    /// Advances the clock. Changes the limit when a window is over.
    ///
    /// - Parameter isFull: whether a transfer waits for a place with this host.
    mutating func tick(now: Int64, isFull: Bool) {
        if case .opening(let rounds) = phase {
            // Rounds that do not end show long bodies, which need the longer windows.
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
    /// A request that began before the last reduction changes nothing.
    ///
    /// - Parameter requestBegan: when the refused or stalled request began.
    mutating func backOff(requestBegan: Int64, now: Int64) {
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
                // The newest measurement counts for a quarter, because networks change.
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
/// The rounds run when a run begins with a host. A round is over when as many requests have ended
/// as the limit allowed at its start. If each request only waits for its round trip, twice as many
/// requests bring twice as much. So a round that brought more than the one before doubles the
/// limit. The first round that did not takes the doubling back.
///
/// The length of a round follows the line. It takes at least 20 ms on a short line, and about two
/// round trips on a long one.
///
/// Requests for long bodies do not end within a few round trips. For their hosts `HostPace`
/// measures for longer windows instead.
struct OpeningRounds: Sendable {
    /// The least length of a round, in milliseconds, because a few ends in less time say nothing.
    static let leastRound: Int64 = 20
    /// The factor by which the received amount must grow to justify a higher limit.
    static let gain = 1.25
    /// The longest round, as a multiple of the time that a new connection and a response took.
    static let longestRound: Int64 = 4

    private var began: Int64
    private var ended = 0
    private var value: Int64 = 0
    private var limitAtBegin: Int
    private var wasFull = true
    /// The limit of the previous round, and its rate; nil if that round proves nothing.
    private var earlier: (limit: Int, rate: Double)?
    /// The longest time from asking for a connection until its setup or response, in milliseconds.
    private var answerTime: Int64 = 0
    private var hasBegun = false
    /// The time from which a silence is counted; nil from the first response on.
    ///
    /// It begins when the first connection for a small body is set up. It begins again when sockets
    /// are read after a time without reading.
    private(set) var silentSince: Int64?

    init(limit: Int, now: Int64) {
        began = now
        limitAtBegin = limit
    }

    /// Notes a connection that took `time` milliseconds to set up.
    ///
    /// The first round begins with the first connection. The time before it shows nothing of the
    /// host's speed.
    mutating func connected(after time: Int64, isBrief: Bool, now: Int64) {
        answerTime = max(answerTime, time)
        guard !hasBegun else { return }
        hasBegun = true
        began = now
        if isBrief { silentSince = now }
    }

    /// Notes a response that came `time` milliseconds after the transfer asked for its request.
    mutating func answered(after time: Int64) {
        answerTime = max(answerTime, time)
        silentSince = nil
    }

    /// The limit of the last whole round; nil if there was none, or if no transfer waited in it.
    var measured: Int? { earlier?.limit }

    /// Counts the silence from now on, because no response could have been read before.
    mutating func restartSilence(now: Int64) { silentSince = silentSince.map { _ in now } }

    /// Ends the silence, because the limit has grown for it.
    mutating func endSilence() { silentSince = nil }

    /// Counts bytes of bodies.
    mutating func received(_ bytes: Int) { value += Int64(bytes) }

    /// Counts a request that ended. Returns the new limit at the end of a round, if it changes.
    ///
    /// `isFinal` says whether the limit is found. Returns nil if the limit stays.
    ///
    /// - Parameter isFull: whether other transfers wait for a place. If none waits, the round
    ///   proves nothing about the limit.
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
