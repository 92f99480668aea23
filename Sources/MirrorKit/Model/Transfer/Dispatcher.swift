/// Decides which transfer may start now, at which host, and for how long nothing will change.
///
/// Only the dispatcher knows why each transfer waits: for a place, for a host, or for a time. So
/// only the dispatcher can compute how long the loop may sleep (`timeToWait`). The result is 0
/// whenever a waiting transfer could have a place.
///
/// At most `jobs` transfers run at once, and at each host a limited number. A request counts at the
/// host that it really goes to, also after redirects. Transfers start by priority, then by number.
///
/// A host that does not answer must not delay the others:
///
/// - While hosts that answer have work, the hosts without an answer hold together at most a quarter
///   of the places.
/// - A try without an answer lends its place to another host once the try has lasted longer than
///   its host's patience. The patience doubles each time, so a slow host gets its chance in the
///   end.
/// - Once a try failed without an answer, the host gets one try at a time, for all its transfers
///   together (`Outage`). After the last try the host is down, and all its transfers learn that at
///   once.
///
/// The caller reports the time (`advance`), in milliseconds of any clock that never goes back.
struct Dispatcher: ~Copyable, Sendable {
    struct Place {
        var host: Int
        /// The present try: its number in the run, and when it began, in milliseconds.
        var attempt: (transfer: Int, number: Int, began: Int64)
        let isBrief: Bool
        /// Whether the place exceeds the host's limit, to learn that the host gets no requests.
        var isBeyondLimit: Bool
    }

    private var jobs: Int
    /// The greatest number of places that a rate limit leaves. `nil` means that there is no limit.
    private var mostForRate: Int?
    private var queue: StartQueue
    private var places: [Int: Place] = [:]
    private var delays = DelayQueue()
    /// The number of places for further connections, which transfers hold beside their own.
    private var extras = 0
    private var attempts = 0

    /// - Parameters:
    ///   - jobs: transfers at once.
    ///   - perHost: transfers at once to one host; nil makes `HostPace` measure the number.
    ///   - policy: the waits between tries at a host that does not answer.
    ///   - now: milliseconds.
    init(
        jobs: Int, perHost: Int?,
        policy: TransferPolicy = TransferPolicy(retries: 7, maxWait: .seconds(300)),
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
    var learnedLimits: [Host: Int] { queue.hosts.learnedLimits }

    /// How many transfers have a place.
    var runningCount: Int { places.count }

    /// How many places are held, including the places of further connections.
    var placesInUse: Int { places.count + extras }

    /// Whether a transfer has a place.
    func isRunning(_ id: Int) -> Bool { places[id] != nil }

    private var now: Int64 { queue.now }
}

// MARK: Waiting

extension Dispatcher {
    /// Advances the clock, and opens the hosts whose waits are over.
    ///
    /// - Parameter hasRead: whether the loop has read its sockets until now. If not, a response may
    ///   wait unread, so silence proves nothing.
    mutating func advance(to now: Int64, hasRead: Bool = true) {
        queue.advance(to: now, hasRead: hasRead)
    }

    /// Returns the milliseconds until a transfer may be able to start.
    ///
    /// Returns 0 if a transfer can start now. Returns nil if the passing of time alone opens
    /// nothing.
    mutating func timeToWait() -> Int64? {
        if hasFreePlace, queue.hasCandidate { return 0 }
        let next = [queue.nextOpening, delays.next].compactMap { $0 }.min()
        return next.map { max(0, $0 - now) }
    }

    /// Queues a transfer for a place at a host.
    ///
    /// - Parameters:
    ///   - hasOthers: whether the transfer can use another host if this one does not answer.
    ///   - isBrief: whether its response is expected to take little more than a round trip.
    ///   - isProbe: whether the host gets one transfer at a time until it has answered.
    mutating func add(
        _ id: Int, priority: Int32, host: Host, hasOthers: Bool = false, isBrief: Bool = false,
        isProbe: Bool = false
    ) {
        queue.add(
            id, priority: priority, host: host, hasOthers: hasOthers, isBrief: isBrief,
            isProbe: isProbe)
    }

