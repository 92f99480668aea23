/// Decides which transfer may start now, at which host, and how long nothing will change.
///
/// It alone knows the reason for which each transfer waits: a place, a host that asked to be left
/// alone, a host that does not answer, a time. So it alone can say how long a loop may sleep
/// (`timeToWait`), and that is 0 whenever a waiting transfer could have a place.
///
/// The limits: `jobs` transfers at once, and a number at each host, counted at the host that a
/// request really goes to. The order: by priority, then in order. A host that does not answer must
/// not delay the others:
///
/// - While hosts that answer have work, those without an answer hold a quarter of the places
///   together.
/// - A try without an answer lends its place to a host that has waited longer than the try's
///   patience. The patience doubles each time, so that a slow host gets its chance in the end.
/// - Once a try failed without an answer, the host gets one try at a time, for all its
///   transfers together (`Outage`). After the last try the host is down, and all its transfers learn
///   that at once.
///
/// The caller reports the time (`advance`), in milliseconds of any clock that never goes back.
package struct Dispatcher: ~Copyable, Sendable {
    struct Place {
        var host: Int
        /// The try: its number among all tries of a run, and when it began, in milliseconds.
        var attempt: (transfer: Int, number: Int, began: Int64)
        let isBrief: Bool
        /// Whether it was given beyond the host's number, to learn that the host is not asked.
        var isBeyondLimit: Bool
    }

    private var jobs: Int
    private var queue: StartQueue
    private var places: [Int: Place] = [:]
    private var delays = DelayQueue()
    /// The number of places that transfers hold beside their own.
    private var extras = 0
    private var attempts = 0

    /// - Parameters:
    ///   - jobs: transfers at once.
    ///   - perHost: transfers at once to one host; nil finds the number for each by measurement.
    ///   - policy: the waits between tries at a host that does not answer.
    ///   - now: milliseconds.
    package init(
        jobs: Int, perHost: Int?,
        policy: TransferPolicy = TransferPolicy(retries: 7, longestWait: 300),
        remembered: [Host: Int] = [:], now: Int64 = 0,
        jitter: @escaping @Sendable (Int64) -> Int64 = { Int64.random(in: 0...$0) }
    ) {
        self.jobs = max(1, jobs)
        let hosts = HostTable(
            perHost: perHost, jobs: self.jobs, policy: policy, remembered: remembered,
            jitter: jitter)
        queue = StartQueue(hosts, unansweredLimit: Dispatcher.quarter(of: self.jobs), now: now)
    }

    /// A quarter of the places, and at least one.
    private static func quarter(of jobs: Int) -> Int { max(1, jobs / 4) }

    /// The number of transfers at once that suits each host, as far as this run found out.
    package var learnedLimits: [Host: Int] { queue.hosts.learnedLimits }

    /// How many transfers have a place.
    package var runningCount: Int { places.count }

    /// How many places are held, those of further connections included.
    package var placesInUse: Int { places.count + extras }

    /// Whether a transfer has a place.
    package func isRunning(_ id: Int) -> Bool { places[id] != nil }

    private var now: Int64 { queue.now }
}

// MARK: Waiting

extension Dispatcher {
    /// Advances the clock; hosts that no longer need to be left alone may be asked again.
    ///
    /// - Parameter hasRead: whether sockets were read until now.
    package mutating func advance(to now: Int64, hasRead: Bool = true) {
        queue.advance(to: now, hasRead: hasRead)
    }

    /// For how many milliseconds no transfer can start.
    ///
    /// It is 0 when one can start now, and nil when the passing of time changes nothing.
    package mutating func timeToWait() -> Int64? {
        if hasFreePlace, queue.hasCandidate { return 0 }
        let next = [queue.nextOpening, delays.next].compactMap { $0 }.min()
        return next.map { max(0, $0 - now) }
    }

    /// Queues a transfer that asks a host.
    ///
    /// - Parameters:
    ///   - hasOthers: whether it can use another host when this one does not answer.
    ///   - isBrief: whether its response is expected to take little more than a round trip.
    package mutating func add(
        _ id: Int, priority: Int32, host: Host, hasOthers: Bool = false, isBrief: Bool = false
    ) {
        queue.add(id, priority: priority, host: host, hasOthers: hasOthers, isBrief: isBrief)
    }

    /// Removes a transfer from the queue, or ends its wait.
    package mutating func remove(_ id: Int) {
        delays.remove(id)
        queue.remove(id)
    }

    /// Gives a transfer's place back, and makes it wait until a time.
    ///
    /// - Parameter endsWithNetwork: whether the return of the network ends the wait.
    package mutating func delay(_ id: Int, until: Int64, endsWithNetwork: Bool = false) {
        release(id)
        delays.insert(id, until: until, endsWithNetwork: endsWithNetwork)
    }

    /// The next transfer whose wait is over.
    package mutating func popWoken() -> Int? { delays.popFirst(at: now) }

