internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// Carries out the actions that the state machines of transfers decide.
extension TransferEngine {
    func act(_ action: TransferAction, _ transfer: Transfer) {
        let now = clock.monotonic()
        if let seconds = action.hostHold, let url = transfer.plan?.url {
            let isTooLong = seconds > configuration.transfer.longestWait
            let until = now + min(seconds, 1 << 40) * 1000
            dispatcher.hold(Host(url), until: until, isTooLong: isTooLong)
        }
        if action.leavesProtocol, let url = transfer.plan?.url {
            dispatcher.leaveProtocol(to: Host(url))
        }
        tell(action.notice, transfer)
        if action.dropsPart {
            do { try drop(transfer) } catch { return fail(transfer, error) }
        }
        if let ending = transfer.ending { return finish(transfer, ending) }
        switch action.next {
        case .request(let plan): queue(plan, transfer, now: now)
        case .wait(let milliseconds):
            if action.waitsForNetwork { wire.watchNetwork() }
            transfer.state = .waiting(until: now + milliseconds)
            dispatcher.delay(
                transfer.job.id, until: now + milliseconds,
                endsWithNetwork: action.waitsForNetwork)
            keep(transfer)
        case .check: check(transfer)
        case .accept(let verification, let answer): accept(transfer, verification, answer)
        case .confirm(let answer):
            countRequests(transfer)
            end(transfer, .notModified(answer, transfer.cost))
        case .fail(let error): fail(transfer, error)
        case .receive: break
        }
    }

    /// Makes a request at once if the transfer has a place, and queues it otherwise.
    private func queue(_ plan: RequestPlan, _ transfer: Transfer, now: Int64) {
        transfer.plan = plan
        if dispatcher.isRunning(transfer.job.id), refusal == nil {
            request(plan, for: transfer)
        } else {
            waitForPlace(transfer)
        }
    }

    /// Releases the place of the transfer, if it has one, and queues its next request.
    ///
    /// - Parameter isPatient: whether it waits for the host even when the host does not respond.
    func waitForPlace(_ transfer: Transfer, isPatient: Bool = false) {
        let id = transfer.job.id
        dispatcher.release(id)
        transfer.state = .queued
        if transfer.isPaused { return }
        dispatcher.add(
            id, priority: transfer.job.priority, host: transfer.nextHost,
            hasOthers: !isPatient && transfer.job.sources.count > 1,
            isBrief: transfer.job.isBrief)
    }

    /// Wakes transfers whose waiting time is over.
    func wakeWaiting() {
        guard !reading.isPaused else { return }
        while let id = dispatcher.popWoken() {
            // A paused transfer continues when it is resumed.
            guard let transfer = transfers[id], !transfer.isPaused, case .waiting = transfer.state
            else { continue }
            decide(transfer) { $0.waited() }
        }
    }

    package func tell(_ notice: TransferAction.Notice?, _ transfer: Transfer) {
        switch notice {
        case .retry(let cause, let attempt, let wait, let tries):
            report(
                transfer,
                .retry(cause: cause, attempt: attempt, waitMilliseconds: wait, tries: tries))
        case .restart(let cause, let attempt):
            report(transfer, .restart(cause: cause, attempt: attempt))
        case nil: break
        }
    }

    /// Discards the bytes in hand.
    func drop(_ transfer: Transfer) throws(MirrorError) {
        dismissSegments(of: transfer, keeping: false)
        transfer.segments = nil
        transfer.cost.bytesReused = 0
        let body = transfer.body
        transfer.body = nil
        try body?.discard()
    }

    /// Makes the bytes in hand survive a crash, without waiting until they do.
    private func keep(_ transfer: Transfer) {
        guard let body = transfer.body, body.isResumable else { return }
        do {
            try body.spill(now: clock.monotonic())
        } catch { return fail(transfer, error) }
        body.flush()
        mark(transfer, body) {}
    }

    private func mark(
        _ transfer: Transfer, _ body: IncomingBody, then: @escaping @Sendable () -> Void
    ) {
        let (id, name, parts, inbox) = (transfer.job.id, body.record.name, parts, inbox)
        let clock = clock
        body.pipeline.submit { digests in
            do throws(MirrorError) {
                try digests.log(name, in: parts, now: clock.monotonic())
            } catch {
                inbox.post(.broken(id, error))
            }
            then()
        }
    }

    /// Hashes the bytes in hand: on a worker, or here if waking a worker would take longer.
    private func check(_ transfer: Transfer) {
        guard let body = transfer.body else {
            let error = MirrorError(.internalError, "\(transfer.job.target): no bytes to check.")
            return fail(transfer, error)
        }
        if transfer.job.keepsPart, body.file == nil {
            do throws(MirrorError) { try body.spill(now: clock.monotonic()) } catch {
                return fail(transfer, error)
            }
            body.flush()
        }
        transfer.state = .working
        let check = BodyCheck(
            job: transfer.job, sent: transfer.machine?.sentDigests ?? [], inbox: inbox)
        if let file = body.file {
            mark(transfer, body) {}
            report(transfer, .verifying(bytes: body.length))
            check.run(file, size: body.length, pipeline: body.pipeline)
        } else {
            let bytes = body.memory
            guard bytes.count > BodyCheck.fewBytes else {
                let found = check.judge(bytes)
                return hashed(transfer, found.digests, piecesHold: found.piecesHold)
            }
            workers.submit { check.run(bytes) }
        }
    }

    /// The digests are known.
    func hashed(_ transfer: Transfer, _ digests: [Digest], piecesHold: Bool?) {
        guard let body = transfer.body else { return }
        transfer.digests = digests
        let size = body.length
        decide(transfer) { $0.checked(size: size, digests: digests, piecesHold: piecesHold) }
    }

    private func accept(_ transfer: Transfer, _ verification: Verification, _ answer: Answer) {
        guard let body = transfer.body,
            let sha256 = transfer.digests.first(where: { $0.algorithm == .sha256 })
        else {
            let error = MirrorError(.internalError, "\(transfer.job.target): no bytes to keep.")
            return fail(transfer, error)
        }
        countRequests(transfer)
        let content: ReceivedBody.Storage
        do throws(Errno) {
            content =
                if let file = body.file { .part(body.record.name, try file.stamp()) } else {
                    .memory(body.memory)
                }
        } catch { return fail(transfer, MirrorError(error, target: transfer.job.target)) }
        let declared = transfer.job.expectation.digests
        let result = ReceivedBody(
            content: content,
            size: body.length, sha256: sha256,
            otherDigest: transfer.digests.first { $0 != sha256 && declared.contains($0) },
            verified: verification, answer: answer, cost: transfer.cost)
        end(transfer, .received(result))
    }

    func countRequests(_ transfer: Transfer) {
        transfer.cost.requests =
            (transfer.machine?.requests ?? 0) + transfer.segmentRequests
            - transfer.requestsWithoutSocket
    }
}