    /// Removes a transfer from the queue, or ends its wait.
    mutating func remove(_ id: Int) {
        delays.remove(id)
        queue.remove(id)
    }

    /// Gives a transfer's place back, and lets the transfer wait until a time in milliseconds.
    ///
    /// - Parameter endsWithNetwork: whether the return of the network ends the wait.
    mutating func delay(_ id: Int, until: Int64, endsWithNetwork: Bool = false) {
        release(id)
        delays.insert(id, until: until, endsWithNetwork: endsWithNetwork)
    }

    /// Removes and returns the next transfer whose wait is over. Returns nil if there is none.
    mutating func popWoken() -> Int? { delays.popFirst(at: now) }

    /// Ends waits early, because the network is back.
    ///
    /// Hosts that do not answer may be tried at once. So may transfers that wait because they lost
    /// a connection.
    mutating func networkReturned() {
        delays.endWithNetwork(at: now)
        queue.networkReturned()
    }
}

// MARK: Places

extension Dispatcher {
    private var hasFreePlace: Bool { placesInUse < min(jobs, mostForRate ?? jobs) }

    /// Leaves so many places that each transfer gets a share of a rate limit that is worth it.
    ///
    /// Otherwise all files would come at the same time, each hardly at all.
    ///
    /// - Parameter rate: bytes a second for all transfers; nil for no limit.
    mutating func follow(rate: Int64?) {
        mostForRate = rate.map { Int(clamping: max(4, $0 / Dispatcher.leastShare)) }
    }

    /// The share of a rate limit that a transfer gets at least, in bytes a second.
    private static let leastShare: Int64 = 32 << 10

