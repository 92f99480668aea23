/// The connections that fetch one file together: who fetches what, how many there should be, and which
/// sources help.
///
/// The transfer's own connection goes on as if it were alone, until it meets what another one fetches.
/// Then it is done, and the transfer goes on with the others; it asks for itself again only when they
/// have ended and bytes are missing.
package struct SegmentSet: Sendable {
    /// One further connection.
    package struct Helper: Sendable {
        /// The range as it was when it began.
        package let assignment: Segmentation.Assignment
        package fileprivate(set) var machine: SegmentMachine
        /// The place that it holds; nil when it is the one of the transfer itself.
        package var extraPlace: Host?
        /// Whether its body is taken.
        package fileprivate(set) var isReceiving = false

        /// The host that it asks.
        package var host: Host { Host(machine.plan.url) }
    }

    /// A further connection that may begin.
    package struct Opening: Sendable {
        /// Who fetches what once it has begun: a range may be taken from another connection for it.
        fileprivate let plan: Segmentation
        package let assignment: Segmentation.Assignment
        fileprivate let machine: SegmentMachine

        /// The host that it would ask.
        package var host: Host { Host(machine.plan.url) }
    }

    /// Bytes after which a connection that broke counts as one that worked.
    static let bytesThatExcuse: Int64 = 1 << 20
    /// The fewest missing bytes that are worth more than one connection.
    static let leastMissing: Int64 = 2 << 20

    /// Who fetches what.
    package private(set) var plan: Segmentation
    /// How many connections there should be.
    package var pace: SegmentPace
    /// The assignment of the transfer's own connection; nil while it has none.
    package private(set) var own: Int?
    /// The further connections by their assignments.
    package private(set) var helpers: [Int: Helper] = [:]
    /// Whether each connection has to be one of its own because requests would share one.
    package var isMultiplexed = false
    /// Whether others than the transfer's own connection fetch, or fetched, bytes of the part.
    private var isShared: Bool
    /// Sources that get no further connection in this transfer.
    private var barred: Set<Int> = []
    /// How the transfer's own connection failed while others go on.
    private var failure: TransportFailure?

    package init(_ plan: Segmentation, limit: SegmentLimit) {
        self.plan = plan
        isShared = plan.hasRangesBeyond
        pace = SegmentPace(limit)
    }

    /// Whether a transfer with so many bytes missing may have more than one connection.
    package static func mayDivide(missing: Int64, limit: SegmentLimit) -> Bool {
        limit != .fixed(1) && missing >= leastMissing
    }

    /// How many connections there are.
    package var running: Int { helpers.count + (own == nil ? 0 : 1) }

    /// Whether a further connection has brought nothing yet: the rate says nothing of their number.
    package var hasSilent: Bool { helpers.keys.contains { plan.isSilent($0) } }

    /// Whether an answer goes on exactly where the bytes in hand end; else they count for nothing.
    package func fits(_ reception: Reception) -> Bool {
        plan.front == reception.offset && plan.total == reception.total
    }

    /// Measures the assignments' rates; so many milliseconds went by since the last time.
    package mutating func measure(milliseconds: Int64) { plan.measure(milliseconds: milliseconds) }
}

// MARK: The transfer's own connection

extension SegmentSet {
    /// A body of the transfer's own connection begins, from where the bytes in hand end.
    package mutating func ownBegins(source: Int, askedEnd: Int64) {
        failure = nil
        own = plan.begin(source: source, askedEnd: askedEnd).id
    }

    /// Takes bytes that came for the transfer's own connection.
    ///
    /// - Returns: how many of them are its own; whether it is done because somebody else has what would
    ///   come next; whether it went on over a connection that lags behind.
    package mutating func arrived(_ count: Int) -> (taken: Int, isCut: Bool, passedOver: Bool) {
        guard let own else { return (count, false, false) }
        var taken = plan.arrived(count, on: own)
        let isAtEnd = taken < count || plan.assignments[own]?.isCut == true
        let passedOver = isAtEnd && plan.passOver(own)
        if passedOver { taken += plan.arrived(count - taken, on: own) }
        let isCut = plan.assignments[own].map { $0.isDone && $0.isCut } ?? true
        // From here on the answer says nothing any more of what is missing.
        if isCut { isShared = true }
        return (taken, isCut, passedOver)
    }

    /// Whether others have taken over all that the transfer's own connection had left.
    package var ownIsSuperseded: Bool { own.map { plan.assignments[$0] == nil } ?? false }

    /// The transfer's own connection has ended: at what others fetch, with its answer, or by a failure.
    package mutating func ownEnded(_ failure: TransportFailure?) {
        if ownIsSuperseded { isShared = true }
        if let own, let assignment = plan.assignments[own] {
            excuse(assignment, isShort: failure != nil)
            plan.end(own)
        }
        own = nil
        self.failure = failure
    }
}

// MARK: Further connections

extension SegmentSet {
    /// The next further connection where there should be one more; nil where nothing is worth a request.
    package func opening(_ machine: TransferMachine, isOpen: (Int) -> Bool) -> Opening? {
        guard running < pace.wanted,
            let source = source(among: machine.segmentSources.filter(isOpen))
        else { return nil }
        var plan = plan
        guard let assignment = plan.open(source: source, more: pace.wanted - running - 1),
            let segment = machine.segment(of: assignment.start..<assignment.end, from: source)
        else { return nil }
        return Opening(plan: plan, assignment: assignment, machine: segment)
    }

