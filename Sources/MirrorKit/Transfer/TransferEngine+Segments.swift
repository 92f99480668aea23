internal import MirrorModel

/// Further connections of a transfer: how they begin, and how many there are.
///
/// The transfer's own connection goes on as if it were alone, until it meets what another one
/// fetches. Then it is done, and the transfer is `joined`: it goes on with the others, and asks for
/// itself again only when they have ended and bytes are missing.
extension TransferEngine {
    /// A body of the transfer's own connection begins. Called by libcurl, so nothing is asked here.
    func beginSegments(_ reception: Reception, of transfer: Transfer) throws(MirrorError) {
        guard let total = reception.total, let source = transfer.plan?.source else { return }
        // The answer must go on exactly where what is in hand ends; else that counts for nothing.
        if let plan = transfer.segments?.plan,
            plan.front != reception.offset || plan.total != total
        {
            transfer.segments = nil
        }
        if transfer.segments == nil, mayDivide(transfer, missing: total - reception.offset) {
            let plan = Segmentation(total: total, front: reception.offset)
            transfer.segments = TransferSegments(plan: plan, limit: configuration.segments)
        }
        guard let segments = transfer.segments else { return }
        segments.failure = nil
        segments.main =
            segments.plan.begin(source: source, askedEnd: reception.end ?? total).id
        try openWanted(transfer, segments)
        unlooked.insert(transfer.job.id)
        divided.insert(transfer.job.id)
    }

    private func mayDivide(_ transfer: Transfer, missing: Int64) -> Bool {
        configuration.segments != .fixed(1) && missing >= 2 << 20
            && transfer.course?.segmentSources.isEmpty == false
    }

    /// Begins as many further connections as there should be; they are asked for later.
    func openWanted(_ transfer: Transfer, _ segments: TransferSegments) throws(MirrorError) {
        while segments.running < segments.pace.wanted {
            let more = segments.pace.wanted - segments.running - 1
            guard try open(transfer, segments, more: more) else { return }
        }
    }

    private func open(
        _ transfer: Transfer, _ segments: TransferSegments, more: Int
    ) throws(MirrorError) -> Bool {
        // A range may be taken from another connection for this one: only when it really begins.
        var plan = segments.plan
        guard let course = transfer.course, let body = transfer.body,
            let source = segments.source(among: course.segmentSources.filter(isOpen(transfer))),
            let run = plan.open(source: source, more: more),
            let segment = course.segment(of: run.start..<run.end, from: source)
        else { return false }
        try body.spill(now: clock.monotonic())
        guard let file = body.file,
            let place = place(for: transfer, segments, at: Host(segment.plan.url))
        else { return false }
        segments.plan = plan
        let lane = laneMaker(
            transfer, from: run.start, isFurther: true, other: nil, workers: workers)(body.record)
        let helper = Segment(
            run: run, course: segment,
            writer: PartWriter(
                file: file, start: run.start,
                total: segments.plan.total, lane: lane, chunks: chunks))
        helper.extraPlace = place.extra
        segments.helpers[run.id] = helper
        segments.writers.append(helper.writer)
        return true
    }

    /// Whether a source's host may get a further connection.
    private func isOpen(_ transfer: Transfer) -> (Int) -> Bool {
        { [crowdedHosts] in
            !crowdedHosts.contains(Host(transfer.job.sources[$0].url))
        }
    }

    /// A place for a further connection: the transfer's own when that is free.
    private func place(
        for transfer: Transfer, _ segments: TransferSegments, at host: Host
    ) -> (extra: Host?, Void)? {
        if segments.main == nil, !segments.helpers.values.contains(where: { $0.extraPlace == nil })
        {
            guard case .ask = dispatcher.admit(transfer.job.id, to: host) else { return nil }
            return (nil, ())
        }
        return dispatcher.takeExtra(at: host) ? (host, ()) : nil
    }

    /// Looks at transfers whose number of connections may change.
    func lookAfterSegments() {
        guard !unlooked.isEmpty, !isPaused else { return }
        let ids = unlooked
        unlooked = []
        // What runs is on its way to its end.
        guard !isStopping, refusal == nil else { return }
        for id in ids {
            guard let transfer = transfers[id], let segments = transfer.segments,
                transfer.isFetching, !transfer.isPaused
            else { continue }
            do {
                try giveWay(transfer, segments)
                advanceFront(transfer, segments)
                try openWanted(transfer, segments)
                try dropSuperseded(transfer, segments)
                for segment in segments.helpers.values where segment.exchange == nil {
                    try ask(segment, of: transfer, segments)
                }
            } catch { failInMidst(transfer, error) }
            goOnJoined(transfer, segments)
        }
    }

