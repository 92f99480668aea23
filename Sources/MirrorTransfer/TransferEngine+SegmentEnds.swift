internal import MirrorModel
internal import MirrorSystem

/// Bytes and ends of the further connections of a transfer.
extension TransferEngine {
    package func received(
        head: ResponseHead, on active: ActiveRequest, segment id: Int, of transfer: Transfer
    ) -> Bool {
        guard let segments = transfer.segments, let helper = segments.state.helpers[id],
            let body = transfer.body
        else { return false }
        dispatcher.answered(at: helper.host)
        guard let verdict = segments.state.answered(head, on: id, at: clock.now()) else {
            return false
        }
        guard case .receive(let reception) = verdict else {
            active.find(.judged(verdict))
            return false
        }
        let provenance = reception.answer.provenance
        transfer.machine?.joined(by: provenance)
        if !body.record.provenances.contains(provenance) {
            do { try body.continue(total: nil, provenance: provenance) } catch {
                active.find(.failedHere(error))
            }
        }
        return true
    }

    package func received(
        bytes: UnsafeRawBufferPointer, on active: ActiveRequest, segment id: Int,
        of transfer: Transfer
    ) -> ActiveRequest.Reply {
        guard active.finding == nil, let segments = transfer.segments,
            let writer = segments.writers[id]
        else { return .stop }
        if mustHoldBack(transfer, backlog: writer.pipeline.backlog) { return .pause }
        count(bytes.count, for: transfer)
        let (taken, goesOn) = segments.state.arrived(bytes.count, on: id)
        writer.append(
            UnsafeRawBufferPointer(rebasing: bytes.prefix(taken)), now: clock.monotonic())
        advanceFront(transfer, segments)
        return goesOn ? .proceed : .stop
    }

    /// Handles the end of the transfer's own connection. It ends at bytes that others fetch, with
    /// the end of its response, or by a failure.
    func ownEnded(
        _ transfer: Transfer, _ segments: TransferSegments, failure: TransportFailure?
    ) {
        segments.state.ownEnded(failure)
        transfer.state = .joined
        transfer.body?.flush()
        advanceFront(transfer, segments)
        segmented.look(at: transfer.job.id)
        resumeJoined(transfer, segments)
    }

    /// Concludes a joined transfer when no further connection is left.
    func resumeJoined(_ transfer: Transfer, _ segments: TransferSegments) {
        guard case .joined = transfer.state, segments.state.helpers.isEmpty,
            let body = transfer.body, segments.settleWriters()
        else { return }
        // Some of the bytes may have been read back only just now.
        advanceFront(transfer, segments)
        transfer.state = .working
        let length = body.length
        transfer.machine?.know(gapEnd: segments.state.plan.gapEnd)
        switch segments.state.conclusion {
        case .segmentsEnded: decide(transfer) { $0.segmentsEnded(length: length) }
        case .bodyEnded: decide(transfer) { $0.bodyEnded(length: length) }
        case .interrupted(let failure):
            decide(transfer) { $0.interrupted(failure, length: length) }
        }
    }

    /// Handles the end of a further connection's request.
    func segmentEnded(_ active: ActiveRequest, _ id: Int, failure: TransportFailure?) {
        guard let transfer = transfers[active.id], let segments = transfer.segments,
            segments.activeRequests[id] === active
        else { return }
        breakOff(active)
        segments.activeRequests[id] = nil
        switch active.finding {
        case .failedHere(let error): return failInMidst(transfer, error)
        case .judged(.changed(let refusal)):
            if case .exchanging(let own) = transfer.state { breakOff(own) }
            transfer.state = .working
            return decide(transfer) { $0.versionChanged(refusal) }
        case .judged(.follow) where move(id, segments):
            return segmented.look(at: transfer.job.id)
        case .judged(let verdict): note(id, of: transfer, segments, verdict, failure)
        case .refused, .acted, .exceeded, .cut, nil:
            note(id, of: transfer, segments, nil, failure)
        }
        do throws(MirrorError) {
            try close(id, of: transfer, segments)
            segmented.look(at: transfer.job.id)
            advanceFront(transfer, segments)
            if segments.state.pace.wanted > 1 { try openWanted(transfer, segments) }
        } catch { return failInMidst(transfer, error) }
        resumeJoined(transfer, segments)
    }