    /// Gives the next transfer a place. Returns nil if no transfer can start or no place is free.
    mutating func next() -> Int? {
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
    mutating func release(_ id: Int) {
        guard let place = places.removeValue(forKey: id) else { return }
        queue.noteEnd(at: place.host)
    }

    /// Returns whether a transfer with a place may ask a host now. If so, its place moves there.
    mutating func admit(_ id: Int, to name: Host) -> HostAdmission {
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
    /// Returns false if no place is free, or if a transfer waits for one.
    mutating func takeExtra(at name: Host) -> Bool {
        let host = queue.number(of: name)
        guard hasFreePlace, !isWaitedFor(at: name), queue.hosts.states[host].refusedUntil <= now,
            !queue.hosts.states[host].isDown, queue.hosts.hasRoomForExtra(host, now: now)
        else { return false }
        extras += 1
        queue.occupy(host)
        return true
    }

    /// Gives the place of a further connection back.
    mutating func releaseExtra(at host: Host) {
        extras -= 1
        queue.leave(queue.number(of: host))
    }

    /// Whether a transfer could start if a further connection to this host gave its place back.
    mutating func isWaitedFor(at name: Host) -> Bool {
        queue.isWaitedFor(queue.number(of: name)) || queue.hasCandidate
    }

    /// Lowers the number of transfers at once to one below the places in use, and returns it.
    ///
    /// The process has no file descriptors for more connections.
    mutating func lowerJobs() -> Int {
        jobs = max(1, min(jobs, places.count + extras) - 1)
        queue.unansweredLimit = Dispatcher.quarter(of: jobs)
        return jobs
    }

    /// Returns the transfers whose places other transfers should get now.
    ///
    /// Their tries have had no answer for longer than their hosts' patience, while a transfer that
    /// may be answered waits for a place. The caller asks on each pass of its loop.
    mutating func lenders() -> [Int] {
        guard isShortOfPlaces else { return [] }
        return places.filter {
            mayLend($0.value) && $0.value.attempt.began + patience($0.value) <= now
        }
        .map(\.key).sorted()
    }

    /// Takes a transfer's place back, so that another transfer gets it.
    ///
    /// The caller aborts the try and repeats it later. The host's patience doubles.
    mutating func lend(_ id: Int) {
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
    /// - Parameter isShared: whether other requests can use the connection as well (HTTP/2).
    mutating func answered(_ id: Int, isShared: Bool = false) {
        guard let place = places[id] else { return }
        let now = now
        if isShared || queue.hosts.states[place.host].pace?.isOpening == true {
            queue.changePace(of: place.host) { pace in
                pace.answered(after: now - place.attempt.began)
                // A long body uses HTTP/1.1 even if its host speaks HTTP/2. So an unshared
                // connection is no evidence against sharing.
                if isShared { pace.sharesConnection(isBrief: place.isBrief, now: now) }
            }
        }
        queue.answered(at: place.host)
    }

    /// Notes that the head of a response came from a host, also for a further connection.
    mutating func answered(at name: Host) { queue.answered(at: queue.number(of: name)) }

    /// Whether a host has answered and counts as reachable.
    mutating func hasAnswered(_ name: Host) -> Bool {
        let host = queue.number(of: name)
        if case .answering = queue.hosts.states[host].reach { return true }
        return false
    }

    /// Milliseconds since a transfer asked for its request; 0 if the transfer has no place.
    func timeAsked(_ id: Int) -> Int64 { places[id].map { now - $0.attempt.began } ?? 0 }

    /// Notes that a transfer's request has a connection.
    ///
    /// - Parameter isShared: returns whether other requests use the connection as well (HTTP/2). It
    ///   is called only until the host is known to share connections.
    mutating func connected(_ id: Int, isShared: () -> Bool) {
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

    /// Notes that a transfer's request ended without a head. Returns what that means for the host.
    mutating func failed(_ id: Int, _ failure: TransportFailure) -> HostSilence {
        guard let place = places[id], place.host != HostTable.nowhere else { return .ofTransfer }
        return queue.failed(place.attempt, at: place.host, failure, last: attempts)
    }

    /// Leaves a host alone until a time in milliseconds.
    ///
    /// If that is too long to wait, its transfers get places all the same. `admit` then refuses
    /// them with the reason.
    mutating func hold(_ name: Host, until: Int64, isTooLong: Bool) {
        let host = queue.number(of: name)
        queue.hold(host, until: until, isTooLong: isTooLong)
    }

    /// Notes that a host asked for fewer requests after it got a further connection.
    mutating func refuseExtras(at name: Host) { queue.hosts.crowded.insert(name) }

    /// Whether a host may get further connections, if a place is free.
    func mayTakeExtra(at name: Host) -> Bool { !queue.hosts.crowded.contains(name) }

    /// Notes what a host's responses have shown about its protocols.
    mutating func know(_ protocols: HostProtocols, of name: Host) {
        queue.hosts.protocols[name, default: HostProtocols()].learn(protocols)
        if protocols.forbidsSharing {
            queue.changePace(of: queue.number(of: name)) { $0.stopsSharing() }
        }
    }

    /// What each host has shown about its protocols; other hosts speak the usual ones.
    var hostProtocols: [Host: HostProtocols] { queue.hosts.protocols }

    /// For how many milliseconds a host must not be asked, because it said so or does not answer.
    mutating func timeClosed(_ name: Host) -> Int64 {
        let host = queue.number(of: name)
        return max(0, queue.hosts.states[host].opensAt - now)
    }

    /// Counts bytes that a running transfer received.
    mutating func received(_ bytes: Int, by id: Int) {
        if let host = places[id]?.host { queue.hosts.states[host].pace?.received(bytes) }
    }

    /// Halves the limit of a transfer's host.
    ///
    /// The host reported overload, hung up or let the request stall.
    mutating func backOff(_ id: Int) {
        guard let place = places[id] else { return }
        queue.backOff(place.attempt, at: place.host)
    }

    /// Updates the measured limits of the hosts. Does nothing if the limit is fixed.
    mutating func measure() { queue.measure() }
}

/// Whether a transfer that has a place may ask a host now.
enum HostAdmission: Sendable {
    /// The transfer may ask. Its place is at that host now.
    case ask
    /// The transfer has to wait for a place at the host.
    case waits
    /// The host does not answer. A transfer with another source should ask that source.
    case elsewhere
    /// The host asked to be left alone for `milliseconds`, which is too long to wait.
    case refused(milliseconds: Int64)
    /// The host gets no more requests in this run.
    case down(Outage)
}
