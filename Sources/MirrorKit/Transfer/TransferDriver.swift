internal import MirrorModel
internal import MirrorSystem

/// Passes events to the state machines of transfers, and carries out the actions that they decide:
/// requests, waits, checks. The heads and bytes of responses arrive here too.
extension TransferEngine {
    /// Passes an event to the machine of a transfer, and carries out its decision.
    func decide(_ transfer: Transfer, _ decision: (inout TransferMachine) -> TransferAction) {
        // The machine is changed in place: a copy of it costs a reference count for each of its
        // strings.
        if let action = transfer.machine?.action(by: decision) { act(action, transfer) }
    }

    /// Passes an event of a transfer's segments to its state machine, or fails the transfer.
    /// Does nothing if there is no event.
    func decide(_ transfer: Transfer, _ event: TransferSegments.Event?) {
        switch event {
        case .failed(let error): failInMidst(transfer, error)
        case .changed(let refusal): decide(transfer) { $0.versionChanged(refusal) }
        case .concluded(.segmentsEnded, let length):
            decide(transfer) { $0.segmentsEnded(length: length) }
        case .concluded(.bodyEnded, let length):
            decide(transfer) { $0.bodyEnded(length: length) }
        case .concluded(.interrupted(let failure), let length):
            decide(transfer) { $0.interrupted(failure, length: length) }
        case .concluded(.refused(let refusal), let length):
            decide(transfer) { $0.refused(refusal, length: length) }
        case nil: break
        }
    }

    func act(_ action: TransferAction, _ transfer: Transfer) {
        if let plan = carryOut(action, transfer) { queue(plan, transfer) }
    }

    /// Carries out an action, except the request that the action may end with.
    /// Returns that request. Returns nil if the action ends with no request.
    private func carryOut(_ action: TransferAction, _ transfer: Transfer) -> RequestPlan? {
        let now = work.clock.monotonic()
        if let seconds = action.hostHold, let url = transfer.plan?.url {
            let isTooLong = seconds > policy.longestWait
            let until = now + min(seconds, 1 << 40) * 1000
            register.dispatcher.hold(Host(url), until: until, isTooLong: isTooLong)
        }
        if let protocols = action.protocols, let url = transfer.plan?.url {
            register.dispatcher.know(protocols, of: Host(url))
        }
        if let notice = action.notice { register.report(transfer, notice) }
        if action.dropsPart {
            do { try transfer.drop() } catch {
                fail(transfer, error)
                return nil
            }
        }
        if let ending = transfer.earlyResult {
            finish(transfer, ending)
            return nil
        }
        switch action.next {
        case .request(let plan): return plan
        case .wait(let milliseconds):
            if action.waitsForNetwork { requests.wire.watchNetwork() }
            transfer.state = .waiting(until: now + milliseconds)
            register.dispatcher.delay(
                transfer.job.id, until: now + milliseconds,
                endsWithNetwork: action.waitsForNetwork)
            keep(transfer)
            if action.asksCredentials { askCredentials(for: transfer) }
        case .check: check(transfer)
        case .accept(let verification, let answer): accept(transfer, verification, answer)
        case .confirm(let answer):
            transfer.countRequests()
            register.end(transfer, .notModified(answer, transfer.cost))
        case .fail(let error): fail(transfer, error)
        case .receive: break
        }
        return nil
    }
}

extension TransferMachine {
    fileprivate mutating func action(by decision: (inout TransferMachine) -> TransferAction)
        -> TransferAction
    {
        decision(&self)
    }
}

// MARK: Requests

extension TransferEngine {
    /// Makes a request at once if the transfer has a place, and queues it otherwise.
    private func queue(_ plan: RequestPlan, _ transfer: Transfer) {
        transfer.plan = plan
        let hasPlace = register.dispatcher.isRunning(transfer.job.id)
        if hasPlace, !transfer.isPaused, refusal == nil {
            request(plan, for: transfer)
        } else {
            register.waitForPlace(transfer)
        }
    }

