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
/// - Once a try failed without an answer, the host gets one try at a time, in one ladder for all
///   its transfers (`Outage`). At the ladder's end the host is down, and all its transfers learn
///   that at once.
///
/// The caller reports the time (`advance`), in milliseconds of any clock that never goes back.
package struct Dispatcher: ~Copyable, Sendable {
    struct Place {
        var host: Int
        var attempt: HostAttempt
        let isBrief: Bool
    }

    /// Whether a transfer that has a place may ask a host now.
    package enum Admission: Sendable {
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

    /// The meaning of a failure without an answer for the host.
    package enum Silence: Sendable {
        /// No meaning: the host answers others.
        case ofTransfer
        /// The next try at the host comes in `milliseconds`, from any transfer.
        case ofHost(milliseconds: Int64)
        /// The host is not asked any more in this run.
        case forGood(Outage)
    }

    private var jobs: Int
    var now: Int64
    var hosts: HostTable
    var places: [Serial: Place] = [:]
    /// The transfers that wait for a place: their tickets and hosts.
    private var queued: [Serial: (ticket: Int, host: Int)] = [:]
    private var lastTicket = 0
    var ready = ReadyHosts()
    /// The times at which hosts may be asked again, or may be asked for more.
    private var openings = DelayQueue()
    private var delays = DelayQueue()
    /// The number of places that transfers hold beside their own.
    private var extras = 0
    var attempts = 0

    /// - Parameters:
    ///   - jobs: transfers at once.
    ///   - perHost: transfers at once to one host; nil finds the number for each by measurement.
    ///   - policy: the ladder of a host that does not answer.
    ///   - now: milliseconds.
    package init(
        jobs: Int, perHost: Int?,
        policy: RetryPolicy = RetryPolicy(retries: 7, longestWait: 300),
        remembered: [Host: Int] = [:], now: Int64 = 0,
        jitter: @escaping @Sendable (Int64) -> Int64 = { Int64.random(in: 0...$0) }
    ) {
        self.jobs = max(1, jobs)
        self.now = now
        hosts = HostTable(
            perHost: perHost, jobs: self.jobs, policy: policy, remembered: remembered,
            jitter: jitter)
    }

    /// The number of transfers at once that suits each host, as far as this run found out.
    package var learnedLimits: [Host: Int] { hosts.learnedLimits }

    /// How many transfers have a place.
    package var runningCount: Int { places.count }

    /// How many places are held, those of further connections included.
    package var placesInUse: Int { places.count + extras }

    /// Whether a transfer has a place.
    package func isRunning(_ id: Int) -> Bool { places[id] != nil }
}

// MARK: Waiting

extension Dispatcher {
    /// Advances the clock; hosts that no longer need to be left alone may be asked again.
    package mutating func advance(to now: Int64) {
        self.now = max(self.now, now)
        while let host = openings.popFirst(at: self.now) {
            hosts.states[host].pace?.passSilence(now: self.now)
            reconsider(host)
        }
    }

    /// For how many milliseconds no transfer can start.
    ///
    /// It is 0 when one can start now, and nil when the passing of time changes nothing.
    package mutating func timeToWait() -> Int64? {
        if hasFreePlace, hasCandidate { return 0 }
        let next = [openings.next, delays.next].compactMap { $0 }.min()
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
        lastTicket += 1
        let transfer = QueuedTransfer(
            id: id, priority: priority, ticket: lastTicket, hasOthers: hasOthers, isBrief: isBrief)
        let place = waitingPlace(of: transfer, at: hosts.number(of: host, now: now))
        queued[id] = (lastTicket, place)
        hosts.states[place].waiting.insert(transfer)
        reconsider(place)
    }

    /// Queues a transfer that waited at a host again, unless it was removed.
    mutating func requeue(_ transfer: QueuedTransfer, at host: Int) {
        let place = waitingPlace(of: transfer, at: host)
        queued[transfer.id]?.host = place
        hosts.states[place].waiting.insert(transfer)
        reconsider(place)
    }

    /// Where a transfer waits that asks a host.
    private func waitingPlace(of transfer: QueuedTransfer, at host: Int) -> Int {
        hosts.states[host].isAway && transfer.hasOthers ? HostTable.nowhere : host
    }

    /// Removes a transfer from the queue, or ends its wait.
    package mutating func remove(_ id: Int) {
        delays.remove(id)
        // A removed transfer must not look like one that could start.
        if let host = queued.removeValue(forKey: id)?.host { reconsider(host) }
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
        for host in hosts.endOutageWaits(at: now) { reconsider(host) }
    }
}

// MARK: Places

extension Dispatcher {
    var hasFreePlace: Bool { placesInUse < jobs }

    /// A quarter of the places, and at least one.
    var quarter: Int { max(1, jobs / 4) }

    private var hasCandidate: Bool {
        mutating get {
            ReadyHosts.Kind.allCases.contains { ready.first($0, hosts.states) != nil }
        }
    }

    /// Gives the next transfer a place; nil when none can start, or no place is free.
    package mutating func next() -> Int? {
        guard hasFreePlace, let host = bestHost(),
            let transfer = hosts.states[host].waiting.popFirst()
        else { return nil }
        queued[transfer.id] = nil
        take(transfer.id, at: host, isBrief: transfer.isBrief)
        return transfer.id
    }

    private mutating func bestHost() -> Int? {
        let known = ready.first(.known, hosts.states)
        let other =
            ready.first(.fresh, hosts.states) ?? ready.first(.reluctant, hosts.states)
        guard let known else { return other?.host }
        guard hosts.unansweredPlaces < quarter, let other, other.first < known.first else {
            return known.host
        }
        return other.host
    }

    private mutating func take(_ id: Int, at host: Int, isBrief: Bool) {
        places[id] = Place(host: host, attempt: nextAttempt(), isBrief: isBrief)
        hosts.occupy(host)
        reconsider(host)
    }

    private mutating func nextAttempt() -> HostAttempt {
        attempts += 1
        return HostAttempt(number: attempts, began: now)
    }

    private mutating func leave(_ host: Int) {
        hosts.leave(host)
        reconsider(host)
    }

    /// Gives a transfer's place back.
    package mutating func release(_ id: Int) {
        guard let place = places.removeValue(forKey: id) else { return }
        noteEnd(at: place.host)
        leave(place.host)
    }

    /// Whether a transfer that has a place may ask a host; if so, its place moves there.
    package mutating func admit(_ id: Int, to name: Host) -> Admission {
        guard let index = places.index(forKey: Serial(id)) else { return .waits }
        let place = places.values[index]
        let host = hosts.number(of: name, now: now)
        let (refusedUntil, opensAt) = (
            hosts.states[host].refusedUntil, hosts.states[host].opensAt
        )
        if refusedUntil > now { return .refused(milliseconds: refusedUntil - now) }
        let isThere = place.host == host
        switch hosts.states[host].reach {
        case .down(let outage): return .down(outage)
        case .away(let outage):
            let isFirst = hosts.states[host].running == (isThere ? 1 : 0) && opensAt <= now
            guard isFirst, isThere || !outage.isSlow else { return .elsewhere }
        case .unknown, .answering: break
        }
        if isThere {
            guard opensAt <= now else { return .waits }
            let attempt = nextAttempt()
            places.values[index].attempt = attempt
            return .ask
        }
        guard hosts.hasRoom(host, now: now) else { return .waits }
        places[id] = nil
        leave(place.host)
        take(id, at: host, isBrief: place.isBrief)
        return .ask
    }

    /// Takes a place for a further connection of a transfer.
    ///
    /// Returns false when there is none, or when a transfer waits for one.
    package mutating func takeExtra(at name: Host) -> Bool {
        let host = hosts.number(of: name, now: now)
        guard hasFreePlace, !isWaitedFor(at: name), hosts.states[host].refusedUntil <= now,
            !hosts.states[host].isDown, hosts.hasRoomForExtra(host, now: now)
        else { return false }
        hosts.occupy(host)
        extras += 1
        reconsider(host)
        return true
    }

    /// Gives the place of a further connection back.
    package mutating func releaseExtra(at host: Host) {
        extras -= 1
        leave(hosts.number(of: host, now: now))
    }

    /// Whether a transfer could start if a further connection to a host gave its place back.
    package mutating func isWaitedFor(at name: Host) -> Bool {
        let host = hosts.number(of: name, now: now)
        dropEnded(host)
        return hasCandidate || !hosts.states[host].waiting.isEmpty
    }

    /// Lowers the number of transfers at once, and returns it.
    ///
    /// No descriptors are left for more than now.
    package mutating func lowerJobs() -> Int {
        jobs = max(1, min(jobs, places.count + extras) - 1)
        return jobs
    }

    /// Enters a host among those at which a transfer could start now, or notes when one could.
    mutating func reconsider(_ host: Int) {
        hosts.states[host].stamp += 1
        dropEnded(host)
        guard let first = hosts.states[host].waiting.first else { return }
        if hosts.hasRoom(host, now: now) {
            let kind = hosts.states[host].kind(quarter: quarter, now: now)
            ready.insert(host, kind, first: first, stamp: hosts.states[host].stamp)
        } else if hosts.states[host].opensAt > now {
            openings.insert(host, until: hosts.states[host].opensAt)
        } else if !hosts.states[host].isAway, let time = hosts.states[host].pace?.growsAt {
            openings.insert(host, until: time)
        }
    }

    mutating func dropEnded(_ host: Int) {
        while let first = hosts.states[host].waiting.first,
            queued[first.id]?.ticket != first.ticket
        {
            _ = hosts.states[host].waiting.popFirst()
        }
    }
}