    /// Ends waits, because the network is back.
    ///
    /// Hosts that do not answer are tried at once, and so are transfers that wait because of a lost
    /// connection.
    package mutating func networkReturned() {
        delays.endWithNetwork(at: now)
        queue.networkReturned()
    }
}

// MARK: Places

extension Dispatcher {
    private var hasFreePlace: Bool { placesInUse < jobs }

    /// Gives the next transfer a place; nil when none can start, or no place is free.
    package mutating func next() -> Int? {
        guard hasFreePlace, let (transfer, host) = queue.popFirst() else { return nil }
        take(transfer.id, at: host, isBrief: transfer.isBrief)
        return transfer.id
    }

    private mutating func take(_ id: Int, at host: Int, isBrief: Bool) {
        places[id] = Place(
            host: host, attempt: nextAttempt(of: id), isBrief: isBrief,
            isBeyondLimit: !queue.hosts.isAsked(host, now: now))
        queue.occupy(host)
    }

    private mutating func nextAttempt(
        of id: Int
    ) -> (transfer: Int, number: Int, began: Int64) {
        attempts += 1
        return (id, attempts, now)
    }

    /// Gives a transfer's place back.
    package mutating func release(_ id: Int) {
        guard let place = places.removeValue(forKey: id) else { return }
        queue.noteEnd(at: place.host)
    }

    /// Whether a transfer that has a place may ask a host; if so, its place moves there.
    package mutating func admit(_ id: Int, to name: Host) -> HostAdmission {
        guard let index = places.index(forKey: id) else { return .waits }
        let place = places.values[index]
        let host = queue.number(of: name)
        let refusedUntil = queue.hosts.states[host].refusedUntil
        let opensAt = queue.hosts.states[host].opensAt
        if refusedUntil > now { return .refused(milliseconds: refusedUntil - now) }
        let isThere = place.host == host
        switch queue.hosts.states[host].reach {
        case .down(let outage): return .down(outage)
        case .away(let outage):
            let isFirst = queue.hosts.states[host].running == (isThere ? 1 : 0) && opensAt <= now
            guard isFirst, isThere || !outage.isSlow else { return .elsewhere }
            if isThere, queue.givesWay(id, at: host) { return .waits }
        case .unknown, .answering: break
        }
        if isThere {
            let isOneTooMany = place.isBeyondLimit && queue.hosts.isCrowded(host)
            guard opensAt <= now, !isOneTooMany else { return .waits }
            let attempt = nextAttempt(of: id)
            (places.values[index].attempt, places.values[index].isBeyondLimit) = (attempt, false)
            return .ask
        }
        guard queue.hosts.hasRoom(host, now: now) else { return .waits }
        places[id] = nil
        queue.leave(place.host)
        take(id, at: host, isBrief: place.isBrief)
        return .ask
    }

    /// Takes a place for a further connection of a transfer.
    ///
    /// Returns false when there is none, or when a transfer waits for one.
    package mutating func takeExtra(at name: Host) -> Bool {
        let host = queue.number(of: name)
        guard hasFreePlace, !isWaitedFor(at: name), queue.hosts.states[host].refusedUntil <= now,
            !queue.hosts.states[host].isDown, queue.hosts.hasRoomForExtra(host, now: now)
        else { return false }
        extras += 1
        queue.occupy(host)
        return true
    }

    /// Gives the place of a further connection back.
    package mutating func releaseExtra(at host: Host) {
        extras -= 1
        queue.leave(queue.number(of: host))
    }

    /// Whether a transfer could start if a further connection to a host gave its place back.
    package mutating func isWaitedFor(at name: Host) -> Bool {
        queue.isWaitedFor(queue.number(of: name)) || queue.hasCandidate
    }

    /// Lowers the number of transfers at once, and returns it.
    ///
    /// No descriptors are left for more than now.
    package mutating func lowerJobs() -> Int {
        jobs = max(1, min(jobs, places.count + extras) - 1)
        queue.unansweredLimit = Dispatcher.quarter(of: jobs)
        return jobs
    }

    /// The transfers whose places go to others now.
    ///
    /// Their tries have had no answer for longer than their hosts' patience, while other transfers
    /// that may be answered wait for places. The caller asks at each look.
    package mutating func lenders() -> [Int] {
        guard isShortOfPlaces else { return [] }
        return places.filter {
            mayLend($0.value) && $0.value.attempt.began + patience($0.value) <= now
        }
        .map(\.key).sorted()
    }

    /// Takes a transfer's place for others.
    ///
    /// Its try is aborted, and repeated later with more patience.
    package mutating func lend(_ id: Int) {
        guard let place = places[id] else { return }
        if patience(place) <= now - place.attempt.began {
            queue.hosts.states[place.host].patience *= 2
        }
        release(id)
    }

    private func patience(_ place: Place) -> Int64 { queue.hosts.states[place.host].patience }

    private func mayLend(_ place: Place) -> Bool {
        queue.hosts.states[place.host].isUnanswered && patience(place) <= HostState.lastPatience
    }

