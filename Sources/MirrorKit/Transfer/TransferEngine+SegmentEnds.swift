internal import MirrorModel

/// Further connections of a transfer: what comes over them, and how they end.
extension TransferEngine {
    /// Bytes after which a connection that broke counts as one that worked.
    static let bytesThatExcuse: Int64 = 1 << 20

    func received(head: ResponseHead, segment id: Int, of transfer: Transfer) -> Bool {
        guard let segments = transfer.segments, let segment = segments.helpers[id],
            let body = transfer.body
        else { return false }
        dispatcher.answered(at: Host(segment.course.plan.url))
        let verdict = segment.course.answered(head, at: clock.now())
        guard case .receive(let reception) = verdict else {
            segment.verdict = verdict
            return false
        }
        let provenance = reception.answer.provenance
        transfer.course?.joined(by: provenance)
        if !body.record.provenances.contains(provenance) {
            do { try body.continue(total: nil, provenance: provenance) } catch {
                transfer.localError = error
            }
        }
        segments.isShared = true
        segment.isReceiving = true
        return true
    }

    func received(
        bytes: UnsafeRawBufferPointer, segment id: Int, of transfer: Transfer
    ) -> Exchange.Reply {
        guard transfer.localError == nil, let segments = transfer.segments,
            let segment = segments.helpers[id], segment.isReceiving
        else { return .stop }
        if transfer.isPaused || isBehind(segment.writer.lane.backlog)
            || (bucket?.isOverdrawn ?? false)
            || hasReachedLimit
        {
            wasHeldBack = true
            return .pause
        }
        count(bytes.count, for: transfer)
        let taken = segments.plan.arrived(bytes.count, on: id)
        segment.writer.append(
            UnsafeRawBufferPointer(rebasing: bytes.prefix(taken)), now: clock.monotonic())
        advanceFront(transfer, segments)
        guard let run = segments.plan.runs[id] else { return .stop }
        // What comes next belongs to somebody else, or was never asked for.
        segment.isCut = run.isDone && run.isCut
        return segment.isCut || taken < bytes.count ? .stop : .goOn
    }

    /// The transfer's own connection has ended: at what others fetch, with its answer, or by a
    /// failure.
    func ownEnded(
        _ transfer: Transfer, _ segments: TransferSegments, failure: TransportFailure?
    ) {
        if let main = segments.main, let run = segments.plan.runs[main] {
            excuse(run, segments, isShort: failure != nil)
            segments.plan.end(main)
        }
        segments.main = nil
        segments.failure = failure
        transfer.state = .joined
        transfer.body?.flush()
        advanceFront(transfer, segments)
        unlooked.insert(transfer.job.id)
        goOnJoined(transfer, segments)
    }

    /// Ends the time of further connections when there is none any more.
    func goOnJoined(_ transfer: Transfer, _ segments: TransferSegments) {
        guard case .joined = transfer.state, segments.helpers.isEmpty, let body = transfer.body,
            segments.settleWriters()
        else { return }
        // Some of it may have been read back only just now.
        advanceFront(transfer, segments)
        transfer.state = .working
        let length = body.length
        transfer.course?.know(gapEnd: segments.plan.gapEnd)
        if segments.plan.isComplete, segments.isShared {
            decide(transfer) { $0.segmentsEnded(length: length) }
        } else if let failure = segments.failure {
            decide(transfer) { $0.interrupted(failure, length: length) }
        } else if segments.isShared {
            decide(transfer) { $0.segmentsEnded(length: length) }
        } else {
            decide(transfer) { $0.bodyEnded(length: length) }
        }
    }

    /// libcurl says that an exchange of a further connection has ended.
    func segmentEnded(_ exchange: Exchange, _ id: Int, failure: TransportFailure?) {
        guard let transfer = transfers[exchange.id], let segments = transfer.segments,
            let segment = segments.helpers[id]
        else { return }
        breakOff(exchange)
        segment.exchange = nil
        if let error = transfer.localError { return failInMidst(transfer, error) }
        if case .changed(let refusal)? = segment.verdict {
            if case .exchanging(let own) = transfer.state { breakOff(own) }
            transfer.state = .working
            return decide(transfer) { $0.versionChanged(refusal) }
        }
        if case .follow? = segment.verdict, move(segment) {
            segment.verdict = nil
            unlooked.insert(transfer.job.id)
            return
        }
        judge(segment, segments, failure, of: transfer)
        if let error = dismiss(segment, of: transfer, segments, keeping: true) {
            return failInMidst(transfer, error)
        }
        unlooked.insert(transfer.job.id)
        advanceFront(transfer, segments)
        do throws(MirrorError) {
            if segments.pace.wanted > 1 { try openWanted(transfer, segments) }
        } catch { return failInMidst(transfer, error) }
        goOnJoined(transfer, segments)
    }

