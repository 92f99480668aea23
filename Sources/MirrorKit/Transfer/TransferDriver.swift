/// Passes events to the state machines of downloads, and carries out the actions that they decide:
/// requests, waits, checks. The heads and bytes of responses arrive here too.
extension TransferEngine {
    /// Passes an event to the machine of a download, and carries out its decision.
    func decide(_ download: Download, _ decision: (inout TransferMachine) -> TransferAction) {
        // The machine is changed in place: a copy of it costs a reference count for each of its
        // strings.
        if let action = download.machine?.action(by: decision) { act(action, download) }
    }

    /// Passes an event of a download's segments to its state machine, or fails the download.
    /// Does nothing if there is no event.
    func decide(_ download: Download, _ event: TransferSegments.Event?) {
        switch event {
        case .failed(let error): failInMidst(download, error)
        case .changed(let refusal): decide(download) { $0.versionChanged(refusal) }
        case .concluded(.segmentsEnded, let length):
            decide(download) { $0.segmentsEnded(length: length) }
        case .concluded(.bodyEnded, let length):
            decide(download) { $0.bodyEnded(length: length) }
        case .concluded(.interrupted(let failure), let length):
            decide(download) { $0.interrupted(failure, length: length) }
        case .concluded(.refused(let refusal), let length):
            decide(download) { $0.refused(refusal, length: length) }
        case nil: break
        }
    }

    func act(_ action: TransferAction, _ download: Download) {
        if let plan = carryOut(action, download) { queue(plan, download) }
    }

