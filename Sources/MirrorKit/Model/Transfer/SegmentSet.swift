/// The connections that fetch one file together: their ranges, their number and their sources.
///
/// The transfer's own connection continues as if it were alone, until it meets a range that another
/// connection fetches. Then the own connection ends, and the transfer continues with the others.
/// The transfer makes another request of its own only when they have ended and bytes are missing.
struct SegmentSet: Sendable {
    /// A further connection of a transfer, which fetches one range.
    struct Helper: Sendable {
        /// The range as it was when the connection began.
        let assignment: Segmentation.Assignment
        fileprivate(set) var machine: SegmentMachine
        /// The host where the connection has a place; nil if it uses the transfer's own place.
        var extraPlace: Host?
        /// Whether the body of the response is being received.
        fileprivate(set) var isReceiving = false

        /// The host that the connection asks.
        var host: Host { Host(machine.plan.url) }
    }

    /// A further connection that may begin.
    struct Opening: Sendable {
        /// The assignments after the start, which may take a range from another connection.
        fileprivate let plan: Segmentation
        let assignment: Segmentation.Assignment
        fileprivate let machine: SegmentMachine

        /// The host that the connection would ask.
        var host: Host { Host(machine.plan.url) }
    }

    /// After this many bytes a broken connection does not bar its source.
    static let bytesThatExcuse: Int64 = 1 << 20
    /// With fewer missing bytes than this, one connection is enough.
    static let leastMissing: Int64 = 2 << 20

    /// The assignment of each connection, and the bytes in hand.
    private(set) var plan: Segmentation
    /// Decides how many connections there should be.
    private(set) var pace: SegmentPace
    /// The assignment of the transfer's own connection; nil if the connection has ended.
    private(set) var own: Int?
    /// The further connections by their assignments.
    private(set) var helpers: [Int: Helper] = [:]
    /// Whether each segment needs a connection of its own because requests would share one.
    var isMultiplexed = false
    /// Whether further connections fetch, or fetched, bytes of the part.
    private var isShared: Bool
    /// Sources that get no further connection in this transfer.
    private var barred: Set<Int> = []
    /// The failure of the transfer's own connection while others continue.
    private var failure: TransportFailure?
    /// Why the transfer's own response was refused. After a refusal no connection begins.
    fileprivate var refusal: ResponseError?

    init(_ plan: Segmentation, limit: Int?) {
        self.plan = plan
        isShared = plan.hasRangesBeyond
        pace = SegmentPace(limit)
    }

    /// Whether a transfer with this many missing bytes may have more than one connection.
    static func mayDivide(missing: Int64, limit: Int?) -> Bool {
        limit != 1 && missing >= leastMissing
    }

    /// How many connections are under way.
    var running: Int { helpers.count + (own == nil ? 0 : 1) }

    /// Whether a further connection has brought nothing yet.
    ///
    /// Until it brings bytes, the rate says nothing about the number of connections.
    var hasSilent: Bool { helpers.keys.contains { plan.isSilent($0) } }

    /// Whether a response continues exactly where the bytes from the file's start end.
    ///
    /// If not, the response brings the file from another position, and the bytes in hand count for
    /// nothing.
    func fits(_ reception: Reception) -> Bool {
        plan.front == reception.offset && plan.total == reception.total
    }

    /// Measures the rate of each assignment over the milliseconds since the last measurement.
    mutating func measure(milliseconds: Int64) { plan.measure(milliseconds: milliseconds) }

    /// Measures whether more connections bring more bytes. Returns whether `pace.wanted` changed.
    ///
    /// - Parameters:
    ///   - bytes: how many bytes the transfer has received.
    ///   - isHeldBack: whether anything other than the connections limits the bytes.
    mutating func look(bytes: Int64, isHeldBack: Bool, now: Int64) -> Bool {
        let before = pace.wanted
        pace.look(
            bytes: bytes, missing: plan.missingBytes, running: running,
            isHeldBack: isHeldBack || hasSilent, now: now)
        return pace.wanted != before
    }
}

// MARK: The transfer's own connection

extension SegmentSet {
    /// Begins a body of the transfer's own connection, at the end of the bytes from the start.
    ///
    /// - Parameter answerTime: milliseconds from the request's start until its answer.
    mutating func ownBegins(source: Int, askedEnd: Int64, answerTime: Int64) {
        (failure, refusal) = (nil, nil)
        pace.answered(after: answerTime, missing: plan.missingBytes)
        plan.answerSeconds = Double(answerTime) / 1000
        own = plan.begin(source: source, askedEnd: askedEnd).id
    }

