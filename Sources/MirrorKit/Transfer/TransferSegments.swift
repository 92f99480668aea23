/// The further connections of a download: their requests, and the writers of their bytes.
///
/// `SegmentSet` holds the state of all connections of the download, and decides what they do. A
/// method returns an event that the whole download must handle, because such an event may end the
/// transfer together with these segments.
final class TransferSegments {
    /// An event that the download as a whole must handle.
    enum Event {
        /// An operation of mirror itself failed, for example a write.
        case failed(MirrorError)
        /// The source has another version now.
        case changed(ResponseError)
        /// No connection is left. `length` bytes from the file's start are in hand.
        case concluded(SegmentSet.Conclusion, length: Int64)
    }

    private(set) var state: SegmentSet
    /// The active requests of further connections, by the ids of their assignments.
    private var activeRequests: [Int: ActiveRequest] = [:]
    /// The writers of open connections, by the ids of their assignments.
    private var writers: [Int: PartWriter] = [:]
    /// The writers of ended connections, until the part is known to hold all their bytes.
    private var endedWriters: [PartWriter] = []
    /// The owner of these segments, which outlives them.
    private unowned let download: Download
    private unowned let engine: TransferEngine

    init(_ state: SegmentSet, of download: Download, by engine: TransferEngine) {
        self.state = state
        self.download = download
        self.engine = engine
    }

    /// Returns how many bytes of a further connection wait to be written or hashed.
    /// Returns nil if the connection has no writer.
    func backlog(of id: Int) -> Int? { writers[id]?.pipeline.backlog }

    /// Flushes bytes of a further connection, and of the body, that have waited too long.
    func tick(_ id: Int, now: Int64) throws(MirrorError) {
        writers[id]?.tick(now: now)
        try download.body?.tick(now: now)
        advanceFront()
    }

    /// Adds bytes of further connections to the body once they continue the verified prefix.
    private func advanceFront() {
        // The own connection counts its bytes as they come. Its request begins at the length of the
        // body, so that length must not change before the response.
        guard case .joined = download.state, let body = download.body else { return }
        // The front stops at bytes that were not read back yet. Otherwise the digest could cover
        // bytes that a disk only claimed to have written. Bytes of the own connection do not stop
        // the front, because their own pipeline reads them back.
        let front = PartWriter.heldFront(
            of: Array(writers.values) + endedWriters, upTo: state.plan.front)
        if front > body.length { body.adopt(upTo: front) }
    }
}

// MARK: Beginnings

extension TransferSegments {
    /// Notes that the own connection's response begins, and opens as many further ones as wanted.
    /// `review` makes their requests later. `answerTime` is in milliseconds.
    func ownBegins(source: Int, askedEnd: Int64, answerTime: Int64) throws(MirrorError) {
        state.ownBegins(source: source, askedEnd: askedEnd, answerTime: answerTime)
        try openWanted()
    }

    /// Notes the version of HTTP in which the server answered.
    /// In HTTP/2, requests share a connection.
    func answered(in version: HTTPVersion) { state.isMultiplexed = version == .http2 }

    private func openWanted() throws(MirrorError) { while try openNext() {} }

    private func openNext() throws(MirrorError) -> Bool {
        let sources = download.sources
        guard let body = download.body,
            let opening = download.machine?.opening(
                in: state,
                isOpen: { engine.register.dispatcher.mayTakeExtra(at: Host(sources[$0].url)) })
        else { return false }
        let work = engine.work
        try body.spill(now: work.clock.monotonic())
        guard let file = body.file else { return false }
        let ownPlace = state.takesOwnPlace
        guard takePlace(isOwn: ownPlace, at: opening.host) else { return false }
        let start = opening.assignment.start
        let pipeline = work.makePipeline(
            for: body.record, of: download, from: start, isFurther: true, other: nil,
            workers: work.workers)
        state.open(opening, extraPlace: ownPlace ? nil : opening.host)
        let writer = PartWriter(
            file: file, start: start, total: state.plan.total, pipeline: pipeline,
            chunks: work.chunks)
        writers[opening.assignment.id] = writer
        return true
    }

    /// Takes a place for a further connection: the download's own place, or one beside it.
    private func takePlace(isOwn: Bool, at host: Host) -> Bool {
        guard isOwn else { return engine.register.dispatcher.takeExtra(at: host) }
        let admission = engine.register.dispatcher.admit(download.id, to: host)
        guard case .ask = admission else { return false }
        return true
    }