    /// Whether the place that a redirect leads to has room.
    private func move(_ segment: Segment) -> Bool {
        let host = Host(segment.course.plan.url)
        guard let old = segment.extraPlace, old != host else { return true }
        guard dispatcher.takeExtra(at: host) else { return false }
        dispatcher.releaseExtra(at: old)
        segment.extraPlace = host
        return true
    }

    /// Leaves a source alone whose answer was none, or whose connection broke too early.
    private func judge(
        _ segment: Segment, _ segments: TransferSegments, _ failure: TransportFailure?,
        of transfer: Transfer
    ) {
        if refusesProtocol(segment, failure) {
            choosers.insert(Host(segment.course.plan.url))
            transfer.course?.leaveProtocol(to: segment.run.source)
            return
        }
        guard case .giveBack(let refusal, let hold)? = segment.verdict else {
            guard segment.isReceiving, let run = segments.plan.runs[segment.run.id] else {
                segments.barred.insert(segment.run.source)
                return
            }
            // An answer that ends well before its range does is no better than one that breaks.
            return excuse(run, segments, isShort: !run.isDone)
        }
        segments.barred.insert(segment.run.source)
        let host = Host(segment.course.plan.url)
        if refusal.status == 429 || refusal.status == 503 { crowdedHosts.insert(host) }
        // A wait that is too long would fail transfers that never asked for more connections.
        if let hold, hold <= configuration.transfer.longestWait {
            dispatcher.hold(
                host, until: clock.monotonic() + hold * 1000, isTooLong: false)
        }
    }

    /// Whether a further connection got no answer because of its protocol.
    private func refusesProtocol(_ segment: Segment, _ failure: TransportFailure?) -> Bool {
        let plan = segment.course.plan
        if case .giveBack(let refusal, _)? = segment.verdict {
            return plan.isRefused(by: refusal.status)
        }
        guard segment.verdict == nil, !segment.isReceiving, let failure else { return false }
        return plan.isRefused(by: failure)
    }

    private func excuse(
        _ run: Segmentation.Run, _ segments: TransferSegments, isShort: Bool
    ) {
        if isShort, run.position - run.start < TransferEngine.bytesThatExcuse {
            segments.barred.insert(run.source)
        }
    }

    /// Ends one further connection and gives its range back; what it fetched is kept, or forgotten
    /// together with the part.
    func dismiss(
        _ segment: Segment, of transfer: Transfer, _ segments: TransferSegments, keeping: Bool
    ) -> MirrorError? {
        if let exchange = segment.exchange { breakOff(exchange) }
        segment.exchange = nil
        if let host = segment.extraPlace { dispatcher.releaseExtra(at: host) }
        segments.helpers[segment.run.id] = nil
        let end = segments.plan.runs[segment.run.id]?.position
        segments.plan.end(segment.run.id)
        guard keeping else {
            segment.writer.lane.abandon()
            return nil
        }
        segment.writer.flush()
        // What counts as fetched must be what was written.
        if let end, segment.writer.handedOver != end {
            return MirrorError(
                .internalError, "\(transfer.job.target): bytes of a segment are not accounted for.")
        }
        segment.writer.log()
        let (id, inbox) = (transfer.job.id, inbox)
        segment.writer.lane.submit { _ in inbox.post(.segmentHeld(id)) }
        return nil
    }

    /// The part holds what an ended connection fetched, as its lane has found, and the front may go on.
    func segmentHeld(_ transfer: Transfer) {
        guard transfer.isFetching, let segments = transfer.segments else { return }
        advanceFront(transfer, segments)
        goOnJoined(transfer, segments)
    }

    /// Ends all further connections; gives the lanes on which their last milestones are on the way.
    @discardableResult
    func dismissSegments(of transfer: Transfer, keeping: Bool) -> [PartLane] {
        guard let segments = transfer.segments else { return [] }
        let all = Array(segments.helpers.values)
        for segment in all { _ = dismiss(segment, of: transfer, segments, keeping: keeping) }
        segments.main = nil
        let lanes = segments.writers.map(\.lane)
        if !keeping { for lane in lanes { lane.abandon() } }
        return lanes
    }

    /// A failure on this side while connections are open.
    func failInMidst(_ transfer: Transfer, _ error: MirrorError) {
        if case .settling = transfer.state { return }
        if case .exchanging(let exchange) = transfer.state { breakOff(exchange) }
        fail(transfer, error)
    }
}