    /// Moves a further connection to the host of a redirect; returns whether that host has room.
    private func move(_ id: Int, _ segments: TransferSegments) -> Bool {
        guard let helper = segments.state.helpers[id] else { return false }
        guard let old = helper.extraPlace, old != helper.host else { return true }
        guard dispatcher.takeExtra(at: helper.host) else { return false }
        dispatcher.releaseExtra(at: old)
        segments.state.move(id, to: helper.host)
        return true
    }

    /// Tells the dispatcher what the end of a further connection means for its host.
    private func note(
        _ id: Int, of transfer: Transfer, _ segments: TransferSegments,
        _ verdict: SegmentMachine.Verdict?, _ failure: TransportFailure?
    ) {
        guard let host = segments.state.helpers[id]?.host else { return }
        switch segments.state.ended(id, verdict, failure) {
        case nil: break
        case .leavesProtocol(let source):
            dispatcher.leaveProtocol(to: host)
            transfer.machine?.leaveProtocol(to: source)
        case .asksForRest(let isCrowded, let hold):
            if isCrowded { dispatcher.refuseExtras(at: host) }
            // A wait that is too long would fail transfers that never requested more connections.
            if let hold, hold <= configuration.transfer.longestWait {
                dispatcher.hold(host, until: clock.monotonic() + hold * 1000, isTooLong: false)
            }
        }
    }

    /// Ends one further connection, and keeps the bytes that it fetched.
    package func close(
        _ id: Int, of transfer: Transfer, _ segments: TransferSegments
    ) throws(MirrorError) {
        guard let (writer, end) = release(id, segments) else { return }
        writer.flush()
        // The bytes that count as fetched must equal the bytes that were written.
        if let end, writer.handedOver != end {
            throw MirrorError(
                .internalError, "\(transfer.job.target): bytes of a segment are not accounted for.")
        }
        writer.log()
        let (id, inbox) = (transfer.job.id, inbox)
        writer.pipeline.submit { _ in inbox.post(.segmentHeld(id)) }
    }

    /// Removes one further connection from the set, releases its place, and ends its request.
    private func release(
        _ id: Int, _ segments: TransferSegments
    ) -> (writer: PartWriter, end: Int64?)? {
        if let active = segments.activeRequests.removeValue(forKey: id) { breakOff(active) }
        if let host = segments.state.helpers[id]?.extraPlace { dispatcher.releaseExtra(at: host) }
        return segments.close(id)
    }

    /// Advances the front after a pipeline has written the bytes of an ended connection.
    func segmentHeld(_ transfer: Transfer) {
        guard transfer.isFetching, let segments = transfer.segments else { return }
        advanceFront(transfer, segments)
        resumeJoined(transfer, segments)
    }

    /// Ends all further connections, and returns the pipelines that still log their last
    /// milestones. The fetched bytes are kept, or dropped together with the part.
    @discardableResult
    func dismissSegments(of transfer: Transfer, keeping: Bool) -> [WritePipeline] {
        guard let segments = transfer.segments else { return [] }
        for id in segments.state.helpers.keys {
            if keeping {
                // Bytes that are not accounted for are not logged, so no later run relies on them.
                try? close(id, of: transfer, segments)
            } else {
                _ = release(id, segments)
            }
        }
        segments.state.ownIsGone()
        if !keeping { for pipeline in segments.pipelines { pipeline.abandon() } }
        return segments.pipelines
    }

    /// Ends a transfer with a failure on this side while connections are open.
    func failInMidst(_ transfer: Transfer, _ error: MirrorError) {
        if case .settling = transfer.state { return }
        if case .exchanging(let active) = transfer.state { breakOff(active) }
        fail(transfer, error)
    }
}
