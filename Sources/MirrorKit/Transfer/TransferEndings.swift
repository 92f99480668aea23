/// Ends downloads: one, or others with the error that one of them met.
///
/// An ending flushes and logs the last bytes, so that another run may resume them, and reports the
/// result. While a worker is busy with a download, the download keeps its ending until the worker's
/// message has come.
extension TransferEngine {
    /// Ends a download with a failure that no source can repair.
    func fail(_ download: Download, _ error: MirrorError) {
        download.countRequests()
        if let reason = error.leftOut {
            download.discardsPart = true
            return finish(download, .leftOut(reason, download.cost))
        }
        var error = error
        error.target = error.target ?? download.target
        error.attempts = max(error.attempts, download.cost.requests)
        settle(download, .failed(error, download.cost))
        if error.code == .noSpace { diskIsFull(error) }
    }

    /// Ends a download after a local failure, also while its connections are open.
    func failInMidst(_ download: Download, _ error: MirrorError) {
        if case .settling = download.state { return }
        switch download.state {
        case .exchanging(let active): requests.breakOff(active)
        case .reading(let reading): work.files.giveUp(reading, of: download)
        case .queued, .working, .joined, .waiting, .settling: break
        }
        fail(download, error)
    }

    /// Keeps the bytes that another run may resume, then reports the result.
    private func settle(_ download: Download, _ result: TransferResult) {
        if case .settling = download.state { return }
        // The download may be queued for a place as well, and must not begin again.
        register.withdraw(download)
        let isKept = download.body?.isResumable == true
        let pipelines = download.segments?.dismiss(keeping: isKept) ?? []
        guard let body = download.body else { return register.end(download, result) }
        guard isKept else {
            try? body.discard()
            return register.end(download, result)
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
        download.state = .settling(result)
        work.settle(body, of: download, after: pipelines)
    }

    /// Ends a download on which no worker is busy, and discards its part if that was requested.
    func finish(_ download: Download, _ result: TransferResult) {
        guard download.discardsPart else { return settle(download, result) }
        download.segments?.dismiss(keeping: false)
        do {
            // While a worker reads the part, the download's body has no file.
            let hasFile = download.body?.file != nil
            try download.body?.discard()
            if !hasFile, let part = download.part {
                try work.parts.discard(part: part.name)
            }
            register.end(download, result)
        } catch {
            register.end(download, .failed(error, download.cost))
        }
    }

    /// Cancels a download in any state.
    func cancel(_ download: Download, discardingPart: Bool) {
        if discardingPart { download.discardsPart = true }
        breakOff(download) { .cancelled($0) }
    }

    /// Cancels downloads in one step, so that none of them gets the place that another one leaves.
    func cancel(_ ids: [Int], discardingPart: Bool) {
        for id in ids {
            guard let download = register.downloads[id] else { continue }
            cancel(download, discardingPart: discardingPart)
        }
    }

    /// Ends all running downloads, and all later ones, with one error.
    func refuseAll(_ error: MirrorError) {
        guard refusal == nil else { return }
        refusal = error
        for download in Array(register.downloads.values) { breakOff(download, error) }
    }

    /// Ends the downloads whose bytes have no room on a full disk. Their parts stay.
    ///
    /// From now on a download begins only if its bytes have room.
    private func diskIsFull(_ error: MirrorError) {
        isDiskFull = true
        for download in Array(register.downloads.values)
        where download.body != nil && lackOfRoom(for: download) != nil {
            breakOff(download, error)
        }
    }

    /// Ends a download in any state with an error that another one met. Its part stays.
    private func breakOff(_ download: Download, _ error: MirrorError) {
        var error = error
        error.target = download.target
        breakOff(download) { .failed(error, $0) }
    }

    /// Ends a download in any state; `result` gets its cost.
    private func breakOff(_ download: Download, as result: (TransferCost) -> TransferResult) {
        download.countRequests()
        let result = result(download.cost)
        download.cancellation.set()
        switch download.state {
        case .settling: return
        case .working:
            // `goOn` finds this result when the worker's message arrives.
            download.earlyResult = result
            download.body?.stop()
        case .exchanging(let active):
            requests.breakOff(active)
            finish(download, result)
        case .reading(let reading):
            // The thread that reads the file may never return.
            work.files.giveUp(reading, of: download)
            finish(download, result)
        case .queued, .waiting, .joined: finish(download, result)
        }
    }
}

// MARK: Requests

/// Finds out what the end of a request means: for its download, for its host, for its connection.
///
/// A request ends by itself, or because it stalls, or because its place is needed elsewhere.
extension TransferEngine {
    /// Handles the end of a request that the wire reports.
    func ended(_ end: WireEnd) {
        let (active, failure) = (end.active, end.failure)
        guard requests.isRunning(active), let download = active.download else {
            return
        }
        // The flags below may be about one address of the host, while another address has answered.
        let wasMade = failure == nil || end.wasSent
        if !wasMade, active.lacksDescriptor, wasShortOfDescriptors(active, download) {
            return
        }
        if !wasMade, !active.hadSocket { download.requestsWithoutSocket += 1 }
        if active.isMisplaced || failure?.isMisplaced == true || wantsHTTP1(failure, download) {
            return endMisplaced(active)
        }
        if let failure, failure.code == .connectionLost, !active.endsHere,
            download.machine?.mayRefuseProtocol(failure) != true
        {
            register.dispatcher.backOff(active.id)
        }
        ended(active, of: download, failure: failure)
    }

