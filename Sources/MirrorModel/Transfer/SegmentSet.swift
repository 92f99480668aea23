/// The connections that fetch one file together: their ranges, their number and their sources.
///
/// The transfer's own connection continues as if it were alone, until it meets a range that another
/// connection fetches. Then it is done, and the transfer continues with the others. It makes
/// another request of its own only when they have ended and bytes are missing.
package struct SegmentSet: Sendable {
    /// One further connection.
    package struct Helper: Sendable {
        /// The range as it was when it began.
        package let assignment: Segmentation.Assignment
        package fileprivate(set) var machine: SegmentMachine
        /// The place that it holds; nil when it uses the transfer's own place.
        package var extraPlace: Host?
        /// Whether its body is being received.
        package fileprivate(set) var isReceiving = false

        /// The host that it asks.
        package var host: Host { Host(machine.plan.url) }
    }

    /// A further connection that may begin.
    package struct Opening: Sendable {
        /// The assignments once it has begun: a range may be taken from another connection for it.
        fileprivate let plan: Segmentation
        package let assignment: Segmentation.Assignment
        fileprivate let machine: SegmentMachine

        /// The host that it would ask.
        package var host: Host { Host(machine.plan.url) }
    }

    /// Bytes after which a broken connection counts as one that worked.
    static let bytesThatExcuse: Int64 = 1 << 20
    /// The fewest missing bytes that are worth more than one connection.
    static let leastMissing: Int64 = 2 << 20

    /// The assignment of each connection, and the bytes in hand.
    package private(set) var plan: Segmentation
    /// How many connections there should be.
    package private(set) var pace: SegmentPace
    /// The assignment of the transfer's own connection; nil while it has none.
    package private(set) var own: Int?
    /// The further connections by their assignments.
    package private(set) var helpers: [Int: Helper] = [:]
    /// Whether each segment needs a connection of its own because requests would share one.
    package var isMultiplexed = false
    /// Whether further connections fetch, or fetched, bytes of the part.
    private var isShared: Bool
    /// Sources that get no further connection in this transfer.
    private var barred: Set<Int> = []
    /// The failure of the transfer's own connection while others continue.
    private var failure: TransportFailure?
    /// Why the response on the transfer's own connection was refused; no connection begins then.
    fileprivate var refusal: ResponseError?

    package init(_ plan: Segmentation, limit: Int?) {
        self.plan = plan
        isShared = plan.hasRangesBeyond
        pace = SegmentPace(limit)
    }

    /// Whether a transfer that misses this many bytes may have more than one connection.
    package static func mayDivide(missing: Int64, limit: Int?) -> Bool {
        limit != 1 && missing >= leastMissing
    }

    /// How many connections there are.
    package var running: Int { helpers.count + (own == nil ? 0 : 1) }

    /// Whether a further connection has brought nothing yet.
    ///
    /// While one has not, the rate says nothing about the number of connections.
    package var hasSilent: Bool { helpers.keys.contains { plan.isSilent($0) } }

    /// Whether a response continues exactly where the bytes in hand end.
    ///
    /// If not, the bytes in hand count for nothing.
    package func fits(_ reception: Reception) -> Bool {
        plan.front == reception.offset && plan.total == reception.total
    }

    /// Measures the assignments' rates over the milliseconds since the last measurement.
    package mutating func measure(milliseconds: Int64) { plan.measure(milliseconds: milliseconds) }

    /// Finds out how many connections bring more bytes; returns whether another number is wanted now.
    ///
    /// - Parameters:
    ///   - bytes: what the transfer has received.
    ///   - isHeldBack: whether something else than the connections limits the bytes.
    package mutating func look(bytes: Int64, isHeldBack: Bool, now: Int64) -> Bool {
        let before = pace.wanted
        pace.look(
            bytes: bytes, missing: plan.missingBytes, running: running,
            isHeldBack: isHeldBack || hasSilent, now: now)
        return pace.wanted != before
    }
}

