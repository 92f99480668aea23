internal import MirrorModel
internal import MirrorSystem

/// The requests on the wire: which run, which hold their bytes back, and since when they ask.
///
/// Their numbers tell a request that still runs from one that ended while a list was walked: the
/// end of one request may end others.
final class ActiveRequests {
    let wire: any Wire
    /// The time of their stall clocks.
    private(set) var asking: AskingTime
    /// The requests that run, by number.
    private(set) var running: [Serial: ActiveRequest] = [:]
    private var made = 0
    /// Requests whose bytes wait within libcurl.
    private var heldBack: [ActiveRequest] = []
    /// Requests whose answers may belong to others.
    private var misplaced: [ActiveRequest] = []
    private let register: TransferRegister

    init(_ wire: any Wire, of register: TransferRegister, now: Int64) {
        self.wire = wire
        self.register = register
        asking = AskingTime(now: now)
    }

    /// Whether a request has not ended.
    func isRunning(_ active: ActiveRequest) -> Bool { running[active.number] === active }

    /// Reads the clock for the stall clocks. `hasAsked` says whether sockets were read until now.
    func look(now: Int64, hasAsked: Bool) { asking.look(now: now, hasAsked: hasAsked) }

    /// Prepares a request of a transfer's own connection or of a further connection.
    ///
    /// - Parameters:
    ///   - segment: the id of the further connection.
    ///   - isAlone: whether it must not share a connection.
    ///   - listener: receives what the wire reports.
    func prepare(
        _ plan: RequestPlan, for transfer: Transfer, segment: Int? = nil, stall: StallClock,
        isAlone: Bool = false, listener: any ActiveRequest.Listener
    ) throws(MirrorError) -> ActiveRequest {
        made += 1
        let active = ActiveRequest(
            number: made, id: transfer.job.id, segment: segment, listener: listener, stall: stall)
        try wire.prepare(
            WireRequest(
                plan: plan, source: transfer.job.sources[plan.source],
                postBody: transfer.job.postBody, opensConnection: isAlone || plan.isAlone),
            for: active)
        running[active.number] = active
        return active
    }

    /// Removes a request from the wire; its handle serves another.
    func breakOff(_ active: ActiveRequest) {
        wire.end(active)
        running[active.number] = nil
        guard active.segment == nil, let transfer = register.transfers[active.id] else { return }
        transfer.state = .working
        active.stall.end(at: asking.elapsed)
        transfer.stall = active.stall
    }
}

// MARK: Callbacks

extension ActiveRequests {
    /// Starts the stall clock: the request is connected.
    func began(_ active: ActiveRequest, of transfer: Transfer) {
        if !transfer.isPaused { active.stall.begin(at: asking.elapsed) }
    }

    /// Notes a head, which tells the dispatcher when the host has too much to do.
    func answered(_ head: ResponseHead, on active: ActiveRequest) {
        active.answeredAt = asking.elapsed
        if StatusCode.isOverload(head.status) { register.dispatcher.backOff(active.id) }
    }

    /// Notes a request whose answer may belong to another request.
    func misplace(_ active: ActiveRequest) { misplaced.append(active) }

    /// Takes the requests whose answers may belong to others, and those that share a connection of
    /// their host that did not show yet that it speaks HTTP/2.
    func takeMisplaced() -> [ActiveRequest] {
        guard !misplaced.isEmpty else { return [] }
        defer { misplaced = [] }
        let hosts = Set(misplaced.compactMap { register.transfers[$0.id]?.nextHost })
        return running.values.filter { active in
            if active.isMisplaced { return true }
            guard active.sharesConnection, active.version == nil,
                let host = register.transfers[active.id]?.nextHost
            else { return false }
            return hosts.contains(host)
        }
    }

    /// Notes a request whose bytes wait within libcurl.
    func hold(_ active: ActiveRequest) { heldBack.append(active) }
}

// MARK: Pauses

extension ActiveRequests {
    /// Stops the stall clocks of a transfer. A running request notices the pause when its next
    /// bytes come.
    func pause(_ id: Int) {
        for active in running.values where active.id == id {
            active.stall.end(at: asking.elapsed)
        }
    }

    /// Lets the stall clocks of a transfer begin anew. The loop resumes the requests.
    func resume(_ id: Int) {
        for active in running.values where active.id == id {
            active.stall.reset()
            if active.socket.isConnected { active.stall.begin(at: asking.elapsed) }
        }
    }

    /// Whether the loop could resume a request that was held back.
    var hasResumable: Bool { heldBack.contains(where: mayGoOn) }

    /// Takes the requests that were held back, each for a call of `goOn`.
    func takeHeldBack() -> [ActiveRequest] {
        guard !heldBack.isEmpty else { return [] }
        defer { heldBack = [] }
        return heldBack
    }

    /// Resumes a request that was held back, or keeps it for later; returns its end if it ended.
    func goOn(_ active: ActiveRequest, mayRead: Bool) -> WireEnd? {
        guard active.isHeldBack, isRunning(active) else { return nil }
        guard mayRead, mayGoOn(active) else {
            heldBack.append(active)
            return nil
        }
        active.isHeldBack = false
        return wire.resume(active)
    }

    /// Whether an active request was held back while it read, and its transfer may have more bytes.
    private func mayGoOn(_ active: ActiveRequest) -> Bool {
        guard active.isHeldBack, isRunning(active), let transfer = register.transfers[active.id]
        else { return false }
        return !transfer.isPaused && !transfer.job.hasSpentAll
    }
}