    /// Closes connections that are too many or do not help, opens wanted ones, and makes requests.
    /// Returns the event that follows for the download, or nil if none follows.
    func review() -> Event? {
        guard download.isFetching, !download.isPaused else { return nil }
        do throws(MirrorError) { try replaceConnections() } catch { return .failed(error) }
        return conclude()
    }

    private func replaceConnections() throws(MirrorError) {
        let register = engine.register
        for id in state.surplus(isWaitedFor: { register.dispatcher.isWaitedFor(at: $0) }) {
            try close(id)
        }
        advanceFront()
        try openWanted()
        if state.ownIsSuperseded {
            if case .exchanging(let own) = download.state { engine.requests.breakOff(own) }
            state.ownEnded(nil)
            join()
        }
        for id in state.superseded() {
            try close(id)
            engine.unreviewed.insert(download.id)
        }
        for id in state.helpers.keys where activeRequests[id] == nil { try ask(id) }
    }

    private func ask(_ id: Int) throws(MirrorError) {
        guard let plan = state.helpers[id]?.machine.plan else { return }
        let isMultiplexed = state.isMultiplexed || download.plan?.usesHTTP1 == true
        let active: ActiveRequest
        do {
            active = try engine.requests.prepare(
                plan, for: download, segment: id,
                stall: StallClock(timeout: engine.policy.stallTimeout.wholeSeconds),
                isAlone: isMultiplexed && !plan.usesHTTP1, listener: self)
        } catch {
            // The download does not require its further connections, so only this one ends.
            state.refused(id)
            return try close(id)
        }
        download.segmentRequests += 1
        activeRequests[id] = active
        engine.requests.wire.begin(active)
    }
}

// MARK: Bytes, rates and responses

extension TransferSegments {
    /// Counts bytes that came for the download's own connection.
    /// `taken` is the number of bytes that belong to this connection. `isCut` means that another
    /// connection has the next bytes, so this one is done.
    func ownArrived(_ count: Int) -> (taken: Int, isCut: Bool) {
        let (taken, isCut, passedOver) = state.arrived(count)
        if passedOver { engine.unreviewed.insert(download.id) }
        return (taken, isCut)
    }

    /// Measures the rates of the connections over the milliseconds since the last measurement.
    func measure(milliseconds: Int64) { state.measure(milliseconds: milliseconds) }

    /// Measures how many connections bring more bytes. Returns whether another number is wanted.
    ///
    /// - Parameter isHeldBack: whether anything other than the connections limits the bytes.
    func pace(isHeldBack: Bool, now: Int64) -> Bool {
        state.look(
            bytes: download.cost.bytesReceived, isHeldBack: isHeldBack || download.isPaused,
            now: now)
    }
}

extension TransferSegments: ActiveRequest.Listener {
    func began(_ active: ActiveRequest) { engine.requests.began(active, of: download) }

    func heldBack(_ active: ActiveRequest) { engine.requests.hold(active) }

    func misplaced(_ active: ActiveRequest) { engine.requests.misplace(active) }

    func received(head: ResponseHead, on active: ActiveRequest) -> Bool {
        engine.requests.answered(head, on: active)
        guard let id = active.segment, let helper = state.helpers[id], let body = download.body
        else { return false }
        engine.register.dispatcher.answered(at: helper.host)
        let now = engine.work.clock.now()
        guard let action = state.answered(head, on: id, at: now) else { return false }
        guard case .receive(let reception) = action else {
            active.find(.judged(action))
            return false
        }
        let provenance = reception.answer.provenance
        download.machine?.joined(by: provenance)
        if !body.record.provenances.contains(provenance) {
            do { try body.continue(total: nil, provenance: provenance) } catch {
                active.find(.failedHere(error))
            }
        }
        return true
    }

    func received(bytes: UnsafeRawBufferPointer, on active: ActiveRequest) -> ActiveRequest.Reply {
        guard active.finding == nil, let id = active.segment, let writer = writers[id] else {
            return .stop
        }
        let throttle = engine.throttle
        if throttle.mustHoldBack(download, backlog: writer.pipeline.backlog) { return .pause }
        throttle.count(bytes.count, for: download)
        let (taken, goesOn) = state.arrived(bytes.count, on: id)
        writer.append(
            UnsafeRawBufferPointer(rebasing: bytes.prefix(taken)),
            now: engine.work.clock.monotonic())
        advanceFront()
        return goesOn ? .proceed : .stop
    }
}

// MARK: Ends

