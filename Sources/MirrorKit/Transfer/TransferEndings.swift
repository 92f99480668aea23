internal import MirrorModel
internal import MirrorSystem

/// Ends transfers: one, or all with one error.
///
/// An ending flushes and logs the last bytes, so that another run may resume them, and reports the
/// result. While a worker is busy with a transfer, the transfer keeps its ending until the worker's
/// message has come.
extension TransferEngine {
    /// Ends a transfer with a failure that no source can repair.
    func fail(_ transfer: Transfer, _ error: MirrorError) {
        transfer.countRequests()
        var error = error
        error.target = error.target ?? transfer.job.target
        error.attempts = max(error.attempts, transfer.cost.requests)
        settle(transfer, .failed(error, transfer.cost))
        // A full disk affects every transfer: the engine makes no further request.
        if error.code == .noSpace { refuseAll(error) }
    }

    /// Ends a transfer after a local failure, also while its connections are open.
    func failInMidst(_ transfer: Transfer, _ error: MirrorError) {
        if case .settling = transfer.state { return }
        switch transfer.state {
        case .exchanging(let active): requests.breakOff(active)
        case .reading(let reading): work.files.giveUp(reading, of: transfer)
        case .queued, .working, .joined, .waiting, .settling: break
        }
        fail(transfer, error)
    }

    /// Keeps the bytes that another run may resume, then reports the result.
    private func settle(_ transfer: Transfer, _ result: TransferResult) {
        if case .settling = transfer.state { return }
        // The transfer may be queued for a place as well, and must not begin again.
        register.withdraw(transfer)
        let isKept = transfer.body?.isResumable == true
        let pipelines = transfer.segments?.dismiss(keeping: isKept) ?? []
        guard let body = transfer.body else { return register.end(transfer, result) }
        guard isKept else {
            try? body.discard()
            return register.end(transfer, result)
        }
        // The digest of bytes that further connections fetched is no longer needed: extents have
        // their own.
        body.stop()
        do {
            try body.spill(now: work.clock.monotonic())
            body.flush()
        } catch {
            // Milestones that were logged before stay valid, so this failure changes nothing.
        }
        transfer.state = .settling(result)
        work.settle(body, of: transfer.job, after: pipelines)
    }

    /// Ends a job on which no worker is busy, and discards its part if that was requested.
    func finish(_ transfer: Transfer, _ result: TransferResult) {
        guard transfer.discardsPart else { return settle(transfer, result) }
        transfer.segments?.dismiss(keeping: false)
        do {
            // While a worker reads the part, the transfer's body has no file.
            let hasFile = transfer.body?.file != nil
            try transfer.body?.discard()
            if !hasFile, let part = transfer.job.part {
                try work.parts.discard(part: part.name)
            }
            register.end(transfer, result)
        } catch {
            register.end(transfer, .failed(error, transfer.cost))
        }
    }

    /// Cancels a job in any state.
    func cancel(_ transfer: Transfer, discardingPart: Bool) {
        transfer.countRequests()
        let result = TransferResult.cancelled(transfer.cost)
        transfer.cancellation.set()
        if discardingPart { transfer.discardsPart = true }
        switch transfer.state {
        case .settling: return
        case .working:
            // `goOn` finds this result when the worker's message arrives.
            transfer.earlyResult = result
            transfer.body?.stop()
        case .exchanging(let active):
            requests.breakOff(active)
            finish(transfer, result)
        case .reading(let reading):
            // The thread that reads the file may never return.
            work.files.giveUp(reading, of: transfer)
            finish(transfer, result)
        case .queued, .waiting, .joined: finish(transfer, result)
        }
    }

    /// Cancels jobs in one step, so that no job of the list gets the place that another one leaves.
    func cancel(_ ids: [Int], discardingPart: Bool) {
        for id in ids {
            guard let transfer = register.transfers[id] else { continue }
            cancel(transfer, discardingPart: discardingPart)
        }
    }

    /// Cancels every job.
    func cancelAll() {
        for transfer in Array(register.transfers.values) {
            cancel(transfer, discardingPart: false)
        }
    }