    /// Adds bytes that came for the transfer's own connection.
    ///
    /// - Returns: `taken`: how many of the bytes belong to the connection. `isCut`: whether the
    ///   connection is done because another one has the next bytes. `passedOver`: whether the
    ///   connection took over the range of one that lags behind.
    mutating func arrived(_ count: Int) -> (taken: Int, isCut: Bool, passedOver: Bool) {
        guard let own else { return (count, false, false) }
        var taken = plan.arrived(count, on: own)
        let isAtEnd = taken < count || plan.assignments[own]?.isCut == true
        let passedOver = isAtEnd && plan.passOver(own)
        if passedOver { taken += plan.arrived(count - taken, on: own) }
        let isCut = plan.assignments[own].map { $0.isDone && $0.isCut } ?? true
        // After a cut, the end of this response says nothing more about the missing bytes.
        if isCut { isShared = true }
        return (taken, isCut, passedOver)
    }

    /// Whether other connections have taken over the whole rest of the transfer's own connection.
    var ownIsSuperseded: Bool { own.map { plan.assignments[$0] == nil } ?? false }

    /// Ends the transfer's own connection.
    ///
    /// The connection met a range that another one fetches, its response ended, or it failed.
    ///
    /// - Parameter promisedEnd: the offset after the last byte that the response promised. A
    ///   response that ended before it counts as broken, however well its framing ended.
    mutating func ownEnded(_ failure: TransportFailure?, promisedEnd: Int64? = nil) {
        endOwn(failure ?? own.flatMap { plan.shortfall(of: $0, before: promisedEnd) })
    }

    private mutating func endOwn(_ failure: TransportFailure?) {
        if ownIsSuperseded { isShared = true }
        if let own, let assignment = plan.assignments[own] {
            excuse(assignment, isShort: failure != nil)
            plan.end(own)
        }
        own = nil
        self.failure = failure
    }

    /// Ends the transfer's own connection, after all further connections are gone.
    ///
    /// - Parameter refusal: why the response was refused amid its body; nil if mirror broke it off.
    mutating func ownBrokenOff(_ refusal: ResponseError?) {
        if own != nil { endOwn(nil) }
        self.refusal = refusal
        if refusal != nil { return }
        isShared = true
        // The next request fetches the bytes that an earlier failure left out.
        failure = nil
    }
}

// MARK: Further connections

extension SegmentSet {
    /// Whether the next further connection takes the transfer's own place, which is free then.
    var takesOwnPlace: Bool {
        own == nil && !helpers.values.contains { $0.extraPlace == nil }
    }

    /// Begins a further connection.
    mutating func open(_ opening: Opening, extraPlace: Host?) {
        plan = opening.plan
        helpers[opening.assignment.id] = Helper(
            assignment: opening.assignment, machine: opening.machine, extraPlace: extraPlace)
    }

    /// Returns the source for a further connection. Returns nil if no source may get one.
    ///
    /// It is the first source among those with the fewest connections.
    fileprivate func source(among sources: [Int]) -> Int? {
        let open = sources.filter { !barred.contains($0) && !plan.silentSources.contains($0) }
        func load(_ source: Int) -> Int { plan.assignments.values.count { $0.source == source } }
        return open.min { load($0) < load($1) }
    }

    /// Judges the head of a further connection's response. Returns nil if the connection is gone.
    mutating func answered(
        _ head: ResponseHead, on id: Int, at now: Instant
    ) -> SegmentMachine.Action? {
        let action = helpers[id]?.machine.answered(head, at: now)
        if case .receive? = action {
            helpers[id]?.isReceiving = true
            isShared = true
        }
        return action
    }

    /// Adds a further connection's bytes. Returns how many belong to it, and whether more will.
    mutating func arrived(_ count: Int, on id: Int) -> (taken: Int, goesOn: Bool) {
        let taken = plan.arrived(count, on: id)
        // Bytes after the assignment's end belong to another connection, or were never requested.
        guard let assignment = plan.assignments[id], taken == count else { return (taken, false) }
        return (taken, !(assignment.isDone && assignment.isCut))
    }

    /// Notes the host at which a further connection holds its place after a redirect.
    mutating func move(_ id: Int, to place: Host?) { helpers[id]?.extraPlace = place }

    /// Returns the connections to close because they did not raise the rate, the latest first.
    ///
    /// If a transfer waits for the place of a further connection, the list has at least one.
    func surplus(isWaitedFor: (Host) -> Bool) -> [Int] {
        let extras = helpers.values.filter { $0.extraPlace != nil }.sorted {
            $0.assignment.id > $1.assignment.id
        }
        var count = max(0, running - pace.wanted)
        if let place = extras.first?.extraPlace, isWaitedFor(place) { count = max(count, 1) }
        return extras.prefix(count).map(\.assignment.id)
    }

    /// Returns the connections to close: they lost their ranges, or their sources do not help.
    ///
    /// Other connections have taken the lost ranges over. A source that does not help is barred for
    /// this transfer, but only if a better source exists. If another connection to the same source
    /// is fast, only this connection was slow, and the source stays.
    mutating func superseded() -> [Int] {
        let helpful = helpfulSources
        let gone = helpers.values.filter { helper in
            plan.assignments[helper.assignment.id] == nil
                || !helpful.isEmpty && !helpful.contains(helper.assignment.source)
                    && plan.isHopeless(helper.assignment.id)
        }
        barred.formUnion(gone.map(\.assignment.source).filter { !helpful.contains($0) })
        return gone.map(\.assignment.id)
    }