    /// Ends connections that did not raise the rate, and one at a time while others wait for places.
    private func giveWay(
        _ transfer: Transfer, _ segments: TransferSegments
    ) throws(MirrorError) {
        var surplus = segments.running - segments.pace.wanted
        let latest = segments.helpers.values.filter { $0.extraPlace != nil }
            .sorted { $0.run.id > $1.run.id }
        if let host = latest.first?.extraPlace, dispatcher.isWaitedFor(at: host) {
            surplus = max(surplus, 1)
        }
        for segment in latest.prefix(max(0, surplus)) {
            if let error = dismiss(segment, of: transfer, segments, keeping: true) { throw error }
        }
    }

    /// Ends connections whose ranges others have taken over, and those whose sources are no help where
    /// there are better ones. Such a source gets no further connection in this transfer; one of which
    /// another connection is fast was only slow on this one.
    private func dropSuperseded(
        _ transfer: Transfer, _ segments: TransferSegments
    ) throws(MirrorError) {
        if let main = segments.main, segments.plan.runs[main] == nil {
            if case .exchanging(let own) = transfer.state { breakOff(own) }
            // From here on its answer says nothing any more of what is missing.
            segments.isShared = true
            ownEnded(transfer, segments, failure: nil)
        }
        let helpful = segments.helpfulSources
        for segment in segments.helpers.values {
            let source = segment.run.source
            let isHelpful = helpful.contains(source)
            let isSuperseded = segments.plan.runs[segment.run.id] == nil
            let isNoHelp =
                !isHelpful && !helpful.isEmpty && segments.plan.isHopeless(segment.run.id)
            guard isSuperseded || isNoHelp else { continue }
            if !isHelpful { segments.barred.insert(source) }
            if let error = dismiss(segment, of: transfer, segments, keeping: true) { throw error }
            unlooked.insert(transfer.job.id)
        }
    }

    private func ask(
        _ segment: Segment, of transfer: Transfer, _ segments: TransferSegments
    ) throws(MirrorError) {
        let plan = segment.course.plan
        let isMultiplexed = segments.isMultiplexed || transfer.plan?.isLong == true
        let exchange: Exchange
        do {
            exchange = try self.exchange(
                plan, for: transfer, segment: segment.run.id,
                isAlone: isMultiplexed && !plan.isLong)
        } catch {
            // It only ever helps.
            segments.barred.insert(segment.run.source)
            if let error = dismiss(segment, of: transfer, segments, keeping: true) { throw error }
            return
        }
        transfer.segmentRequests += 1
        segment.exchange = exchange
        wire.begin(exchange)
    }

    /// Four times a second: the rates of connections.
    func measureSegments(milliseconds: Int64) {
        for id in divided {
            guard let segments = transfers[id]?.segments else {
                divided.remove(id)
                continue
            }
            segments.plan.measure(milliseconds: milliseconds)
            unlooked.insert(id)
        }
    }

    /// For how many milliseconds nothing is to be found out of numbers of connections.
    var timeToPaceSegments: Int64? {
        let isMeasured = divided.contains { transfers[$0]?.segments?.pace.isSettled == false }
        return isMeasured ? max(0, pacedAt + SegmentPace.look - clock.monotonic()) : nil
    }

    /// Twenty times a second: how many connections bring more.
    func paceSegments() {
        guard !divided.isEmpty else { return }
        let now = clock.monotonic()
        let elapsed = now - pacedAt
        guard elapsed >= SegmentPace.look else { return }
        let busy = clock.threadBusy()
        // A processor that is busy with what comes already cannot take more.
        let isBusy = (busy - busyAtPace) * 2 > elapsed
        (pacedAt, busyAtPace) = (now, busy)
        for id in divided {
            guard let transfer = transfers[id], let segments = transfer.segments else { continue }
            let before = segments.pace.wanted
            segments.pace.look(
                bytes: transfer.cost.bytesReceived, missing: segments.plan.missingBytes,
                running: segments.running,
                isHeldBack: wasHeldBack || isBusy || transfer.isPaused || segments.hasSilent,
                now: now)
            if segments.pace.wanted != before { unlooked.insert(id) }
        }
    }

    /// Moves bytes of a further connection along.
    func tick(_ id: Int, of transfer: Transfer, now: Int64) throws(MirrorError) {
        guard let segments = transfer.segments else { return }
        segments.helpers[id]?.writer.tick(now: now)
        try transfer.body?.tick(now: now)
        advanceFront(transfer, segments)
    }

    /// Counts what further connections have put where the bytes from the start end.
    func advanceFront(_ transfer: Transfer, _ segments: TransferSegments) {
        // The own connection's bytes are counted as they come; and once it has asked for more, what it
        // asked for begins where the bytes in hand ended then.
        guard case .joined = transfer.state, let body = transfer.body else { return }
        let front = segments.heldFront
        if front > body.length { body.adopt(upTo: front) }
    }
}

extension Transfer {
    /// Whether bytes are being received, by whatever connection.
    var isFetching: Bool {
        switch state {
        case .exchanging, .joined: true
        case .queued, .working, .waiting, .settling: false
        }
    }
}