    /// Whether a failure of HTTP/2 may mean that the host wants HTTP/1.1.
    ///
    /// A host can say so only by an error (RFC 9113 §7, HTTP_1_1_REQUIRED). The result is true if
    /// the host is known to forbid shared connections, or has answered nothing so far.
    private func wantsHTTP1(_ failure: TransportFailure?, _ download: Download) -> Bool {
        guard failure?.isOfHTTP2 == true else { return false }
        let host = download.nextHost
        return register.dispatcher.hostProtocols[host]?.forbidsSharing == true
            || !register.dispatcher.hasAnswered(host)
    }

    private func ended(_ active: ActiveRequest, of download: Download, failure: TransportFailure?) {
        if active.segment == nil { return ownEnded(active, of: download, failure: failure) }
        decide(download, download.segments?.segmentEnded(active, failure: failure))
    }

    /// Ends a request that received too few bytes for too long.
    func stalled(_ active: ActiveRequest) {
        guard let download = active.download else { return }
        requests.wire.endConnection(
            of: active, ifSilentFor: policy.stallTimeout.wholeSeconds * 1000)
        // The stalled request is over, and the next request has the whole time limit.
        if active.segment == nil { active.stall.reset() }
        ended(active, of: download, failure: .stalled(seconds: policy.stallTimeout.wholeSeconds))
    }

    /// Ends a request whose answer may belong to another request.
    /// The request is made again over another connection.
    func endMisplaced(_ active: ActiveRequest) {
        guard requests.isRunning(active), let download = active.download else {
            return
        }
        ended(active, of: download, failure: .misplaced(wasSent: active.isConnected))
    }

    /// Breaks off requests without a response while other downloads wait for their places. The
    /// requests are made again later.
    func lendPlaces() {
        for id in register.dispatcher.lenders() {
            guard let download = register.downloads[id],
                case .exchanging(let active) = download.state,
                !active.hasAnswered, download.plan?.isPost == false
            else { continue }
            requests.breakOff(active)
            register.dispatcher.lend(id)
            register.waitForPlace(download)
        }
    }