    /// Sources with a connection that is not hopelessly slow.
    private var helpfulSources: Set<Int> {
        let assignments = plan.assignments.values.filter {
            !barred.contains($0.source) && !plan.isHopeless($0.id)
        }
        return Set(assignments.map(\.source))
    }

    /// Bars the source of a further connection whose request could not be made.
    mutating func refused(_ id: Int) {
        if let source = helpers[id]?.assignment.source { barred.insert(source) }
    }

    /// Notes the end of a further connection. Returns what the end shows about its host.
    ///
    /// Bars the source if the connection brought no response, or broke too early. The result says
    /// whether the host speaks other protocols than was known, or wants fewer requests. `hold` is
    /// the number of seconds for which the host wants no requests. Returns nil if the end shows
    /// nothing about the host.
    mutating func ended(
        _ id: Int, _ action: SegmentMachine.Action?, _ failure: TransportFailure?
    ) -> (source: Int, protocols: HostProtocols?, isCrowded: Bool, hold: Int64?)? {
        guard let helper = helpers[id] else { return nil }
        let (plan, source) = (helper.machine.plan, helper.assignment.source)
        if case .giveBack(let refusal, let hold)? = action {
            if plan.isRefused(by: refusal.status) {
                return (source, HostProtocols(refusesHTTP1: true), false, nil)
            }
            barred.insert(source)
            let isCrowded = refusal.status.map(StatusCode.isOverload) ?? false
            return (source, nil, isCrowded, hold)
        }
        if let failure, failure.isMisplaced {
            return (source, HostProtocols(forbidsSharing: true), false, nil)
        }
        if action == nil, !helper.isReceiving, let failure, plan.isRefused(by: failure) {
            return (source, HostProtocols(refusesHTTP1: true), false, nil)
        }
        if helper.isReceiving, let assignment = self.plan.assignments[id] {
            // A response that ends well before its range does counts as one that breaks.
            excuse(assignment, isShort: !assignment.isDone)
        } else {
            barred.insert(source)
        }
        return nil
    }

    /// Removes a further connection, and gives its range back.
    ///
    /// - Returns: the position after its last byte; nil if another connection has taken its range
    ///   over.
    mutating func close(_ id: Int) -> Int64? {
        helpers[id] = nil
        let end = plan.assignments[id]?.position
        plan.end(id)
        return end
    }

    /// Removes the transfer's own connection, after all further connections are gone.
    mutating func ownIsGone() {
        if let own { plan.end(own) }
        own = nil
    }

    private mutating func excuse(_ assignment: Segmentation.Assignment, isShort: Bool) {
        if isShort, assignment.position - assignment.start < SegmentSet.bytesThatExcuse {
            barred.insert(assignment.source)
        }
    }
}

// MARK: The end

extension SegmentSet {
    /// The event with which the transfer continues when no connection is left.
    enum Conclusion: Sendable {
        /// Several connections have fetched all that they could.
        case segmentsEnded
        /// The response on the transfer's own connection was complete.
        case bodyEnded
        /// The transfer's own connection broke, and bytes are missing.
        case interrupted(TransportFailure)
        /// The response on the transfer's own connection was refused.
        case refused(ResponseError)
    }

    /// The event with which the transfer continues, after all connections have ended.
    var conclusion: Conclusion {
        if let refusal { return .refused(refusal) }
        if plan.isComplete, isShared { return .segmentsEnded }
        if let failure { return .interrupted(failure) }
        return isShared ? .segmentsEnded : .bodyEnded
    }
}

extension TransferMachine {
    /// Returns the next further connection. Returns nil if none is wanted or no range is worth one.
    func opening(in set: SegmentSet, isOpen: (Int) -> Bool) -> SegmentSet.Opening? {
        guard set.refusal == nil, set.running < set.pace.wanted,
            let source = set.source(among: segmentSources.filter(isOpen))
        else { return nil }
        var plan = set.plan
        guard let assignment = plan.open(source: source, more: set.pace.wanted - set.running - 1),
            let segment = segment(of: assignment.start..<assignment.end, from: source)
        else { return nil }
        return SegmentSet.Opening(plan: plan, assignment: assignment, machine: segment)
    }
}

/// Measures whether a thread was busy since the last check.
struct LoadMeter: Sendable {
    private var since: Int64
    private var busy: Int64

    /// - Parameter busy: the thread's processor time so far, in milliseconds; so is `now`.
    init(now: Int64 = 0, busy: Int64 = 0) { (since, self.busy) = (now, busy) }

    /// The time since the last check, in milliseconds.
    func elapsed(now: Int64) -> Int64 { now - since }

    /// Returns whether the thread was busy more than half of the time. Starts the next period.
    ///
    /// - Parameter busy: the thread's processor time so far, in milliseconds.
    mutating func restart(now: Int64, busy: Int64) -> Bool {
        let wasBusy = (busy - self.busy) * 2 > now - since
        (since, self.busy) = (now, busy)
        return wasBusy
    }
}
