internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// Handles heads, bytes and ends that libcurl reports.
extension TransferEngine: ActiveRequest.Listener {
    package func received(head: ResponseHead, on active: ActiveRequest) -> Bool {
        active.hasAnswered = true
        active.answeredAt = asking.elapsed
        if StatusCode.isOverload(head.status) { dispatcher.backOff(active.id) }
        guard let transfer = transfers[active.id] else { return false }
        if let segment = active.segment {
            return received(head: head, on: active, segment: segment, of: transfer)
        }
        dispatcher.answered(active.id, isShared: head.version == .http2)
        know(hostsOf: transfer)
        guard let action = transfer.machine?.answered(head, at: clock.now()) else {
            return false
        }
        guard case .receive(let reception) = action.next else {
            active.find(.acted(action))
            return false
        }
        do {
            try receive(reception, action: action, transfer, isCopied: false)
            try beginSegments(reception, of: transfer)
            transfer.segments?.state.isMultiplexed = head.version == .http2
        } catch { active.find(.failedHere(error)) }
        return true
    }

    package func received(bytes: UnsafeRawBufferPointer, on active: ActiveRequest)
        -> ActiveRequest.Reply
    {
        guard let transfer = transfers[active.id] else { return .stop }
        if let segment = active.segment {
            return received(bytes: bytes, on: active, segment: segment, of: transfer)
        }
        guard active.finding == nil, let reception = transfer.machine?.reception,
            let body = transfer.body
        else { return .stop }
        if mustHoldBack(transfer, backlog: body.backlog) { return .pause }
        count(bytes.count, for: transfer)
        var bytes = bytes
        if let limit = reception.limit, body.length + Int64(bytes.count) > limit {
            active.find(.exceeded(limit: limit))
            bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(limit - body.length)))
        }
        if let segments = transfer.segments {
            let (taken, isCut, passedOver) = segments.state.arrived(bytes.count)
            bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(taken))
            if passedOver { segmented.look(at: transfer.job.id) }
            if isCut { active.find(.cut) }
        }
        do {
            try body.append(bytes, now: clock.monotonic())
        } catch { active.find(.failedHere(error)) }
        return active.finding == nil ? .proceed : .stop
    }

    func heldBack(_ active: ActiveRequest) { heldBack.append(active) }

    /// Counts received bytes of a body.
    package func count(_ bytes: Int, for transfer: Transfer) {
        reading.take(bytes)
        transfer.cost.bytesReceived += Int64(bytes)
    }

    /// Prepares the body that an accepted response will fill.
    ///
    /// - Parameter isCopied: whether its bytes are those of a file, and not of a server.
    func receive(
        _ reception: Reception, action: TransferAction, _ transfer: Transfer, isCopied: Bool
    ) throws(MirrorError) {
        tell(action.notice, transfer)
        if action.dropsPart { try drop(transfer) }
        guard let identity = transfer.machine?.part?.identity else { return }
        if transfer.job.expectation.size == nil, let total = reception.total,
            let error = refusal(
                of: total - max(reception.offset, transfer.segments?.state.plan.heldBytes ?? 0),
                for: transfer.job.target)
        {
            throw error
        }
        if reception.offset > 0, let body = transfer.body {
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
            reception, identity: identity, isCopied: isCopied, of: transfer, in: self)
    }

    /// Handles the end of a request that the wire reports.
    package func ended(_ end: WireEnd) {
        let (active, failure) = (end.active, end.failure)
        guard activeRequests[active.number] === active, let transfer = transfers[active.id] else {
            return
        }
        if failure != nil, !active.hasSocket, !end.wasSent {
            transfer.requestsWithoutSocket += 1
        }
        if active.lacksDescriptor, wasShortOfDescriptors(active, transfer) { return }
        if let failure, failure.code == .connectionLost,
            transfer.machine?.mayRefuseProtocol(failure) != true
        {
            dispatcher.backOff(active.id)
        }
        if let segment = active.segment {
            return segmentEnded(active, segment, failure: failure)
        }
        ownEnded(active, of: transfer, failure: failure)
    }

    /// Ends the transfer's own request. A finding of its callbacks has priority over the wire's
    /// failure.
    private func ownEnded(
        _ active: ActiveRequest, of transfer: Transfer, failure: TransportFailure?
    ) {
        breakOff(active)
        switch active.finding {
        case .failedHere(let error): fail(transfer, error)
        case .acted(let action): act(action, transfer)
        case .refused(let refusal): decide(transfer) { $0.refused(refusal) }
        case .exceeded(let limit):
            transfer.body?.flush()
            decide(transfer) { $0.exceeded(limit: limit) }
        case .cut: conclude(transfer, failure: nil, hasAnswered: true)
        case .judged, nil:
            conclude(transfer, failure: failure, hasAnswered: active.hasAnswered)
        }
    }

    /// Ends the body, if there was one: completely, or with a failure.
    private func conclude(
        _ transfer: Transfer, failure: TransportFailure?, hasAnswered: Bool
    ) {
        guard transfer.machine?.reception != nil, let body = transfer.body else {
            let failure =
                failure
                ?? TransportFailure(
                    .malformedResponse, "the connection ended without an answer",
                    isPassing: true, wasSent: true)
            return hasAnswered ? interrupted(transfer, failure) : unanswered(transfer, failure)
        }
        body.flush()
        let length = body.length
        if let segments = transfer.segments {
            return ownEnded(transfer, segments, failure: failure)
        }
        guard let failure else { return decide(transfer) { $0.bodyEnded(length: length) } }
        interrupted(transfer, failure)
    }

    private func interrupted(_ transfer: Transfer, _ failure: TransportFailure) {
        let length = transfer.body?.length
        know(hostsOf: transfer)
        decide(transfer) { $0.interrupted(failure, length: length) }
    }

    /// Handles a request that brought no head. That may be the host's fault; then all transfers
    /// that need the host wait for it together.
    private func unanswered(_ transfer: Transfer, _ failure: TransportFailure) {
        guard transfer.machine?.mayRefuseProtocol(failure) != true else {
            return interrupted(transfer, failure)
        }
        dispatcher.advance(to: clock.monotonic())
        switch dispatcher.failed(transfer.job.id, failure) {
        case .ofTransfer: interrupted(transfer, failure)
        case .ofHost(let wait):
            wire.watchNetwork()
            know(hostsOf: transfer)
            decide(transfer) { $0.unreachable(failure, wait: wait) }
        case .forGood(let outage):
            know(hostsOf: transfer)
            let host = transfer.nextHost.description
            decide(transfer) { $0.hostIsDown(host, outage, wasAsked: true) }
        }
    }

    /// Tells a transfer with several sources which of their hosts must not be asked now.
    package func know(hostsOf transfer: Transfer) {
        guard transfer.job.sources.count > 1 else { return }
        transfer.machine?.know(
            closedFor: transfer.job.sources.map { dispatcher.timeClosed(Host($0.url)) })
    }

    /// Breaks off requests without a response while other transfers wait for their places. The
    /// requests are made again later.
    func lendPlaces() {
        for id in dispatcher.lenders() {
            guard let transfer = transfers[id], case .exchanging(let active) = transfer.state,
                !active.hasAnswered, transfer.plan?.isPost == false
            else { continue }
            breakOff(active)
            dispatcher.lend(id)
            waitForPlace(transfer)
        }
    }

    /// Handles a connection for which the process has no descriptor left. From then on fewer
    /// transfers run at once, and this transfer starts again when it has a place. Returns false if
    /// the number cannot be lowered.
    private func wasShortOfDescriptors(_ active: ActiveRequest, _ transfer: Transfer) -> Bool {
        if let segment = active.segment {
            // A further connection is never required.
            segmentEnded(active, segment, failure: nil)
            return true
        }
        guard dispatcher.runningCount > 1 else { return false }
        _ = dispatcher.lowerJobs()
        breakOff(active)
        waitForPlace(transfer)
        return true
    }

    /// Starts the stall clock, and tells the dispatcher that the request is connected.
    package func began(_ active: ActiveRequest) {
        if transfers[active.id]?.isPaused == false { active.stall.begin(at: asking.elapsed) }
        guard active.segment == nil, let plan = transfers[active.id]?.plan else { return }
        dispatcher.connected(active.id) {
            // HTTP/2 is offered over TLS only. Connections to two hosts may have the same local
            // port.
            plan.url.scheme == .https
                && activeRequests.values.contains {
                    $0 !== active && $0.localPort == active.localPort
                        && transfers[$0.id]?.plan?.url.origin == plan.url.origin
                }
        }
    }

    /// Ends a request that received too few bytes for too long.
    func stalled(_ active: ActiveRequest) {
        guard let transfer = transfers[active.id] else { return }
        let failure = TransportFailure(
            .stalled,
            "fewer than 1 KiB a second came for \(configuration.transfer.stallTimeout) s",
            isPassing: true, wasSent: true)
        if let segment = active.segment {
            return segmentEnded(active, segment, failure: failure)
        }
        // The stalled request is over: the next one has the whole time limit.
        active.stall.reset()
        ownEnded(active, of: transfer, failure: failure)
    }

    /// Removes an active request from libcurl; its handle serves another.
    func breakOff(_ active: ActiveRequest) {
        wire.end(active)
        activeRequests[active.number] = nil
        guard active.segment == nil, let transfer = transfers[active.id] else { return }
        transfer.state = .working
        active.stall.end(at: asking.elapsed)
        transfer.stall = active.stall
    }

    /// Ends all transfers when the run has received more bytes than its limit.
    func limitTotal() {
        guard let limit = reading.exceededTotal, refusal == nil else { return }
        let bytes = reading.bytesReceived
        let error = MirrorError(
            .transferLimit,
            "\(Counted(bytes, "byte")) \(Counted.verb(bytes, "was", "were")) received, the limit for a run is \(limit). Run again to go on."
        )
        refuseAll(error)
    }

    package func decide(_ transfer: Transfer, _ decision: (inout TransferMachine) -> TransferAction)
    {
        // The machine is changed in place: a copy of it costs a reference count for each of its
        // strings.
        if let action = transfer.machine?.action(by: decision) { act(action, transfer) }
    }
}

extension TransferMachine {
    fileprivate mutating func action(by decision: (inout TransferMachine) -> TransferAction)
        -> TransferAction
    {
        decision(&self)
    }
}
