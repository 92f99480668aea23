internal import MirrorModel

/// What comes from libcurl: heads, bytes, and ends.
extension TransferEngine: Exchange.Listener {
    func received(head: ResponseHead, on exchange: Exchange) -> Bool {
        exchange.hasAnswered = true
        exchange.answeredAt = asking.elapsed
        if head.status == 429 || head.status == 503 { dispatcher.backOff(exchange.id) }
        guard let transfer = transfers[exchange.id] else { return false }
        if let segment = exchange.segment {
            return received(head: head, on: exchange, segment: segment, of: transfer)
        }
        dispatcher.answered(exchange.id, isShared: head.version == .http2)
        know(hostsOf: transfer)
        guard let turn = transfer.course?.answered(head, at: clock.now()) else {
            return false
        }
        guard case .receive(let reception) = turn.next else {
            exchange.find(.turned(turn))
            return false
        }
        do {
            try receive(reception, turn: turn, transfer, workers: workers)
            try beginSegments(reception, of: transfer)
            transfer.segments?.state.isMultiplexed = head.version == .http2
        } catch { exchange.find(.failedHere(error)) }
        return true
    }

    func received(bytes: UnsafeRawBufferPointer, on exchange: Exchange) -> Exchange.Reply {
        guard let transfer = transfers[exchange.id] else { return .stop }
        if let segment = exchange.segment {
            return received(bytes: bytes, on: exchange, segment: segment, of: transfer)
        }
        guard exchange.finding == nil, let reception = transfer.course?.reception,
            let body = transfer.body
        else { return .stop }
        if mustHoldBack(transfer, backlog: body.backlog) { return .pause }
        count(bytes.count, for: transfer)
        var bytes = bytes
        if let limit = reception.limit, body.length + Int64(bytes.count) > limit {
            exchange.find(.exceeded(limit: limit))
            bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(limit - body.length)))
        }
        if let segments = transfer.segments {
            let (taken, isCut, passedOver) = segments.state.arrived(bytes.count)
            bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(taken))
            if passedOver { segmented.look(at: transfer.job.id) }
            if isCut { exchange.find(.cut) }
        }
        do {
            try body.append(bytes, now: clock.monotonic())
        } catch { exchange.find(.failedHere(error)) }
        return exchange.finding == nil ? .goOn : .stop
    }

    func heldBack(_ exchange: Exchange) { heldBack.append(exchange) }

    /// Counts bytes of a body that came.
    func count(_ bytes: Int, for transfer: Transfer) {
        reading.take(bytes)
        transfer.cost.bytesReceived += Int64(bytes)
    }

    /// Makes room for a body that is taken.
    func receive(
        _ reception: Reception, turn: Turn, _ transfer: Transfer, workers: any Workers
    ) throws(MirrorError) {
        tell(turn.notice, transfer)
        if turn.dropsPart { try drop(transfer) }
        guard let part = transfer.course?.part else { return }
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
        let (target, answer) = (transfer.job.target, reception.answer)
        let other =
            transfer.otherAlgorithm
            ?? reception.digests.first { $0.algorithm != .sha256 }?.algorithm
        transfer.body = IncomingBody(
            identity: part.identity,
            record: {
                var record = PartRecord(
                    name: PartName.fresh(for: target, identity: part.identity), target: target,
                    identity: part.identity, total: part.total, provenance: answer.provenance,
                    validators: part.validators)
                record.mediaType = answer.mediaType
                return record
            },
            lane: laneMaker(transfer, other: other, workers: workers), parts: parts,
            chunks: chunks, now: clock.monotonic())
    }

    /// The wire says that a request has ended.
    func ended(_ end: WireEnd) {
        let (exchange, failure) = (end.exchange, end.failure)
        guard exchanges[exchange.number] === exchange, let transfer = transfers[exchange.id] else {
            return
        }
        if failure != nil, !exchange.hasSocket, !end.wasSent {
            transfer.requestsWithoutSocket += 1
        }
        if exchange.lacksDescriptor, wasShortOfDescriptors(exchange, transfer) { return }
        if let failure, failure.code == .connectionLost,
            transfer.course?.mayRefuseProtocol(failure) != true
        {
            dispatcher.backOff(exchange.id)
        }
        if let segment = exchange.segment {
            return segmentEnded(exchange, segment, failure: failure)
        }
        ownEnded(exchange, of: transfer, failure: failure)
    }

    /// The transfer's own request is over: what its callbacks found goes before how the wire saw it.
    private func ownEnded(
        _ exchange: Exchange, of transfer: Transfer, failure: TransportFailure?
    ) {
        breakOff(exchange)
        switch exchange.finding {
        case .failedHere(let error): fail(transfer, error)
        case .turned(let turn): act(turn, transfer)
        case .refused(let refusal): decide(transfer) { $0.refused(refusal) }
        case .exceeded(let limit):
            transfer.body?.flush()
            decide(transfer) { $0.exceeded(limit: limit) }
        case .cut: conclude(transfer, failure: nil, hasAnswered: true)
        case .judged, nil:
            conclude(transfer, failure: failure, hasAnswered: exchange.hasAnswered)
        }
    }

    /// The body, if there was one, is over: well, or by a failure.
    private func conclude(
        _ transfer: Transfer, failure: TransportFailure?, hasAnswered: Bool
    ) {
        guard transfer.course?.reception != nil, let body = transfer.body else {
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

    /// A request brought no head: that may be the host's fault, and then all who need it wait for it
    /// together.
    private func unanswered(_ transfer: Transfer, _ failure: TransportFailure) {
        guard transfer.course?.mayRefuseProtocol(failure) != true else {
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

    /// Tells a transfer with several sources which of their hosts are not to be asked now.
    func know(hostsOf transfer: Transfer) {
        guard transfer.job.sources.count > 1 else { return }
        transfer.course?.know(
            closedFor: transfer.job.sources.map { dispatcher.timeClosed(Host($0.url)) })
    }

    /// Breaks off tries that have had no answer while others wait for their places; they are made again.
    func lendPlaces() {
        for id in dispatcher.lenders() {
            guard let transfer = transfers[id], case .exchanging(let exchange) = transfer.state,
                !exchange.hasAnswered, transfer.plan?.isPost == false
            else { continue }
            breakOff(exchange)
            dispatcher.lend(id)
            waitForPlace(transfer)
        }
    }

    /// The process has no descriptor left for a connection: fewer transfers at once from here on, and
    /// this one again when it has a place. False where there are no fewer to be had.
    private func wasShortOfDescriptors(_ exchange: Exchange, _ transfer: Transfer) -> Bool {
        if let segment = exchange.segment {
            // It only ever helps.
            segmentEnded(exchange, segment, failure: nil)
            return true
        }
        guard dispatcher.runningCount > 1 else { return false }
        _ = dispatcher.lowerJobs()
        breakOff(exchange)
        waitForPlace(transfer)
        return true
    }

    /// The request is on its way.
    func began(_ exchange: Exchange) {
        if transfers[exchange.id]?.isPaused == false { exchange.stall.begin(at: asking.elapsed) }
        guard exchange.segment == nil, let plan = transfers[exchange.id]?.plan else { return }
        dispatcher.connected(exchange.id) {
            // HTTP/2 is offered over TLS only. Connections to two hosts may have one port on this side.
            plan.url.scheme == .https
                && exchanges.values.contains {
                    $0 !== exchange && $0.localPort == exchange.localPort
                        && transfers[$0.id]?.plan?.url.origin == plan.url.origin
                }
        }
    }

    /// Too little came for too long.
    func stalled(_ exchange: Exchange) {
        guard let transfer = transfers[exchange.id] else { return }
        let failure = TransportFailure(
            .stalled,
            "fewer than 1 KiB a second came for \(configuration.transfer.stallTimeout) s",
            isPassing: true, wasSent: true)
        if let segment = exchange.segment {
            return segmentEnded(exchange, segment, failure: failure)
        }
        // What stalled is over: the next request has all the time.
        exchange.stall.reset()
        ownEnded(exchange, of: transfer, failure: failure)
    }

    /// Takes an exchange from libcurl; its handle serves another.
    func breakOff(_ exchange: Exchange) {
        wire.end(exchange)
        exchanges[exchange.number] = nil
        guard exchange.segment == nil, let transfer = transfers[exchange.id] else { return }
        transfer.state = .working
        exchange.stall.end(at: asking.elapsed)
        transfer.stall = exchange.stall
    }

    /// Ends everything when more was received than the run may.
    func limitTotal() {
        guard let limit = reading.exceededTotal, refusal == nil else { return }
        let bytes = reading.bytesReceived
        let error = MirrorError(
            .transferLimit,
            "\(Counted(bytes, "byte")) \(Counted.verb(bytes, "was", "were")) received, the limit for a run is \(limit). Run again to go on."
        )
        refuseAll(error)
    }

    func decide(_ transfer: Transfer, _ decision: (inout TransferCourse) -> Turn) {
        // In place: a copy of a course costs a count of each of its texts.
        if let turn = transfer.course?.turn(by: decision) { act(turn, transfer) }
    }
}

extension TransferCourse {
    fileprivate mutating func turn(by decision: (inout TransferCourse) -> Turn) -> Turn {
        decision(&self)
    }
}
