/// Events at hosts, and their effect on the transfers that ask them.
extension Dispatcher {
    /// Notes the head of a response to a transfer's request.
    ///
    /// - Parameter isShared: whether other requests can use its connection as well (HTTP/2).
    package mutating func answered(_ id: Int, isShared: Bool = false) {
        guard let place = places[id] else { return }
        let now = now
        changePace(of: place.host) { pace in
            pace.answered(after: now - place.attempt.began)
            // A long body is requested over HTTP/1.1 even where its host speaks HTTP/2, so it is no
            // evidence against sharing.
            if isShared {
                pace.sharesConnection(isBrief: place.isBrief, now: now)
            }
        }
        if hosts.answered(place.host) { reconsider(place.host) }
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
        changePace(of: place.host) { pace in
            pace.connected(
                after: now - place.attempt.began, isBrief: place.isBrief, now: now)
            if !pace.sharesConnections, isShared() {
                pace.sharesConnection(isBrief: place.isBrief, now: now)
            }
        }
    }

    /// Changes a host's measurement; a greater number lets other transfers begin.
    private mutating func changePace(of host: Int, _ change: (inout HostPace) -> Void) {
        guard var pace = hosts.states[host].pace else { return }
        let before = pace.limit
        // Written back at once: the table must have one owner while it changes.
        change(&pace)
        hosts.states[host].pace = pace
        // The first connection sets the time at which the number grows, even if it has not grown.
        if pace.limit > before || pace.growsAt != nil { reconsider(host) }
    }

    /// Notes that a transfer's request at a host is over.
    mutating func noteEnd(at host: Int) {
        dropEnded(host)
        let isFull = !hosts.states[host].waiting.isEmpty
        hosts.states[host].pace?.ended(isFull: isFull, now: now)
    }

    /// Notes that a head came from a host.
    package mutating func answered(at name: Host) {
        let host = hosts.number(of: name, now: now)
        if hosts.answered(host) { reconsider(host) }
    }

    /// Notes that a transfer's request ended without a head.
    package mutating func failed(_ id: Int, _ failure: TransportFailure) -> Silence {
        guard let place = places[id], place.host != HostTable.nowhere else { return .ofTransfer }
        let silence = hosts.failed(
            place.host, failure, of: place.attempt, last: attempts, now: now)
        if case .ofTransfer = silence {
            // A host that answers others, and not this one, may have more requests than it can
            // serve.
            if failure.code == .stalled { backOff(id) }
            return silence
        }
        // Transfers with another source do not wait for this host.
        var (staying, others) = (PriorityQueue<QueuedTransfer>(), [QueuedTransfer]())
        if hosts.states[place.host].isAway {
            while let transfer = hosts.states[place.host].waiting.popFirst() {
                if transfer.hasOthers { others.append(transfer) } else { staying.insert(transfer) }
            }
            hosts.states[place.host].waiting = staying
        }
        reconsider(place.host)
        for transfer in others { requeue(transfer, at: place.host) }
        return silence
    }

    /// Leaves a host alone until a time in milliseconds.
    ///
    /// When that is too long to wait, transfers get their places all the same, and learn the reason
    /// from `admit`.
    package mutating func hold(_ name: Host, until: Int64, isTooLong: Bool) {
        let host = hosts.number(of: name, now: now)
        if isTooLong {
            hosts.states[host].refusedUntil = max(hosts.states[host].refusedUntil, until)
        } else {
            hosts.states[host].heldUntil = max(hosts.states[host].heldUntil, until)
        }
        reconsider(host)
    }

    /// Notes a host that got a further connection and asked for fewer requests.
    package mutating func refuseExtras(at name: Host) { hosts.crowded.insert(name) }

    /// Whether a host may get further connections, if a place is free.
    package func mayTakeExtra(at name: Host) -> Bool { !hosts.crowded.contains(name) }

    /// Notes a host that gave no answer over HTTP/1.1: from now on it chooses the protocol.
    package mutating func leaveProtocol(to name: Host) { hosts.withoutHTTP1.insert(name) }

    /// Whether a host chooses the protocol.
    package func choosesProtocol(_ name: Host) -> Bool {
        !hosts.withoutHTTP1.isEmpty && hosts.withoutHTTP1.contains(name)
    }

    /// For how many milliseconds a host must not be asked: it said so, or does not answer.
    package mutating func timeClosed(_ name: Host) -> Int64 {
        max(0, hosts.states[hosts.number(of: name, now: now)].opensAt - now)
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
        .map(\.key.number).sorted()
    }

    /// Takes a transfer's place for others.
    ///
    /// Its try is aborted, and repeated later with more patience.
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

    /// Notes that a running transfer's host reported overload, or hung up.
    package mutating func backOff(_ id: Int) {
        guard let place = places[id] else { return }
        hosts.states[place.host].pace?.backOff(requestBegan: place.attempt.began, now: now)
    }

    /// Measures the hosts, if measurement finds the numbers of transfers.
    package mutating func measure() {
        for host in hosts.measure(now: now) { reconsider(host) }
    }
}
