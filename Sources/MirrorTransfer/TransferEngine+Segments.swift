internal import MirrorModel
internal import MirrorSystem

/// How further connections of a transfer begin, and when their number is reviewed.
extension TransferEngine {
    /// Prepares further connections when a body of the transfer's own connection begins. The wire
    /// calls this, so no request is made here.
    func beginSegments(_ reception: Reception, of transfer: Transfer) throws(MirrorError) {
        guard let total = reception.total, let source = transfer.plan?.source else { return }
        if transfer.segments?.state.fits(reception) == false { transfer.segments = nil }
        if transfer.segments == nil,
            SegmentSet.mayDivide(
                missing: total - reception.offset, limit: configuration.segments),
            transfer.machine?.segmentSources.isEmpty == false
        {
            transfer.segments = TransferSegments(
                Segmentation(total: total, front: reception.offset), limit: configuration.segments)
        }
        guard let segments = transfer.segments else { return }
        segments.state.ownBegins(
            source: source, askedEnd: reception.end ?? total,
            answerTime: dispatcher.timeAsked(transfer.job.id))
        try openWanted(transfer, segments)
        segmented.insert(transfer.job.id)
    }

    /// Opens as many further connections as are wanted; their requests are made later.
    func openWanted(_ transfer: Transfer, _ segments: TransferSegments) throws(MirrorError) {
        while try openNext(transfer, segments) {}
    }

    private func openNext(
        _ transfer: Transfer, _ segments: TransferSegments
    ) throws(MirrorError) -> Bool {
        guard let body = transfer.body,
            let opening = transfer.machine?.opening(
                in: segments.state, isOpen: { isOpen(transfer.job.sources[$0]) })
        else { return false }
        try body.spill(now: clock.monotonic())
        guard let file = body.file else { return false }
        let ownPlace = segments.state.takesOwnPlace
        guard takePlace(for: transfer, isOwn: ownPlace, at: opening.host) else { return false }
        let start = opening.assignment.start
        let pipeline = makePipeline(
            for: body.record, of: transfer, from: start, isFurther: true, other: nil,
            workers: workers)
        let writer = PartWriter(
            file: file, start: start, total: segments.state.plan.total, pipeline: pipeline,
            chunks: chunks)
        segments.open(opening, extraPlace: ownPlace ? nil : opening.host, writer: writer)
        return true
    }

    private func isOpen(_ source: PreparedSource) -> Bool {
        dispatcher.mayTakeExtra(at: Host(source.url))
    }

    /// Takes a place for a further connection: the transfer's own place, or one beside it.
    private func takePlace(for transfer: Transfer, isOwn: Bool, at host: Host) -> Bool {
        guard isOwn else { return dispatcher.takeExtra(at: host) }
        guard case .ask = dispatcher.admit(transfer.job.id, to: host) else { return false }
        return true
    }

    /// Reviews transfers whose number of connections may change.
    func lookAfterSegments() {
        guard !reading.isPaused else { return }
        let ids = segmented.takeUnlooked()
        // The running transfers are being ended.
        guard !isStopping, refusal == nil else { return }
        for id in ids {
            guard let transfer = transfers[id], let segments = transfer.segments,
                transfer.isFetching, !transfer.isPaused
            else { continue }
            do {
                try lookAfter(segments, of: transfer)
            } catch { failInMidst(transfer, error) }
            resumeJoined(transfer, segments)
        }
    }

    private func lookAfter(
        _ segments: TransferSegments, of transfer: Transfer
    ) throws(MirrorError) {
        for id in segments.state.surplus(isWaitedFor: { dispatcher.isWaitedFor(at: $0) }) {
            try close(id, of: transfer, segments)
        }
        advanceFront(transfer, segments)
        try openWanted(transfer, segments)
        if segments.state.ownIsSuperseded {
            if case .exchanging(let own) = transfer.state { breakOff(own) }
            ownEnded(transfer, segments, failure: nil)
        }
        for id in segments.state.superseded() {
            try close(id, of: transfer, segments)
            segmented.look(at: transfer.job.id)
        }
        for id in segments.unasked { try ask(id, of: transfer, segments) }
    }

    private func ask(
        _ id: Int, of transfer: Transfer, _ segments: TransferSegments
    ) throws(MirrorError) {
        guard let plan = segments.state.helpers[id]?.machine.plan else { return }
        let isMultiplexed = segments.state.isMultiplexed || transfer.plan?.isLong == true
        let active: ActiveRequest
        do {
            active = try self.makeRequest(
                plan, for: transfer, segment: id, isAlone: isMultiplexed && !plan.isLong)
        } catch {
            // A further connection is never required.
            segments.state.refused(id)
            return try close(id, of: transfer, segments)
        }
        transfer.segmentRequests += 1
        segments.activeRequests[id] = active
        wire.begin(active)
    }

    /// Measures the rates of connections; called four times a second.
    func measureSegments(milliseconds: Int64) {
        for id in segmented.ids {
            guard let segments = transfers[id]?.segments else {
                segmented.remove(id)
                continue
            }
            segments.state.measure(milliseconds: milliseconds)
            segmented.look(at: id)
        }
    }

    /// Milliseconds until the numbers of connections are reviewed next; nil while all are settled.
    var timeToPaceSegments: Int64? {
        let isMeasured = segmented.ids.contains {
            transfers[$0]?.segments?.state.pace.isSettled == false
        }
        guard isMeasured else { return nil }
        return max(0, SegmentPace.look - segmented.paced.elapsed(now: clock.monotonic()))
    }

    /// Finds out how many connections bring more bytes; acts at most twenty times a second.
    func paceSegments() {
        guard !segmented.ids.isEmpty,
            case let now = clock.monotonic(),
            segmented.paced.elapsed(now: now) >= SegmentPace.look
        else { return }
        // A processor that is busy with the bytes that come already cannot take more.
        let isBusy = segmented.paced.restart(now: now, busy: clock.threadBusy())
        for id in segmented.ids {
            guard let transfer = transfers[id], let segments = transfer.segments else { continue }
            let before = segments.state.pace.wanted
            segments.state.pace.look(
                bytes: transfer.cost.bytesReceived, missing: segments.state.plan.missingBytes,
                running: segments.state.running,
                isHeldBack: reading.wasHeldBack || isBusy || transfer.isPaused
                    || segments.state.hasSilent,
                now: now)
            if segments.state.pace.wanted != before { segmented.look(at: id) }
        }
    }

    /// Ticks the writer of a further connection and the body, and advances the front.
    package func tick(_ id: Int, of transfer: Transfer, now: Int64) throws(MirrorError) {
        guard let segments = transfer.segments else { return }
        segments.writers[id]?.tick(now: now)
        try transfer.body?.tick(now: now)
        advanceFront(transfer, segments)
    }

    /// Adds bytes of further connections to the body once they continue the verified prefix.
    func advanceFront(_ transfer: Transfer, _ segments: TransferSegments) {
        // The bytes of the transfer's own connection are counted as they come. Its next request
        // begins at the length of the bytes in hand when the request was made.
        guard case .joined = transfer.state, let body = transfer.body else { return }
        let front = segments.heldFront
        if front > body.length { body.adopt(upTo: front) }
    }
}

extension Transfer {
    /// Whether bytes are being received, over any connection.
    var isFetching: Bool {
        switch state {
        case .exchanging, .joined: true
        case .queued, .working, .waiting, .settling: false
        }
    }
}