    /// Whether the next further connection takes the transfer's own place, which is free.
    package var takesOwnPlace: Bool {
        own == nil && !helpers.values.contains { $0.extraPlace == nil }
    }

    /// A further connection begins.
    package mutating func open(_ opening: Opening, extraPlace: Host?) {
        plan = opening.plan
        helpers[opening.assignment.id] = Helper(
            assignment: opening.assignment, machine: opening.machine, extraPlace: extraPlace)
    }

    /// The source of a further connection: among those that have the fewest, the first.
    private func source(among sources: [Int]) -> Int? {
        let open = sources.filter { !barred.contains($0) }
        func load(_ source: Int) -> Int { plan.assignments.values.count { $0.source == source } }
        return open.min { load($0) < load($1) }
    }

    /// A head came for a further connection; nil when it is gone.
    package mutating func answered(
        _ head: ResponseHead, on id: Int, at now: Instant
    ) -> SegmentMachine.Verdict? {
        let verdict = helpers[id]?.machine.answered(head, at: now)
        if case .receive? = verdict {
            helpers[id]?.isReceiving = true
            isShared = true
        }
        return verdict
    }

    /// Takes bytes that came for a further connection; how many belong to it, and whether more do.
    package mutating func arrived(_ count: Int, on id: Int) -> (taken: Int, goesOn: Bool) {
        let taken = plan.arrived(count, on: id)
        // What comes after its end belongs to somebody else, or was never asked for.
        guard let assignment = plan.assignments[id], taken == count else { return (taken, false) }
        return (taken, !(assignment.isDone && assignment.isCut))
    }

    /// Moves a further connection to the place where a redirect leads.
    package mutating func move(_ id: Int, to place: Host?) { helpers[id]?.extraPlace = place }

    /// Connections that did not raise the rate, the latest first, and one of them while others wait for
    /// its place.
    package func surplus(isWaitedFor: (Host) -> Bool) -> [Int] {
        let extras = helpers.values.filter { $0.extraPlace != nil }.sorted {
            $0.assignment.id > $1.assignment.id
        }
        var count = max(0, running - pace.wanted)
        if let place = extras.first?.extraPlace, isWaitedFor(place) { count = max(count, 1) }
        return extras.prefix(count).map(\.assignment.id)
    }

    /// Connections whose ranges others have taken over, and those whose sources are no help where there
    /// are better ones. Such a source gets no further connection in this transfer; one of which another
    /// connection is fast was only slow on this one.
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

    /// Sources of which a connection brings as much as may be hoped for.
    private var helpfulSources: Set<Int> {
        let assignments = plan.assignments.values.filter {
            !barred.contains($0.source) && !plan.isHopeless($0.id)
        }
        return Set(assignments.map(\.source))
    }

    /// A request of a further connection could not be made: its source is left alone.
    package mutating func refused(_ id: Int) {
        if let source = helpers[id]?.assignment.source { barred.insert(source) }
    }

    /// What the end of a further connection says of its host.
    package enum HostNote: Sendable {
        /// It may speak no HTTP/1.1.
        case leavesProtocol(source: Int)
        /// It wants to be asked less, or to be left alone for so many seconds.
        case asksForRest(isCrowded: Bool, hold: Int64?)
    }

    /// A further connection has ended: leaves its source alone where the answer was none, or where the
    /// connection broke too early.
    package mutating func ended(
        _ id: Int, _ verdict: SegmentMachine.Verdict?, _ failure: TransportFailure?
    ) -> HostNote? {
        guard let helper = helpers[id] else { return nil }
        let (plan, source) = (helper.machine.plan, helper.assignment.source)
        if case .giveBack(let refusal, let hold)? = verdict {
            if plan.isRefused(by: refusal.status) { return .leavesProtocol(source: source) }
            barred.insert(source)
            let isCrowded = refusal.status == 429 || refusal.status == 503
            return .asksForRest(isCrowded: isCrowded, hold: hold)
        }
        if verdict == nil, !helper.isReceiving, let failure, plan.isRefused(by: failure) {
            return .leavesProtocol(source: source)
        }
        if helper.isReceiving, let assignment = self.plan.assignments[id] {
            // An answer that ends well before its range does is no better than one that breaks.
            excuse(assignment, isShort: !assignment.isDone)
        } else {
            barred.insert(source)
        }
        return nil
    }

    /// Takes a further connection out, and gives its range back.
    ///
    /// - Returns: the position after its last byte; nil when another one has taken its range over.
    package mutating func close(_ id: Int) -> Int64? {
        helpers[id] = nil
        let end = plan.assignments[id]?.position
        plan.end(id)
        return end
    }

    /// All further connections are gone, and the transfer's own with them.
    package mutating func ownIsGone() { own = nil }

    private mutating func excuse(_ assignment: Segmentation.Assignment, isShort: Bool) {
        if isShort, assignment.position - assignment.start < SegmentSet.bytesThatExcuse {
            barred.insert(assignment.source)
        }
    }
}

// MARK: The end

extension SegmentSet {
    /// What the transfer goes on with once no connection is left.
    package enum Conclusion: Sendable {
        /// Several connections have brought what there was to bring.
        case segmentsEnded
        /// Its own connection's answer was complete.
        case bodyEnded
        /// Its own connection broke, and bytes are missing.
        case interrupted(TransportFailure)
    }

    /// What the transfer goes on with, all connections having ended.
    package var conclusion: Conclusion {
        if plan.isComplete, isShared { return .segmentsEnded }
        if let failure { return .interrupted(failure) }
        return isShared ? .segmentsEnded : .bodyEnded
    }
}