    /// Makes a request now, to the first source whose host may be asked; the transfer has a place.
    ///
    /// There may be thousands of sources that cannot be asked, so this is a loop and no recursion.
    func request(_ plan: RequestPlan, for transfer: Transfer) {
        var next = plan
        while true {
            let host = Host(next.url)
            let action: TransferAction?
            switch register.dispatcher.admit(transfer.job.id, to: host) {
            case .ask:
                if let known = register.dispatcher.hostProtocols[host], known.forbidsSharing,
                    let plan = transfer.machine?.adapted(to: known)
                {
                    transfer.plan = plan
                    next = plan
                }
                return make(next, for: transfer)
            case .waits: return register.waitForPlace(transfer)
            case .elsewhere:
                register.know(hostsOf: transfer)
                action = transfer.machine?.elsewhere()
                if action == nil { return register.waitForPlace(transfer, isPatient: true) }
            case .refused(let milliseconds):
                let seconds = (milliseconds + 999) / 1000
                action = transfer.machine?.action { $0.heldOff(seconds: seconds) }
            case .down(let outage):
                action = transfer.machine?.action {
                    $0.hostIsDown(host.description, outage, wasAsked: false)
                }
            }
            guard let action, let plan = carryOut(action, transfer) else { return }
            transfer.plan = plan
            guard register.dispatcher.isRunning(transfer.job.id), !transfer.isPaused,
                refusal == nil
            else { return register.waitForPlace(transfer) }
            next = plan
        }
    }

    /// Makes a request to a host that may be asked.
    private func make(_ plan: RequestPlan, for transfer: Transfer) {
        if !transfer.hasStarted {
            transfer.hasStarted = true
            let source = transfer.job.sources[plan.source].url.withoutSecrets
            let size = transfer.job.expectation.size ?? transfer.machine?.part?.total
            register.report(transfer, .started(source: source, size: size, offset: plan.offset))
        }
        if plan.url.scheme == .file { return open(plan, for: transfer) }
        do {
            let active = try requests.prepare(
                plan, for: transfer, stall: transfer.stall, listener: self)
            transfer.state = .exchanging(active)
            requests.wire.begin(active)
        } catch { fail(transfer, error) }
    }

    /// Makes a thread look at the source file.
    private func open(_ plan: RequestPlan, for transfer: Transfer) {
        guard let path = plan.url.filePath else {
            transfer.state = .working
            return decide(transfer) {
                $0.refused(ResponseError(.sourceFileUnreadable, "its path cannot be a file's"))
            }
        }
        work.files.look(at: path, for: transfer)
    }
}

// MARK: Credentials

extension TransferEngine {
    /// Asks the program for other credentials, for the source that refused the current ones.
    private func askCredentials(for transfer: Transfer) {
        guard let source = transfer.plan?.source else { return }
        let (id, inbox) = (transfer.job.id, work.inbox)
        transfer.job.renew?(transfer.job.sources[source]) { headers in
            inbox.post(.renewed(id, source: source, headers))
        }
    }
}

// MARK: Pauses

extension TransferEngine {
    /// Ends the requests of a paused transfer, so that others get its connections and place.
    ///
    /// The received bytes are kept, and the next request waits for the end of the pause. If the
    /// transfer could not be continued by a new request, the request goes on, and its bytes are
    /// held back.
    func breakOff(_ transfer: Transfer) {
        guard transfer.machine?.mayBreakOff(held: transfer.heldBytes) == true else { return }
        if case .exchanging(let active) = transfer.state {
            // The callbacks have judged this response already, so it ends soon.
            guard active.finding == nil else { return }
            requests.breakOff(active)
        }
        transfer.stall.reset()
        keep(transfer)
        if case .settling = transfer.state { return }
        if let segments = transfer.segments { return decide(transfer, segments.breakOff()) }
        let length = transfer.body?.length
        decide(transfer) { $0.brokenOff(length: length) }
    }
}

// MARK: Bytes

extension TransferEngine {
    /// Puts the bytes in hand into the part and logs them, so that they survive a crash.
    /// Does not wait for the disk.
    private func keep(_ transfer: Transfer) {
        guard let body = transfer.body, body.isResumable else { return }
        do {
            try body.spill(now: work.clock.monotonic())
        } catch { return fail(transfer, error) }
        body.flush()
        work.log(body, of: transfer.job)
    }

    /// Hashes the bytes in hand: on a worker, or here if waking a worker would take longer.
    private func check(_ transfer: Transfer) {
        guard let body = transfer.body else {
            let error = MirrorError(.internalError, "\(transfer.job.target): no bytes to check.")
            return fail(transfer, error)
        }
        if transfer.job.keepsPart, body.file == nil {
            do throws(MirrorError) { try body.spill(now: work.clock.monotonic()) } catch {
                return fail(transfer, error)
            }
            body.flush()
        }
        transfer.state = .working
        let check = BodyCheck(
            job: transfer.job, sent: transfer.machine?.sentDigests ?? [], inbox: work.inbox)
        if let file = body.file {
            work.log(body, of: transfer.job)
            register.report(transfer, .verifying(bytes: body.length))
            check.run(file, size: body.length, pipeline: body.pipeline)
        } else {
            let bytes = body.memory
            guard bytes.count > BodyCheck.fewBytes else {
                let found = check.judge(bytes)
                return hashed(transfer, found.digests, piecesHold: found.piecesHold)
            }
            work.workers.submit { check.run(bytes) }
        }
    }