// MARK: The transfer's own connection

extension SegmentSet {
    /// Begins a body of the transfer's own connection, at the end of the bytes in hand.
    ///
    /// - Parameter answerTime: milliseconds from the wish for its request until its answer.
    package mutating func ownBegins(source: Int, askedEnd: Int64, answerTime: Int64) {
        (failure, refusal) = (nil, nil)
        pace.answered(after: answerTime, missing: plan.missingBytes)
        plan.answerSeconds = Double(answerTime) / 1000
        own = plan.begin(source: source, askedEnd: askedEnd).id
    }

    /// Adds bytes that came for the transfer's own connection.
    ///
    /// - Returns: how many of the bytes belong to it; whether it is done because another connection
    ///   has the next bytes; whether it continued over a connection that lags behind.
    package mutating func arrived(_ count: Int) -> (taken: Int, isCut: Bool, passedOver: Bool) {
        guard let own else { return (count, false, false) }
        var taken = plan.arrived(count, on: own)
        let isAtEnd = taken < count || plan.assignments[own]?.isCut == true
        let passedOver = isAtEnd && plan.passOver(own)
        if passedOver { taken += plan.arrived(count - taken, on: own) }
        let isCut = plan.assignments[own].map { $0.isDone && $0.isCut } ?? true
        // From here on the response says nothing more about the missing bytes.
        if isCut { isShared = true }
        return (taken, isCut, passedOver)
    }

    /// Whether others have taken over the whole rest of the transfer's own connection.
    package var ownIsSuperseded: Bool { own.map { plan.assignments[$0] == nil } ?? false }

    /// Ends the transfer's own connection.
    ///
    /// It met a range that others fetch, its response ended, or it failed.
    ///
    /// - Parameter promisedEnd: the offset behind the last byte that the response promised; one that
    ///   ended before it broke, however well its framing ended.
    package mutating func ownEnded(_ failure: TransportFailure?, promisedEnd: Int64? = nil) {
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
    /// - Parameter refusal: why its response was refused amid its body; nil where it is only broken
    ///   off.
    package mutating func ownBrokenOff(_ refusal: ResponseError?) {
        if own != nil { endOwn(nil) }
        self.refusal = refusal
        if refusal != nil { return }
        isShared = true
        // What its connection broke of before is made good by the next request.
        failure = nil
    }
}

// MARK: Further connections

extension SegmentSet {
    /// Whether the next further connection takes the transfer's own place, which is free.
    package var takesOwnPlace: Bool {
        own == nil && !helpers.values.contains { $0.extraPlace == nil }
    }

    /// Begins a further connection.
    package mutating func open(_ opening: Opening, extraPlace: Host?) {
        plan = opening.plan
        helpers[opening.assignment.id] = Helper(
            assignment: opening.assignment, machine: opening.machine, extraPlace: extraPlace)
    }

    /// The source of a further connection: the first of those with the fewest connections.
    fileprivate func source(among sources: [Int]) -> Int? {
        let open = sources.filter { !barred.contains($0) && !plan.silentSources.contains($0) }
        func load(_ source: Int) -> Int { plan.assignments.values.count { $0.source == source } }
        return open.min { load($0) < load($1) }
    }

    /// Judges the head of a further connection's response; nil when the connection is gone.
    package mutating func answered(
        _ head: ResponseHead, on id: Int, at now: Instant
    ) -> SegmentMachine.Action? {
        let action = helpers[id]?.machine.answered(head, at: now)
        if case .receive? = action {
            helpers[id]?.isReceiving = true
            isShared = true
        }
        return action
    }

    /// Adds a further connection's bytes; returns how many belong to it, and whether more will.
    package mutating func arrived(_ count: Int, on id: Int) -> (taken: Int, goesOn: Bool) {
        let taken = plan.arrived(count, on: id)
        // Bytes after its end belong to another connection, or were never requested.
        guard let assignment = plan.assignments[id], taken == count else { return (taken, false) }
        return (taken, !(assignment.isDone && assignment.isCut))
    }