    private var isShortOfPlaces: Bool {
        mutating get {
            guard !hasFreePlace, queue.hosts.unansweredPlaces > 0 else { return false }
            if queue.hasCandidate(.fresh) { return true }
            return queue.hosts.unansweredPlaces > queue.unansweredLimit
                && queue.hasCandidate(.known)
        }
    }
}

// MARK: What hosts do

extension Dispatcher {
    /// Notes the head of a response to a transfer's request.
    ///
    /// - Parameter isShared: whether other requests can use its connection as well (HTTP/2).
    package mutating func answered(_ id: Int, isShared: Bool = false) {
        guard let place = places[id] else { return }
        let now = now
        if isShared || queue.hosts.states[place.host].pace?.isOpening == true {
            queue.changePace(of: place.host) { pace in
                pace.answered(after: now - place.attempt.began)
                // A long body is requested over HTTP/1.1 even where its host speaks HTTP/2, so it is
                // no evidence against sharing.
                if isShared { pace.sharesConnection(isBrief: place.isBrief, now: now) }
            }
        }
        queue.answered(at: place.host)
    }

    /// Notes that a head came from a host.
    package mutating func answered(at name: Host) { queue.answered(at: queue.number(of: name)) }

    /// Whether a host has answered and can be reached.
    package mutating func hasAnswered(_ name: Host) -> Bool {
        let host = queue.number(of: name)
        if case .answering = queue.hosts.states[host].reach { return true }
        return false
    }

    /// Milliseconds since a transfer's request was wanted; 0 where it has no place.
    package func timeAsked(_ id: Int) -> Int64 { places[id].map { now - $0.attempt.began } ?? 0 }

    /// Notes that a transfer's request has a connection.
    ///
    /// - Parameter isShared: whether others use it as well (HTTP/2); called only until the host was
    ///   seen to share one.
    package mutating func connected(_ id: Int, isShared: () -> Bool) {
        guard let place = places[id] else { return }
        let now = now
        queue.changePace(of: place.host) { pace in
            pace.connected(
                after: now - place.attempt.began, isBrief: place.isBrief, now: now)
            if !pace.sharesConnections, isShared() {
                pace.sharesConnection(isBrief: place.isBrief, now: now)
            }
        }
    }

    /// Notes that a transfer's request ended without a head.
    package mutating func failed(_ id: Int, _ failure: TransportFailure) -> HostSilence {
        guard let place = places[id], place.host != HostTable.nowhere else { return .ofTransfer }
        return queue.failed(place.attempt, at: place.host, failure, last: attempts)
    }

    /// Leaves a host alone until a time in milliseconds.
    ///
    /// When that is too long to wait, transfers get their places all the same, and learn the reason
    /// from `admit`.
    package mutating func hold(_ name: Host, until: Int64, isTooLong: Bool) {
        let host = queue.number(of: name)
        queue.hold(host, until: until, isTooLong: isTooLong)
    }

    /// Notes a host that got a further connection and asked for fewer requests.
    package mutating func refuseExtras(at name: Host) { queue.hosts.crowded.insert(name) }

    /// Whether a host may get further connections, if a place is free.
    package func mayTakeExtra(at name: Host) -> Bool { !queue.hosts.crowded.contains(name) }

    /// Notes which protocols a host has shown that it speaks.
    package mutating func know(_ protocols: HostProtocols, of name: Host) {
        queue.hosts.protocols[name, default: HostProtocols()].learn(protocols)
        if protocols.forbidsSharing {
            queue.changePace(of: queue.number(of: name)) { $0.stopsSharing() }
        }
    }

    /// The hosts that do not speak the protocols that are usual.
    package var hostProtocols: [Host: HostProtocols] { queue.hosts.protocols }

    /// For how many milliseconds a host must not be asked: it said so, or does not answer.
    package mutating func timeClosed(_ name: Host) -> Int64 {
        let host = queue.number(of: name)
        return max(0, queue.hosts.states[host].opensAt - now)
    }

    /// Counts bytes that a running transfer received.
    package mutating func received(_ bytes: Int, by id: Int) {
        if let host = places[id]?.host { queue.hosts.states[host].pace?.received(bytes) }
    }

    /// Notes that a running transfer's host reported overload, hung up or let it stall.
    package mutating func backOff(_ id: Int) {
        guard let place = places[id] else { return }
        queue.backOff(place.attempt, at: place.host)
    }

    /// Measures the hosts, if measurement finds the numbers of transfers.
    package mutating func measure() { queue.measure() }
}

/// Whether a transfer that has a place may ask a host now.
package enum HostAdmission: Sendable {
    /// It may; its place is at that host now.
    case ask
    /// It has to wait for a place there.
    case waits
    /// The host does not answer: a transfer with another source should go there.
    case elsewhere
    /// The host asked to be left alone for `milliseconds`, which is too long to wait.
    case refused(milliseconds: Int64)
    /// The host is not asked any more in this run.
    case down(Outage)
}