    /// Passes the digests of the bytes to the state machine.
    func hashed(_ transfer: Transfer, _ digests: [Digest], piecesHold: Bool?) {
        guard let body = transfer.body else { return }
        body.digests = digests
        let size = body.length
        decide(transfer) { $0.checked(size: size, digests: digests, piecesHold: piecesHold) }
    }

    private func accept(_ transfer: Transfer, _ verification: Verification, _ answer: Answer) {
        guard let body = transfer.body,
            let sha256 = body.digests.first(where: { $0.algorithm == .sha256 })
        else {
            let error = MirrorError(.internalError, "\(transfer.job.target): no bytes to keep.")
            return fail(transfer, error)
        }
        transfer.countRequests()
        let content: Promotion.Content
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
            otherDigest: body.digests.first { $0 != sha256 && declared.contains($0) },
            verified: verification, answer: answer, cost: transfer.cost)
        register.end(transfer, .received(result))
    }
}

// MARK: Responses

extension TransferEngine {
    /// Prepares the body that an accepted response will fill.
    func receive(
        _ reception: Reception, action: TransferAction, _ transfer: Transfer
    ) throws(MirrorError) {
        if let notice = action.notice { register.report(transfer, notice) }
        if action.dropsPart { try transfer.drop() }
        guard let identity = transfer.machine?.part?.identity else { return }
        if transfer.job.expectation.size == nil, let total = reception.total,
            let error = surroundings.admit(
                total - max(reception.offset, transfer.segments?.state.plan.heldBytes ?? 0),
                transfer.job.target)
        {
            throw error
        }
        if reception.isRange, let body = transfer.body {
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
            reception, identity: identity, of: transfer, by: work)
    }
}

/// The wire calls these methods inside `perform` and `resume`.
///
/// They change the state of the transfer that a response belongs to, and start or end no request.
/// The engine acts on a finding when the request has ended (`ended`).
extension TransferEngine: ActiveRequest.Listener {
    /// Starts the stall clock, and notes in the dispatcher that the request is connected.
    func began(_ active: ActiveRequest) {
        guard let transfer = register.transfers[active.id] else { return }
        requests.began(active, of: transfer)
        guard let plan = transfer.plan else { return }
        register.dispatcher.connected(active.id) {
            // HTTP/2 is offered over TLS only.
            plan.url.scheme == .https && active.sharesConnection
        }
    }

    func misplaced(_ active: ActiveRequest) { requests.misplace(active) }

    func heldBack(_ active: ActiveRequest) { requests.hold(active) }

    func received(head: ResponseHead, on active: ActiveRequest) -> Bool {
        requests.answered(head, on: active)
        guard let transfer = register.transfers[active.id] else { return false }
        register.dispatcher.answered(active.id, isShared: head.version == .http2)
        register.know(hostsOf: transfer)
        guard let action = transfer.machine?.answered(head, at: work.clock.now()) else {
            return false
        }
        guard case .receive(let reception) = action.next else {
            active.find(.acted(action))
            return false
        }
        do {
            try receive(reception, action: action, transfer)
            try beginSegments(reception, of: transfer)
            transfer.segments?.answered(in: head.version)
        } catch { active.find(.failedHere(error)) }
        return true
    }

    func received(bytes: UnsafeRawBufferPointer, on active: ActiveRequest)
        -> ActiveRequest.Reply
    {
        guard active.finding == nil, let transfer = register.transfers[active.id],
            let reception = transfer.machine?.reception, let body = transfer.body
        else { return .stop }
        if throttle.mustHoldBack(transfer, backlog: body.backlog) { return .pause }
        throttle.count(bytes.count, for: transfer)
        var bytes = bytes
        if let limit = reception.limit, body.length + Int64(bytes.count) > limit {
            active.find(.exceeded(limit: limit))
            bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(limit - body.length)))
        }
        if let segments = transfer.segments {
            let (taken, isCut) = segments.ownArrived(bytes.count)
            bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(taken))
            if isCut { active.find(.cut) }
        }
        do {
            try body.append(bytes, now: work.clock.monotonic())
        } catch { active.find(.failedHere(error)) }
        return active.finding == nil ? .proceed : .stop
    }
}