    /// Carries out an action, except the request that the action may end with.
    /// Returns that request. Returns nil if the action ends with no request.
    private func carryOut(_ action: TransferAction, _ download: Download) -> RequestPlan? {
        let now = work.clock.monotonic()
        if let seconds = action.hostHold, let url = download.plan?.url {
            let isTooLong = seconds > policy.maxWait.wholeSeconds
            let until = now + min(seconds, 1 << 40) * 1000
            register.dispatcher.hold(Host(url), until: until, isTooLong: isTooLong)
        }
        if let protocols = action.protocols, let url = download.plan?.url {
            register.dispatcher.know(protocols, of: Host(url))
        }
        if let notice = action.notice { register.report(download, notice) }
        if let (place, cause, isDown) = action.failedPlace,
            places.note(place, isDown: isDown)
        {
            let most = FailedPlaces.most
            let reason = isDown ? cause : "\(most) files in a row failed, the last: \(cause)"
            stopAsking(place, because: reason, download)
        }
        if action.dropsPart {
            do { try download.drop() } catch {
                fail(download, error)
                return nil
            }
        }
        if let ending = download.earlyResult {
            finish(download, ending)
            return nil
        }
        switch action.next {
        case .request(let plan): return plan
        case .wait(let milliseconds):
            if action.waitsForNetwork { requests.wire.watchNetwork() }
            download.state = .waiting(until: now + milliseconds)
            register.dispatcher.delay(
                download.id, until: now + milliseconds,
                endsWithNetwork: action.waitsForNetwork)
            keep(download)
            if action.asksCredentials { askCredentials(for: download) }
        case .check: check(download)
        case .accept(let verification, let answer): accept(download, verification, answer)
        case .confirm(let answer):
            if let place = download.place { places.hasServed(place) }
            download.countRequests()
            register.end(download, .notModified(answer, download.cost))
        case .fail(let error): fail(download, error)
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
    /// Makes a request at once if the download has a place, and queues it otherwise.
    private func queue(_ plan: RequestPlan, _ download: Download) {
        download.plan = plan
        let hasPlace = register.dispatcher.isRunning(download.id)
        if hasPlace, !download.isPaused, refusal == nil {
            request(plan, for: download)
        } else {
            register.waitForPlace(download)
        }
    }

    /// Makes a request now, to the first source whose host may be asked; the download has a place.
    ///
    /// There may be thousands of sources that cannot be asked, so this is a loop and no recursion.
    func request(_ plan: RequestPlan, for download: Download) {
        var next = plan
        while true {
            let host = Host(next.url)
            let action: TransferAction?
            if let place = download.place, places.isDown(place) {
                action = download.machine?.action { $0.placeIsDown(wasAsked: false) }
                guard let action, let plan = carryOut(action, download) else { return }
                (download.plan, next) = (plan, plan)
                continue
            }
            switch register.dispatcher.admit(download.id, to: host) {
            case .ask:
                if let known = register.dispatcher.hostProtocols[host], known.forbidsSharing,
                    let plan = download.machine?.adapted(to: known)
                {
                    download.plan = plan
                    next = plan
                }
                return make(next, for: download)
            case .waits: return register.waitForPlace(download)
            case .elsewhere:
                register.know(hostsOf: download)
                action = download.machine?.elsewhere()
                if action == nil { return register.waitForPlace(download, isPatient: true) }
            case .refused(let milliseconds):
                let seconds = (milliseconds + 999) / 1000
                action = download.machine?.action { $0.heldOff(seconds: seconds) }
            case .down(let outage):
                action = download.machine?.action {
                    $0.hostIsDown(host.description, outage, wasAsked: false)
                }
            }
            guard let action, let plan = carryOut(action, download) else { return }
            download.plan = plan
            guard register.dispatcher.isRunning(download.id), !download.isPaused,
                refusal == nil
            else { return register.waitForPlace(download) }
            next = plan
        }
    }

    /// Makes a request to a host that may be asked.
    private func make(_ plan: RequestPlan, for download: Download) {
        if !download.hasStarted {
            download.hasStarted = true
            let source = download.sources[plan.source].url.withoutSecrets
            let size = download.expectation.size ?? download.machine?.part?.total
            register.report(download, .started(source: source, size: size, offset: plan.offset))
        }
        if plan.url.scheme == .file { return open(plan, for: download) }
        do {
            let active = try requests.prepare(
                plan, for: download, stall: download.stall, listener: self)
            download.state = .exchanging(active)
            requests.wire.begin(active)
        } catch { fail(download, error) }
    }

    /// Makes a thread look at the source file.
    private func open(_ plan: RequestPlan, for download: Download) {
        guard let path = plan.url.filePath else {
            download.state = .working
            return decide(download) {
                $0.refused(ResponseError(.sourceFileUnreadable, "its path cannot be a file's"))
            }
        }
        work.files.look(at: path, for: download)
    }
}

// MARK: Places in front of the sources

extension TransferEngine {
    /// Ends the requests to a place that have no answer, and says that it is asked no more.
    private func stopAsking(_ place: String, because cause: String, _ download: Download) {
        register.report(
            download,
            .warning("\(place): \(cause). It is asked for no further file in this run."))
        for other in Array(register.downloads.values) where other !== download {
            guard case .exchanging(let active) = other.state, other.place == place,
                active.segment == nil, !active.hasAnswered, active.finding == nil
            else { continue }
            requests.breakOff(active)
            decide(other) { $0.placeIsDown() }
        }
    }
}

/// The places in front of the sources that have failed, and those that are asked no more.
struct FailedPlaces {
    private var down: Set<String> = []
    private var failures: [String: Int] = [:]
    /// After so many failures in a row, without a good file between them, a place is down.
    static let most = 3

    /// Notes that a place failed a download. Returns whether it is down from now on.
    mutating func note(_ place: String, isDown: Bool) -> Bool {
        failures[place, default: 0] += 1
        guard isDown || failures[place, default: 0] >= FailedPlaces.most else { return false }
        return down.insert(place).inserted
    }

    /// Notes that a place gave a good file.
    mutating func hasServed(_ place: String) {
        if !failures.isEmpty { failures[place] = nil }
    }

    func isDown(_ place: String) -> Bool { !down.isEmpty && down.contains(place) }

    /// Removes the sources at places that are down, unless none would be left.
    func leaveOutDown(of sources: inout [PreparedSource]) {
        if down.isEmpty { return }
        let others = sources.filter { !($0.place.map(down.contains) ?? false) }
        if !others.isEmpty { sources = others }
    }
}

// MARK: Credentials

extension TransferEngine {
    /// Asks the program for other credentials, for the source that refused the current ones.
    private func askCredentials(for download: Download) {
        guard let source = download.plan?.source else { return }
        let inbox = work.inbox
        let asked = download.sources[source]
        if let signer = asked.signer {
            work.workers.submit {
                let answer =
                    signer.refresh()
                    ? RenewedHeaders.headers(asked.headers)
                    : .none("the keys in the environment and the AWS files are the same")
                inbox.post { $0.renewed(download, source: source, answer) }
            }
            return
        }
        download.renew?(download.sources[source]) { headers in
            inbox.post { $0.renewed(download, source: source, headers) }
        }
    }
}

// MARK: Pauses

extension TransferEngine {
    /// Ends the requests of a paused download, so that others get its connections and place.
    ///
    /// The received bytes are kept, and the next request waits for the end of the pause. If the
    /// transfer could not be continued by a new request, the request goes on, and its bytes are
    /// held back.
    func breakOff(_ download: Download) {
        guard download.machine?.mayBreakOff(held: download.heldBytes) == true else { return }
        if case .exchanging(let active) = download.state {
            // The callbacks have judged this response already, so it ends soon.
            guard active.finding == nil else { return }
            requests.breakOff(active)
        }
        download.stall.reset()
        keep(download)
        if case .settling = download.state { return }
        if let segments = download.segments { return decide(download, segments.breakOff()) }
        let length = download.body?.length
        decide(download) { $0.brokenOff(length: length) }
    }
}

// MARK: Bytes

extension TransferEngine {
    /// Puts the bytes in hand into the part and logs them, so that they survive a crash.
    /// Does not wait for the disk.
    private func keep(_ download: Download) {
        guard let body = download.body, body.isResumable else { return }
        do {
            try body.spill(now: work.clock.monotonic())
        } catch { return fail(download, error) }
        body.flush()
        work.log(body, of: download)
    }

    /// Hashes the bytes in hand: on a worker, or here if waking a worker would take longer.
    private func check(_ download: Download) {
        guard let body = download.body else {
            let error = MirrorError(.internalError, "\(download.target): no bytes to check.")
            return fail(download, error)
        }
        if download.keepsPart, body.file == nil {
            do throws(MirrorError) { try body.spill(now: work.clock.monotonic()) } catch {
                return fail(download, error)
            }
            body.flush()
        }
        download.state = .working
        let check = BodyCheck(
            download: download, sent: download.machine?.sentDigests ?? [], inbox: work.inbox)
        if let file = body.file {
            work.log(body, of: download)
            register.report(download, .verifying(bytes: body.length))
            check.run(file, size: body.length, pipeline: body.pipeline)
        } else {
            let bytes = body.memory
            guard bytes.count > BodyCheck.fewBytes else {
                let found = check.judge(bytes)
                return hashed(download, found.digests, piecesHold: found.piecesHold)
            }
            work.workers.submit { check.run(bytes) }
        }
    }

    /// Passes the digests of the bytes to the state machine.
    func hashed(_ download: Download, _ digests: [Digest], piecesHold: Bool?) {
        guard let body = download.body else { return }
        body.digests = digests
        let size = body.length
        decide(download) { $0.checked(size: size, digests: digests, piecesHold: piecesHold) }
    }

    private func accept(_ download: Download, _ verification: Verification, _ answer: Answer) {
        guard let body = download.body,
            let sha256 = body.digests.first(where: { $0.algorithm == .sha256 })
        else {
            let error = MirrorError(.internalError, "\(download.target): no bytes to keep.")
            return fail(download, error)
        }
        if let place = download.place { places.hasServed(place) }
        download.countRequests()
        let content: Promotion.Content
        do throws(Errno) {
            content =
                if let file = body.file { .part(body.record.name, try file.stamp()) } else {
                    .memory(body.memory)
                }
        } catch { return fail(download, MirrorError(error, target: download.target)) }
        if download.expectation.size == nil, download.machine?.reception?.total == nil {
            // Only now is the size known.
            do { try admit(0, forFileOf: body.length, download) } catch {
                return fail(download, error)
            }
        }
        let declared = download.expectation.digests
        let result = ReceivedBody(
            content: content,
            size: body.length, sha256: sha256,
            otherDigest: body.digests.first { $0 != sha256 && declared.contains($0) },
            verified: verification, answer: answer, cost: download.cost)
        register.end(download, .received(result))
    }
}

// MARK: Responses

extension TransferEngine {
    /// Prepares the body that an accepted response will fill.
    func receive(
        _ reception: Reception, action: TransferAction, _ download: Download
    ) throws(MirrorError) {
        if let notice = action.notice { register.report(download, notice) }
        if action.dropsPart { try download.drop() }
        guard let identity = download.machine?.part?.identity else { return }
        if let total = reception.total ?? download.expectation.size {
            let held = max(reception.offset, download.segments?.state.plan.heldBytes ?? 0)
            try admit(total - held, forFileOf: total, download)
        } else if isDiskFull {
            try admit(nil, forFileOf: nil, download)
        }
        if reception.isRange, let body = download.body {
            guard body.length == reception.offset else {
                throw MirrorError(
                    .internalError,
                    "\(download.target): an answer from \(reception.offset) on, and \(body.length) bytes in hand."
                )
            }
            try body.continue(total: reception.total, provenance: reception.answer.provenance)
            return
        }
        download.body = IncomingBody(
            reception, identity: identity, of: download, by: work)
    }
}

extension TransferEngine {
    /// Throws an error if there is no room for a body, on the disk or within the quota.
    private func admit(
        _ bytes: Int64?, forFileOf size: Int64?, _ download: Download
    ) throws(MirrorError) {
        let reason = lackOfRoom(for: bytes, ofFileOf: size, download)
        if let reason { throw MirrorError(leftOut: download.target, because: reason) }
    }

    private func lackOfRoom(
        for bytes: Int64?, ofFileOf size: Int64?, _ download: Download
    ) -> Reason? {
        surroundings.observer.lackOfRoom(for: bytes, ofFileOf: size, download) {
            reservedBytes(besides: download)
        }
    }

    /// Throws an error if a body of unknown size grows beyond what is free on the disk.
    ///
    /// The room is asked for in steps of up to 4 MiB, and exactly when a step does not fit. A quota
    /// judges the body at its end.
    private func admitGrowth(
        of body: IncomingBody, by count: Int, _ download: Download
    ) throws(MirrorError) {
        let length = body.length + Int64(count)
        if length <= download.admittedLength { return }
        let unwritten = Int64(count + body.backlog)
        let step = min(length, 4 << 20)
        if lackOfRoom(for: unwritten + step, ofFileOf: nil, download) == nil {
            download.admittedLength = length + step
        } else if lackOfRoom(for: unwritten, ofFileOf: nil, download) != nil {
            try admit(unwritten, forFileOf: length, download)
        }
    }

    /// Returns why a disk that was found full has no room for the rest of a download.
    ///
    /// Returns nil if it has room, or if the download most likely brings no bytes. There is no room
    /// for a body of unknown size.
    func lackOfRoom(for download: Download) -> Reason? {
        let reception = download.machine?.reception
        if reception == nil, download.local != nil { return nil }
        let total = reception?.total ?? download.expectation.size
        let held = download.body == nil ? download.part?.resumableBytes ?? 0 : download.heldBytes
        return lackOfRoom(for: total.map { max(0, $0 - held) }, ofFileOf: total, download)
    }

    /// The bytes that the other bodies under way still bring, by their areas.
    private func reservedBytes(besides download: Download) -> [Area: Int64] {
        var reserved: [Area: Int64] = [:]
        for other in register.downloads.values where other !== download && other.body != nil {
            guard let total = other.machine?.reception?.total ?? other.expectation.size else {
                continue
            }
            let left = max(0, total - other.heldBytes)
            reserved[other.target.area] =
                reserved[other.target.area, default: 0].addingSaturated(left)
        }
        return reserved
    }
}

/// The wire calls these methods inside `perform` and `resume`.
///
/// They change the state of the download that a response belongs to, and start or end no request.
/// The engine acts on a finding when the request has ended (`ended`).
extension TransferEngine: ActiveRequest.Listener {
    /// Starts the stall clock, and notes in the dispatcher that the request is connected.
    func began(_ active: ActiveRequest) {
        guard let download = active.download else { return }
        requests.began(active, of: download)
        guard let plan = download.plan else { return }
        register.dispatcher.connected(active.id) {
            // HTTP/2 is offered over TLS only.
            plan.url.scheme == .https && active.sharesConnection
        }
    }

    func misplaced(_ active: ActiveRequest) { requests.misplace(active) }

    func heldBack(_ active: ActiveRequest) { requests.hold(active) }

    func received(head: ResponseHead, on active: ActiveRequest) -> Bool {
        requests.answered(head, on: active)
        guard let download = active.download else { return false }
        register.dispatcher.answered(active.id, isShared: head.version == .http2)
        register.know(hostsOf: download)
        guard let action = download.machine?.answered(head, at: work.clock.now()) else {
            return false
        }
        guard case .receive(let reception) = action.next else {
            active.find(.acted(action))
            return false
        }
        do {
            try receive(reception, action: action, download)
            try beginSegments(reception, of: download)
            download.segments?.answered(in: head.version)
        } catch { active.find(.failedHere(error)) }
        return true
    }

    func received(bytes: UnsafeRawBufferPointer, on active: ActiveRequest)
        -> ActiveRequest.Reply
    {
        guard active.finding == nil, let download = active.download,
            let reception = download.machine?.reception, let body = download.body
        else { return .stop }
        if throttle.mustHoldBack(download, backlog: body.backlog) { return .pause }
        throttle.count(bytes.count, for: download)
        var bytes = bytes
        if let limit = reception.limit, body.length + Int64(bytes.count) > limit {
            active.find(.exceeded(limit: limit))
            bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(limit - body.length)))
        }
        if let segments = download.segments {
            let (taken, isCut) = segments.ownArrived(bytes.count)
            bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(taken))
            if isCut { active.find(.cut) }
        }
        do {
            if reception.total == nil, download.expectation.size == nil {
                try admitGrowth(of: body, by: bytes.count, download)
            }
            try body.append(bytes, now: work.clock.monotonic())
        } catch { active.find(.failedHere(error)) }
        return active.finding == nil ? .proceed : .stop
    }
}