    /// Moves a further connection to the place that a redirect leads to.
    package mutating func move(_ id: Int, to place: Host?) { helpers[id]?.extraPlace = place }

    /// Connections to close: those that did not raise the rate, the latest first.
    ///
    /// While a transfer waits for the place of a further connection, the list has at least one.
    package func surplus(isWaitedFor: (Host) -> Bool) -> [Int] {
        let extras = helpers.values.filter { $0.extraPlace != nil }.sorted {
            $0.assignment.id > $1.assignment.id
        }
        var count = max(0, running - pace.wanted)
        if let place = extras.first?.extraPlace, isWaitedFor(place) { count = max(count, 1) }
        return extras.prefix(count).map(\.assignment.id)
    }

    /// Connections to close: those that lost their ranges, and those of sources that do not help.
    ///
    /// Other connections took the lost ranges over. A source that does not help is dropped only
    /// where better ones exist. It gets no further connection in this transfer. If another
    /// connection to the same source is fast, only this connection was slow, and the source stays.
    package mutating func superseded() -> [Int] {
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

    /// Notes that a further connection's request could not be made: its source is left alone.
    package mutating func refused(_ id: Int) {
        if let source = helpers[id]?.assignment.source { barred.insert(source) }
    }

    /// Notes the end of a further connection.
    ///
    /// Its source is left alone if the connection brought no response, or broke too early. Returns what
    /// that shows of its host: that it speaks other protocols than was known, or wants fewer requests,
    /// or to be left alone for `hold` seconds.
    package mutating func ended(
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
            // A response that ends well before its range is no better than one that breaks.
            excuse(assignment, isShort: !assignment.isDone)
        } else {
            barred.insert(source)
        }
        return nil
    }

    /// Removes a further connection, and gives its range back.
    ///
    /// - Returns: the position after its last byte; nil when another connection has taken its range
    ///   over.
    package mutating func close(_ id: Int) -> Int64? {
        helpers[id] = nil
        let end = plan.assignments[id]?.position
        plan.end(id)
        return end
    }

    /// Removes the transfer's own connection, after all further connections are gone.
    package mutating func ownIsGone() {
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
    /// The event that the transfer continues with once no connection is left.
    package enum Conclusion: Sendable {
        /// Several connections have fetched all that they could.
        case segmentsEnded
        /// The response on its own connection was complete.
        case bodyEnded
        /// Its own connection broke, and bytes are missing.
        case interrupted(TransportFailure)
        /// The response on its own connection was refused.
        case refused(ResponseError)
    }

    /// The event that the transfer continues with, all connections having ended.
    package var conclusion: Conclusion {
        if let refusal { return .refused(refusal) }
        if plan.isComplete, isShared { return .segmentsEnded }
        if let failure { return .interrupted(failure) }
        return isShared ? .segmentsEnded : .bodyEnded
    }
}

extension TransferMachine {
    /// The next further connection; nil when none is wanted or no range is worth a request.
    package func opening(in set: SegmentSet, isOpen: (Int) -> Bool) -> SegmentSet.Opening? {
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

/// Tells whether a thread was busy since the last check.
package struct LoadMeter: Sendable {
    private var since: Int64
    private var busy: Int64

    /// - Parameter busy: the processor time of the thread so far; both in milliseconds.
    package init(now: Int64 = 0, busy: Int64 = 0) { (since, self.busy) = (now, busy) }

    /// The time since the last check, in milliseconds.
    package func elapsed(now: Int64) -> Int64 { now - since }

    /// Whether the thread was busy for more than half of that time; starts the next period.
    ///
    /// - Parameter busy: the processor time of the thread so far, in milliseconds.
    package mutating func restart(now: Int64, busy: Int64) -> Bool {
        let wasBusy = (busy - self.busy) * 2 > now - since
        (since, self.busy) = (now, busy)
        return wasBusy
    }
}
