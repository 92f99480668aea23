internal import MirrorModel
internal import MirrorSystem

/// Takes the heads and bytes of responses into their transfers.
///
/// The wire calls it, inside `perform` and `resume`. It changes the state of the transfer that a
/// response belongs to, and starts or ends no request. What it finds out is carried out when the
/// request has ended (`RequestEnds`).
final class ResponseIntake {
    private let register: TransferRegister
    private let requests: ActiveRequests
    private let throttle: ReadingThrottle
    private let connections: FurtherConnections
    private let work: TransferWork
    /// Returns the error that forbids a number of further bytes of a target; nil allows them.
    private let admit: @Sendable (Int64, Target) -> MirrorError?

    init(
        _ connections: FurtherConnections,
        admit: @escaping @Sendable (Int64, Target) -> MirrorError?
    ) {
        register = connections.register
        requests = connections.requests
        throttle = connections.throttle
        work = connections.work
        self.connections = connections
        self.admit = admit
    }

    /// Prepares the body that an accepted response will fill.
    func receive(
        _ reception: Reception, action: TransferAction, _ transfer: Transfer
    ) throws(MirrorError) {
        register.tell(action.notice, transfer)
        if action.dropsPart { try transfer.drop() }
        guard let identity = transfer.machine?.part?.identity else { return }
        if transfer.job.expectation.size == nil, let total = reception.total,
            let error = admit(
                total - max(reception.offset, transfer.segments?.state.plan.heldBytes ?? 0),
                transfer.job.target)
        {
            throw error
        }
        if reception.isRange, let body = transfer.body {
            guard body.length == reception.offset else {
                throw MirrorError(
                    .internalError,
                    "\(transfer.job.target): an answer from \(reception.offset) on, and \(body.length) bytes in hand."
                )
            }
            try body.continue(total: reception.total, provenance: reception.answer.provenance)
            return
        }
        transfer.body = IncomingBody(
            reception, identity: identity, of: transfer, by: work)
    }
}

extension ResponseIntake: ActiveRequest.Listener {
    /// Starts the stall clock, and tells the dispatcher that the request is connected.
    func began(_ active: ActiveRequest) {
        guard let transfer = register.transfers[active.id] else { return }
        requests.began(active, of: transfer)
        guard let plan = transfer.plan else { return }
        register.dispatcher.connected(active.id) {
            // HTTP/2 is offered over TLS only.
            plan.url.scheme == .https && active.sharesConnection
        }
    }

    func misplaced(_ active: ActiveRequest) { requests.misplace(active) }

    func heldBack(_ active: ActiveRequest) { requests.hold(active) }

    func received(head: ResponseHead, on active: ActiveRequest) -> Bool {
        requests.answered(head, on: active)
        guard let transfer = register.transfers[active.id] else { return false }
        register.dispatcher.answered(active.id, isShared: head.version == .http2)
        register.know(hostsOf: transfer)
        guard let action = transfer.machine?.answered(head, at: work.clock.now()) else {
            return false
        }
        guard case .receive(let reception) = action.next else {
            active.find(.acted(action))
            return false
        }
        do {
            try receive(reception, action: action, transfer)
            try connections.begin(reception, of: transfer)
            transfer.segments?.answered(in: head.version)
        } catch { active.find(.failedHere(error)) }
        return true
    }

    func received(bytes: UnsafeRawBufferPointer, on active: ActiveRequest)
        -> ActiveRequest.Reply
    {
        guard active.finding == nil, let transfer = register.transfers[active.id],
            let reception = transfer.machine?.reception, let body = transfer.body
        else { return .stop }
        if throttle.mustHoldBack(transfer, backlog: body.backlog) { return .pause }
        throttle.count(bytes.count, for: transfer)
        var bytes = bytes
        if let limit = reception.limit, body.length + Int64(bytes.count) > limit {
            active.find(.exceeded(limit: limit))
            bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(limit - body.length)))
        }
        if let segments = transfer.segments {
            let (taken, isCut) = segments.ownArrived(bytes.count)
            bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(taken))
            if isCut { active.find(.cut) }
        }
        do {
            try body.append(bytes, now: work.clock.monotonic())
        } catch { active.find(.failedHere(error)) }
        return active.finding == nil ? .proceed : .stop
    }
}