    /// Ends all running transfers, and all later ones, with one error.
    func refuseAll(_ error: MirrorError) {
        guard refusal == nil else { return }
        refusal = error
        for transfer in Array(register.transfers.values) {
            transfer.countRequests()
            var error = error
            error.target = transfer.job.target
            let result = TransferResult.failed(error, transfer.cost)
            switch transfer.state {
            case .settling: break
            case .working:
                transfer.cancellation.set()
                transfer.earlyResult = result
                transfer.body?.stop()
            case .exchanging(let active):
                requests.breakOff(active)
                settle(transfer, result)
            case .reading(let reading):
                work.files.giveUp(reading, of: transfer)
                settle(transfer, result)
            case .queued, .waiting, .joined: settle(transfer, result)
            }
        }
    }
}

// MARK: Requests

/// Finds out what the end of a request means: for its transfer, for its host, for its connection.
///
/// A request ends by itself, or because it stalls, or because its place is needed elsewhere.
extension TransferEngine {
    /// Handles the end of a request that the wire reports.
    func ended(_ end: WireEnd) {
        let (active, failure) = (end.active, end.failure)
        guard requests.isRunning(active), let transfer = register.transfers[active.id] else {
            return
        }
        // The flags below may be about one address of the host, while another address has answered.
        let wasMade = failure == nil || end.wasSent
        if !wasMade, active.lacksDescriptor, wasShortOfDescriptors(active, transfer) {
            return
        }
        if !wasMade, !active.hadSocket { transfer.requestsWithoutSocket += 1 }
        if active.isMisplaced || failure?.isMisplaced == true || wantsHTTP1(failure, transfer) {
            return endMisplaced(active)
        }
        if let failure, failure.code == .connectionLost, !active.endsHere,
            transfer.machine?.mayRefuseProtocol(failure) != true
        {
            register.dispatcher.backOff(active.id)
        }
        ended(active, of: transfer, failure: failure)
    }

    /// Whether a failure of HTTP/2 may mean that the host wants HTTP/1.1.
    ///
    /// A host can say so only by an error (RFC 9113 §7, HTTP_1_1_REQUIRED). The result is true if
    /// the host is known to forbid shared connections, or has answered nothing so far.
    private func wantsHTTP1(_ failure: TransportFailure?, _ transfer: Transfer) -> Bool {
        guard failure?.isOfHTTP2 == true else { return false }
        let host = transfer.nextHost
        return register.dispatcher.hostProtocols[host]?.forbidsSharing == true
            || !register.dispatcher.hasAnswered(host)
    }

    private func ended(_ active: ActiveRequest, of transfer: Transfer, failure: TransportFailure?) {
        if active.segment == nil { return ownEnded(active, of: transfer, failure: failure) }
        decide(transfer, transfer.segments?.segmentEnded(active, failure: failure))
    }

    /// Ends a request that received too few bytes for too long.
    func stalled(_ active: ActiveRequest) {
        guard let transfer = register.transfers[active.id] else { return }
        requests.wire.endConnection(of: active, ifSilentFor: policy.stallTimeout * 1000)
        // The stalled request is over, and the next request has the whole time limit.
        if active.segment == nil { active.stall.reset() }
        ended(active, of: transfer, failure: .stalled(seconds: policy.stallTimeout))
    }

    /// Ends a request whose answer may belong to another request.
    /// The request is made again over another connection.
    func endMisplaced(_ active: ActiveRequest) {
        guard requests.isRunning(active), let transfer = register.transfers[active.id] else {
            return
        }
        ended(active, of: transfer, failure: .misplaced(wasSent: active.isConnected))
    }

    /// Breaks off requests without a response while other transfers wait for their places. The
    /// requests are made again later.
    func lendPlaces() {
        for id in register.dispatcher.lenders() {
            guard let transfer = register.transfers[id],
                case .exchanging(let active) = transfer.state,
                !active.hasAnswered, transfer.plan?.isPost == false
            else { continue }
            requests.breakOff(active)
            register.dispatcher.lend(id)
            register.waitForPlace(transfer)
        }
    }

