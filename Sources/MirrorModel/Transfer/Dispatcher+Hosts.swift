/// What hosts do, and what follows for those that ask them.
extension Dispatcher {
    /// A head came in answer to a transfer's request.
    ///
    /// - Parameter isShared: whether others can have its connection as well (HTTP/2).
    package mutating func answered(_ id: Int, isShared: Bool = false) {
        guard let place = places[id] else { return }
        let now = now
        changePace(of: place.host) { pace in
            pace.answered(after: now - place.attempt.began)
            // A long body is asked for over HTTP/1.1 whatever its host speaks: it says nothing against that.
            if isShared {
                pace.sharesConnection(isBrief: place.isBrief, now: now)
            }
        }
        if hosts.answered(place.host) { reconsider(place.host) }
    }

    /// A transfer's request has a connection.
    ///
    /// - Parameter isShared: whether others have it as well (HTTP/2); asked for only while that was not
    ///   seen of the host.
    package mutating func connected(_ id: Int, isShared: () -> Bool) {
        guard let place = places[id] else { return }
        let now = now
        changePace(of: place.host) { pace in
            pace.connected(
                after: now - place.attempt.began, isBrief: place.isBrief, now: now)
            if !pace.sharesConnections, isShared() {
                pace.sharesConnection(isBrief: place.isBrief, now: now)
            }
        }
    }

    /// Changes what is measured of a host; a greater number lets others begin.
    private mutating func changePace(of host: Int, _ change: (inout HostPace) -> Void) {
        guard var pace = hosts.states[host].pace else { return }
        let before = pace.limit
        // Written back at once: the table must have one owner while it changes.
        change(&pace)
        hosts.states[host].pace = pace
        if pace.limit > before { reconsider(host) }
    }

    /// A transfer's request at a host is over.
    mutating func noteEnd(at host: Int) {
        dropEnded(host)
        let isFull = !hosts.states[host].waiting.isEmpty
        hosts.states[host].pace?.ended(isFull: isFull, now: now)
    }

    /// A head came from a host.
    package mutating func answered(at name: Host) {
        let host = hosts.number(of: name, now: now)
        if hosts.answered(host) { reconsider(host) }
    }

    /// A transfer's request ended without a head.
    package mutating func failed(_ id: Int, _ failure: TransportFailure) -> Silence {
        guard let place = places[id], place.host != HostTable.nowhere else { return .ofTransfer }
        let silence = hosts.failed(
            place.host, failure, of: place.attempt, last: attempts, now: now)
        if case .ofTransfer = silence { return silence }
        // Those that can go elsewhere do not wait for this host.
        var (staying, others) = (PriorityQueue<QueuedTransfer>(), [QueuedTransfer]())
        if hosts.states[place.host].isAway {
            while let transfer = hosts.states[place.host].waiting.popFirst() {
                if transfer.hasOthers { others.append(transfer) } else { staying.insert(transfer) }
            }
            hosts.states[place.host].waiting = staying
        }
        reconsider(place.host)
        for transfer in others { enter(transfer, at: place.host) }
        return silence
    }

    /// Leaves a host alone until a time in milliseconds.
    ///
    /// When that is too long to wait for, transfers get their place all the same, and find out by
    /// `admit`.
    package mutating func hold(_ name: Host, until: Int64, isTooLong: Bool) {
        let host = hosts.number(of: name, now: now)
        if isTooLong {
            hosts.states[host].refusedUntil = max(hosts.states[host].refusedUntil, until)
        } else {
            hosts.states[host].heldUntil = max(hosts.states[host].heldUntil, until)
        }
        reconsider(host)
    }

    /// A host that got a further connection asked for fewer requests.
    package mutating func refuseExtras(at name: Host) { hosts.crowded.insert(name) }

    /// Whether a host may get further connections, where there is a place.
    package func mayTakeExtra(at name: Host) -> Bool { !hosts.crowded.contains(name) }

    /// A host answered nothing over HTTP/1.1: from now on it chooses the protocol.
    package mutating func leaveProtocol(to name: Host) { hosts.withoutHTTP1.insert(name) }

    /// Whether a host chooses the protocol.
    package func choosesProtocol(_ name: Host) -> Bool {
        !hosts.withoutHTTP1.isEmpty && hosts.withoutHTTP1.contains(name)
    }

    /// For how many milliseconds a host is not to be asked: it said so, or does not answer.
    package mutating func timeClosed(_ name: Host) -> Int64 {
        max(0, hosts.states[hosts.number(of: name, now: now)].opensAt - now)
    }

    /// Those whose tries have had no answer for longer than their hosts' patience, while others that
    /// may be answered wait for their places. To be asked for at each look.
    package mutating func lenders() -> [Int] {
        guard isShortOfPlaces else { return [] }
        return places.filter {
            mayLend($0.value) && $0.value.attempt.began + patience($0.value) <= now
        }
        .map(\.key).sorted()
    }

    /// A transfer lends its place: its try is broken off, and made again with more patience.
    package mutating func lend(_ id: Int) {
        guard let place = places[id] else { return }
        if patience(place) <= now - place.attempt.began {
            hosts.states[place.host].patience *= 2
        }
        release(id)
    }

    private func patience(_ place: Place) -> Int64 { hosts.states[place.host].patience }

    private func mayLend(_ place: Place) -> Bool {
        hosts.states[place.host].isUnanswered && patience(place) <= HostState.lastPatience
    }

    private var isShortOfPlaces: Bool {
        mutating get {
            guard !hasFreePlace, hosts.unansweredPlaces > 0 else { return false }
            if ready.first(.fresh, hosts.states) != nil { return true }
            return hosts.unansweredPlaces > quarter
                && ready.first(.known, hosts.states) != nil
        }
    }

    /// Counts bytes that a running transfer received.
    package mutating func received(_ bytes: Int, by id: Int) {
        if let host = places[id]?.host { hosts.states[host].pace?.received(bytes) }
    }

    /// A host that a running transfer asks had too much, or hung up.
    package mutating func backOff(_ id: Int) {
        guard let place = places[id] else { return }
        hosts.states[place.host].pace?.backOff(requestBegan: place.attempt.began, now: now)
    }

    /// Measures, where the numbers of transfers are found by that.
    package mutating func measure() {
        for host in hosts.measure(now: now) { reconsider(host) }
    }
}