extension TransferSegments {
    /// Handles the end of the download's own connection.
    /// The connection ends at bytes that others fetch, with the end of its response, or by a
    /// failure.
    func ownEnded(_ failure: TransportFailure?) -> Event? {
        state.ownEnded(failure, promisedEnd: download.machine?.reception?.end)
        join()
        return conclude()
    }

    /// Ends all connections: the download is paused, or its own response was refused amid its body.
    func breakOff(_ refusal: ResponseError? = nil) -> Event? {
        do throws(MirrorError) { for id in state.helpers.keys { try close(id) } } catch {
            return .failed(error)
        }
        state.ownBrokenOff(refusal)
        join()
        return conclude()
    }

    private func join() {
        download.state = .joined
        download.body?.flush()
        advanceFront()
        engine.unreviewed.insert(download.id)
    }

    /// Ends the segments of a joined download if no further connection is left.
    /// Returns nil while a connection is left, or while the part does not hold all its bytes.
    private func conclude() -> Event? {
        guard case .joined = download.state, state.helpers.isEmpty, let body = download.body else {
            return nil
        }
        endedWriters.removeAll(where: \.isHeld)
        guard endedWriters.isEmpty else { return nil }
        // The pipelines may have read back further bytes since the last call.
        advanceFront()
        download.state = .working
        download.machine?.know(gapEnd: state.plan.gapEnd)
        return .concluded(state.conclusion, length: body.length)
    }

    /// Handles the end of a further connection's request.
    func segmentEnded(_ active: ActiveRequest, failure: TransportFailure?) -> Event? {
        guard let id = active.segment, activeRequests[id] === active else { return nil }
        engine.requests.breakOff(active)
        activeRequests[id] = nil
        switch active.finding {
        case .failedHere(let error): return .failed(error)
        case .judged(.changed(let refusal)):
            if case .exchanging(let own) = download.state { engine.requests.breakOff(own) }
            download.state = .working
            return .changed(refusal)
        case .judged(.follow) where move(id):
            engine.unreviewed.insert(download.id)
            return nil
        case .judged(let action): note(id, action, failure)
        case .refused, .acted, .exceeded, .cut, .misplaced, nil: note(id, nil, failure)
        }
        do throws(MirrorError) {
            try close(id)
            engine.unreviewed.insert(download.id)
            advanceFront()
            if state.pace.wanted > 1 { try openWanted() }
        } catch { return .failed(error) }
        return conclude()
    }

    /// Moves a further connection to the host of a redirect. Returns whether that host has room.
    private func move(_ id: Int) -> Bool {
        guard let helper = state.helpers[id] else { return false }
        guard let old = helper.extraPlace, old != helper.host else { return true }
        guard engine.register.dispatcher.takeExtra(at: helper.host) else { return false }
        engine.register.dispatcher.releaseExtra(at: old)
        state.move(id, to: helper.host)
        return true
    }

    /// Notes in the dispatcher what the end of a further connection means for its host.
    private func note(
        _ id: Int, _ action: SegmentMachine.Action?, _ failure: TransportFailure?
    ) {
        guard let host = state.helpers[id]?.host,
            let found = state.ended(id, action, failure)
        else { return }
        if let protocols = found.protocols {
            engine.register.dispatcher.know(protocols, of: host)
            download.machine?.know(protocols, of: found.source)
        }
        if found.isCrowded { engine.register.dispatcher.refuseExtras(at: host) }
        // A wait that is too long would fail transfers that never requested more connections.
        if let hold = found.hold, hold <= engine.policy.maxWait.wholeSeconds {
            let until = engine.work.clock.monotonic() + hold * 1000
            engine.register.dispatcher.hold(host, until: until, isTooLong: false)
        }
    }

    /// Ends one further connection, and keeps the bytes that it fetched.
    private func close(_ id: Int) throws(MirrorError) {
        guard let (writer, end) = release(id) else { return }
        writer.flush()
        // The bytes that count as fetched must equal the bytes that were written.
        if let end, writer.handedOver != end {
            throw MirrorError(
                .internalError, "\(download.target): bytes of a segment are not accounted for.")
        }
        writer.log()
        let (download, inbox) = (download, engine.work.inbox)
        writer.pipeline.submit { _ in inbox.post { $0.segmentHeld(of: download) } }
    }