    /// Handles a connection for which the process has no descriptor left.
    /// From then on fewer transfers run at once. This transfer starts again when it has a place.
    /// Returns false if the number of transfers cannot be lowered.
    private func wasShortOfDescriptors(_ active: ActiveRequest, _ transfer: Transfer) -> Bool {
        if active.segment != nil {
            // The transfer does not require its further connections, so only this one ends.
            transfer.segmentRequests -= 1
            ended(active, of: transfer, failure: nil)
            return true
        }
        guard register.dispatcher.runningCount > 1 else { return false }
        _ = register.dispatcher.lowerJobs()
        requests.breakOff(active)
        register.waitForPlace(transfer)
        return true
    }
}

// MARK: The transfer's own request

extension TransferEngine {
    /// Ends the transfer's own request.
    /// A finding of its callbacks has priority over the wire's failure.
    private func ownEnded(
        _ active: ActiveRequest, of transfer: Transfer, failure: TransportFailure?
    ) {
        requests.breakOff(active)
        switch active.finding {
        case .failedHere(let error): fail(transfer, error)
        case .acted(let action): act(action, transfer)
        case .refused(let refusal): refused(transfer, refusal)
        case .exceeded(let limit):
            transfer.body?.flush()
            decide(transfer) { $0.exceeded(limit: limit) }
        case .cut: conclude(transfer, failure: nil, of: active)
        case .judged, .misplaced, nil: conclude(transfer, failure: failure, of: active)
        }
    }

    /// Ends the body of a response: completely, or with a failure.
    /// Without a body, the request counts as failed.
    private func conclude(
        _ transfer: Transfer, failure: TransportFailure?, of active: ActiveRequest
    ) {
        guard transfer.machine?.reception != nil, let body = transfer.body else {
            let failure =
                failure
                ?? TransportFailure(
                    .malformedResponse, "the connection ended without an answer",
                    isPassing: true, wasSent: true)
            return active.hasAnswered
                ? interrupted(transfer, failure) : unanswered(transfer, failure)
        }
        body.flush()
        let length = body.length
        if let segments = transfer.segments {
            return decide(transfer, segments.ownEnded(failure))
        }
        guard let failure else {
            let isCut = active.isClosedByPeer == false && active.version != .http2
            return decide(transfer) { $0.bodyEnded(length: length, isCut: isCut) }
        }
        interrupted(transfer, failure)
    }

    /// Ends a response that cannot be trusted: before its body, or at its trailers.
    ///
    /// Bytes that came before the trailers are kept, as after an interruption, because a pin will
    /// verify them.
    private func refused(_ transfer: Transfer, _ refusal: ResponseError) {
        guard transfer.machine?.reception != nil, let body = transfer.body else {
            return decide(transfer) { $0.refused(refusal) }
        }
        body.flush()
        // Further connections end now. The next response may begin the part again, in a
        // callback, where no connection can be ended.
        if let segments = transfer.segments {
            return decide(transfer, segments.breakOff(refusal))
        }
        let length = body.length
        decide(transfer) { $0.refused(refusal, length: length) }
    }

    private func interrupted(_ transfer: Transfer, _ failure: TransportFailure) {
        let length = transfer.body?.length
        register.know(hostsOf: transfer)
        decide(transfer) { $0.interrupted(failure, length: length) }
    }

    /// Handles a request that brought no head.
    /// If the host may be the cause, all transfers that need the host wait for it together.
    private func unanswered(_ transfer: Transfer, _ failure: TransportFailure) {
        guard !failure.isMisplaced, transfer.machine?.mayRefuseProtocol(failure) != true else {
            return interrupted(transfer, failure)
        }
        var failure = failure
        // No server speaks TLS on port 80, so the hint would be wrong there.
        if failure.code == .connectionLost, failure.wasSent, let url = transfer.plan?.url,
            url.scheme == .http, url.port != 80, !register.dispatcher.hasAnswered(Host(url))
        {
            failure.cause += "; the server may speak HTTPS on this port: then write https://"
        }
        register.dispatcher.advance(to: work.clock.monotonic())
        switch register.dispatcher.failed(transfer.job.id, failure) {
        case .ofTransfer: interrupted(transfer, failure)
        case .ofHost(let wait):
            requests.wire.watchNetwork()
            register.know(hostsOf: transfer)
            decide(transfer) { $0.unreachable(failure, wait: wait) }
        case .forGood(let outage):
            register.know(hostsOf: transfer)
            let host = transfer.nextHost.description
            decide(transfer) { $0.hostIsDown(host, outage, wasAsked: true) }
        }
    }
}