    /// Handles a connection for which the process has no descriptor left.
    /// From then on fewer transfers run at once. This download starts again when it has a place.
    /// Returns false if the number of downloads cannot be lowered.
    private func wasShortOfDescriptors(_ active: ActiveRequest, _ download: Download) -> Bool {
        if active.segment != nil {
            // The download does not require its further connections, so only this one ends.
            download.segmentRequests -= 1
            ended(active, of: download, failure: nil)
            return true
        }
        guard register.dispatcher.runningCount > 1 else { return false }
        _ = register.dispatcher.lowerJobs()
        requests.breakOff(active)
        register.waitForPlace(download)
        return true
    }
}

// MARK: The download's own request

extension TransferEngine {
    /// Ends the download's own request.
    /// A finding of its callbacks has priority over the wire's failure.
    private func ownEnded(
        _ active: ActiveRequest, of download: Download, failure: TransportFailure?
    ) {
        requests.breakOff(active)
        switch active.finding {
        case .failedHere(let error): fail(download, error)
        case .acted(let action): act(action, download)
        case .refused(let refusal): refused(download, refusal)
        case .exceeded(let limit):
            download.body?.flush()
            decide(download) { $0.exceeded(limit: limit) }
        case .cut: conclude(download, failure: nil, of: active)
        case .judged, .misplaced, nil: conclude(download, failure: failure, of: active)
        }
    }

    /// Ends the body of a response: completely, or with a failure.
    /// Without a body, the request counts as failed.
    private func conclude(
        _ download: Download, failure: TransportFailure?, of active: ActiveRequest
    ) {
        guard download.machine?.reception != nil, let body = download.body else {
            let failure =
                failure
                ?? TransportFailure(
                    .malformedResponse, "the connection ended without an answer",
                    isPassing: true, wasSent: true)
            return active.hasAnswered
                ? interrupted(download, failure) : unanswered(download, failure)
        }
        body.flush()
        let length = body.length
        if let segments = download.segments {
            return decide(download, segments.ownEnded(failure))
        }
        guard let failure else {
            let isCut = active.isClosedByPeer == false && active.version != .http2
            return decide(download) { $0.bodyEnded(length: length, isCut: isCut) }
        }
        interrupted(download, failure)
    }

    /// Ends a response that cannot be trusted: before its body, or at its trailers.
    ///
    /// Bytes that came before the trailers are kept, as after an interruption, because a pin will
    /// verify them.
    private func refused(_ download: Download, _ refusal: ResponseError) {
        guard download.machine?.reception != nil, let body = download.body else {
            return decide(download) { $0.refused(refusal) }
        }
        body.flush()
        // Further connections end now. The next response may begin the part again, in a
        // callback, where no connection can be ended.
        if let segments = download.segments {
            return decide(download, segments.breakOff(refusal))
        }
        let length = body.length
        decide(download) { $0.refused(refusal, length: length) }
    }

    private func interrupted(_ download: Download, _ failure: TransportFailure) {
        let length = download.body?.length
        register.know(hostsOf: download)
        decide(download) { $0.interrupted(failure, length: length) }
    }

    /// Handles a request that brought no head.
    /// If the host may be the cause, all downloads that need the host wait for it together.
    private func unanswered(_ download: Download, _ failure: TransportFailure) {
        guard !failure.isMisplaced, download.machine?.mayRefuseProtocol(failure) != true else {
            return interrupted(download, failure)
        }
        var failure = failure
        // No server speaks TLS on port 80, so the hint would be wrong there.
        if failure.code == .connectionLost, failure.wasSent, let url = download.plan?.url,
            url.scheme == .http, url.port != 80, !register.dispatcher.hasAnswered(Host(url))
        {
            failure.cause += "; the server may speak HTTPS on this port: then write https://"
        }
        register.dispatcher.advance(to: work.clock.monotonic())
        // A place that the user put in front is not waited for as a source would be.
        if download.place != nil {
            // A cache that has answered others may be silent about one file, which it fetches itself.
            if failure.wasSent, register.dispatcher.hasAnswered(download.nextHost) {
                return interrupted(download, failure)
            }
            return decide(download) { $0.placeIsDown(failure) }
        }
        switch register.dispatcher.failed(download.id, failure) {
        case .ofTransfer: interrupted(download, failure)
        case .ofHost(let wait):
            requests.wire.watchNetwork()
            register.know(hostsOf: download)
            decide(download) { $0.unreachable(failure, wait: wait) }
        case .forGood(let outage):
            register.know(hostsOf: download)
            let host = download.nextHost.description
            decide(download) { $0.hostIsDown(host, outage, wasAsked: true) }
        }
    }
}