    /// Removes one further connection, releases its place, and ends its request.
    /// Returns its writer and the end of its bytes. The end is nil if another connection has its
    /// range.
    private func release(_ id: Int) -> (writer: PartWriter, end: Int64?)? {
        if let active = activeRequests.removeValue(forKey: id) {
            engine.requests.breakOff(active)
        }
        if let host = state.helpers[id]?.extraPlace {
            engine.register.dispatcher.releaseExtra(at: host)
        }
        let end = state.close(id)
        guard let writer = writers.removeValue(forKey: id) else { return nil }
        endedWriters.append(writer)
        return (writer, end)
    }

    /// Advances the front after a pipeline has written the bytes of an ended connection.
    func segmentHeld() -> Event? {
        guard download.isFetching else { return nil }
        advanceFront()
        return conclude()
    }

    /// Ends all further connections. Keeps their bytes, or drops them together with the part.
    /// Returns the pipelines that still log their last milestones.
    @discardableResult
    func dismiss(keeping: Bool) -> [WritePipeline] {
        for id in state.helpers.keys {
            if keeping {
                // Bytes that are not accounted for are not logged, so no later run relies on them.
                try? close(id)
            } else {
                _ = release(id)
            }
        }
        state.ownIsGone()
        let pipelines = (Array(writers.values) + endedWriters).map(\.pipeline)
        if !keeping { for pipeline in pipelines { pipeline.abandon() } }
        return pipelines
    }
}

// MARK: The downloads that several connections fetch

/// The segments of each download open and close its further connections. The number of connections
/// is reviewed when bytes have come, a connection has ended, or the pace wants another number.
extension TransferEngine {
    /// Prepares further connections when a body of the download's own connection begins.
    /// The wire calls this method, so it must neither make nor end a request. Whenever a download
    /// asks again, its further connections have ended, and the part holds their bytes.
    func beginSegments(_ reception: Reception, of download: Download) throws(MirrorError) {
        guard let total = reception.total, let source = download.plan?.source else { return }
        if let segments = download.segments, !segments.state.fits(reception) {
            assert(segments.state.helpers.isEmpty, "a connection outlived its download's request")
            download.segments = nil
        }
        if download.segments == nil,
            SegmentSet.mayDivide(missing: total - reception.offset, limit: segmentLimit),
            download.machine?.segmentSources.isEmpty == false
        {
            download.segments = makeSegments(
                Segmentation(total: total, front: reception.offset), of: download)
        }
        guard let segments = download.segments else { return }
        try segments.ownBegins(
            source: source, askedEnd: reception.end ?? total,
            answerTime: register.dispatcher.timeAsked(download.id))
        segmented.insert(download.id)
        unreviewed.insert(download.id)
    }

    /// Goes on when a worker has written the bytes of a further connection.
    func segmentHeld(of download: Download) {
        if !download.hasEnded { decide(download, download.segments?.segmentHeld()) }
    }

    /// Prepares the segments of a resumed part that has verified ranges beyond its front.
    func resumeSegments(_ plan: Segmentation, of download: Download) {
        if plan.hasRangesBeyond { download.segments = makeSegments(plan, of: download) }
    }

    private func makeSegments(_ plan: Segmentation, of download: Download) -> TransferSegments {
        TransferSegments(SegmentSet(plan, limit: segmentLimit), of: download, by: self)
    }
}

// MARK: Reviews

extension TransferEngine {
    /// Measures the rates of connections; called four times a second.
    func measureSegments(milliseconds: Int64) {
        for id in segmented {
            guard let segments = register.downloads[id]?.segments else {
                segmented.remove(id)
                continue
            }
            segments.measure(milliseconds: milliseconds)
            unreviewed.insert(id)
        }
    }

    /// Milliseconds until the next review of the numbers of connections.
    /// `nil` means that all numbers are settled.
    var timeToPace: Int64? {
        let isMeasured = segmented.contains {
            register.downloads[$0]?.segments?.state.pace.isSettled == false
        }
        guard isMeasured else { return nil }
        return max(0, SegmentPace.look - paced.elapsed(now: work.clock.monotonic()))
    }

    /// Measures how many connections bring more bytes, at most twenty times a second.
    func paceSegments() {
        guard !segmented.isEmpty,
            case let now = work.clock.monotonic(),
            paced.elapsed(now: now) >= SegmentPace.look
        else { return }
        // A processor that is already busy with the bytes that come cannot handle more of them.
        let isBusy = paced.restart(now: now, busy: work.clock.threadBusy())
        for id in segmented {
            let isHeldBack = throttle.limits.wasHeldBack || isBusy
            if register.downloads[id]?.segments?.pace(isHeldBack: isHeldBack, now: now) == true {
                unreviewed.insert(id)
            }
        }
    }
}
