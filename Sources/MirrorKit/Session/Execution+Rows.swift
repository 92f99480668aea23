internal import MirrorModel

/// What a run writes into the index about files that stay as they are.
extension Execution {
    /// The row of a file that has just been received.
    func record(of body: ReceivedBody, at target: Target, for step: Step) -> IndexRecord {
        let now = SystemClock.now()
        var record = IndexRecord(
            target: target, owner: plan.manifests[step.manifest].owner,
            stamp: FileStamp(size: body.size, modified: 0, changed: 0, inode: 0),
            sha256: body.sha256, verified: body.verified, promotedAt: now)
        record.otherDigest = body.otherDigest
        record.confirm(by: body.answer, at: now)
        record.owners = plan.owners(of: step)
        record.isExecutable = plan.isExecutable(step)
        return record
    }

    /// Ends a step whose file stays as it is: the row learns what the answer said.
    func leave(_ position: Int, _ step: Step, _ received: IndexRecord, _ done: Event.Done) {
        var record = received
        var isAdoption = false
        switch step.occupant {
        case .ours(let stamp, received.sha256): record.stamp = stamp
        case .foreign(let stamp, received.sha256):
            record.stamp = stamp
            isAdoption = true
        case .ours, .foreign, .recorded, .nothing, .drifted, .obstacle:
            // Edited here: the row goes on describing the version that was edited.
            guard let known = try? engine.index.record(for: step.target) else { break }
            record.stamp = known.stamp
            record.promotedAt = known.promotedAt
        }
        let known = try? engine.index.record(for: record.target)
        confirm(
            position, record, isAdoption: isAdoption, setsMode: done.outcome != .edited,
            wasExecutable: known?.isExecutable ?? false, done)
    }

    /// Ends a step by its row alone, and by the file's mode where the manifest's wish changed.
    func confirm(
        _ position: Int, _ record: IndexRecord, isAdoption: Bool, setsMode: Bool = true,
        wasExecutable: Bool, _ done: Event.Done
    ) {
        var confirmed = Confirmed(record: record, isAdoption: isAdoption)
        if setsMode, record.isExecutable != wasExecutable {
            confirmed.mode = record.isExecutable ? 0o755 : 0o644
        }
        engine.promoter.submit(confirmed) { [self] error in
            if let error { fail(position, error) } else { finish(position, done) }
        }
    }

    /// Takes a file that has the wanted bytes for the version that is wanted.
    func adopt(_ position: Int) {
        let step = plan.steps[position]
        guard case .adoption(let sha256) = step.means, case .ours(let stamp, _) = step.occupant
        else { return fail(position, .obstructed(step)) }
        let known = try? engine.index.record(for: step.target)
        var record = IndexRecord(
            target: step.target, owner: plan.manifests[step.manifest].owner, stamp: stamp,
            sha256: sha256, verified: .digest, promotedAt: SystemClock.now())
        let pin = plan.resource(of: step)?.pin
        if let known, known.sha256 == sha256 {
            record = known
            record.stamp = stamp
        } else {
            record.otherDigest = pin.flatMap { $0.algorithm == .sha256 ? nil : $0 }
        }
        if let pin, step.reason == .proven || record.isProven(by: pin) {
            record.verified = .digest
            if pin.algorithm != .sha256 { record.otherDigest = pin }
        }
        record.owners = plan.owners(of: step)
        record.isExecutable = plan.isExecutable(step)
        var done = Event.Done(
            target: step.target, step: step.kind, outcome: .adopted, reason: step.reason,
            verified: record.verified)
        done.sha256 = sha256
        confirm(
            position, record, isAdoption: known?.sha256 != sha256,
            wasExecutable: known?.isExecutable ?? false, done)
    }

    /// What the bytes that mirror put at a target were held against; nothing where it put none.
    func recordedVerification(of target: Target) -> Verification {
        (try? engine.index.record(for: target))?.verified ?? .none
    }

    /// Removes the rows of orphans whose files are gone, and notes who owns what others let go.
    func forgetLostOrphans() throws {
        try engine.index.setOwners(plan.released)
        if !plan.forgotten.isEmpty { try engine.index.removeRecords(plan.forgotten) }
    }

    /// Where a received body belongs: for a name that the manifest leaves to the server, what the
    /// answer suggests, else what the URL does.
    func finalTarget(of step: Step, at position: Int, _ body: ReceivedBody) throws -> Target {
        guard plan.isNamedByServer(step), case .nothing = step.occupant,
            let resource = plan.resource(of: step)
        else { return step.target }
        let url = resource.primary.url
        let target = try suggestedTarget(beside: step.target, body.suggestedName, for: url)
        try engine.reserve(target, for: step.target, by: claimant(position))
        try engine.index.rememberServerName(
            owner: plan.manifests[step.manifest].owner, folder: step.target.folder,
            source: SourceKey(url), target: target)
        return target
    }

    private func suggestedTarget(
        beside target: Target, _ name: String?, for url: SourceURL
    ) throws -> Target {
        guard let name else {
            guard ProvisionalName.isOf(target, url) else { return target }
            throw MirrorError(
                .nameMissing,
                "\(target.folder)/: \(url) ends in no name, and the server gives none. Write the file's name in path.",
                target: target)
        }
        do {
            return try target.sibling(named: name)
        } catch {
            throw MirrorError(
                .obstructed,
                "\(target): the server suggests a name that cannot be a target: \(Quoted(name)). Give the resource a path with a name.",
                target: target)
        }
    }
}

extension IndexRecord {
    /// Takes in what an answer said of the version.
    mutating func confirm(by answer: Confirmation, at now: Instant) {
        provenance = answer.provenance
        if answer.validators.entityTag != nil || answer.validators.lastModified != nil {
            validators = answer.validators
        }
        mediaType = answer.mediaType ?? mediaType
        freshUntil = answer.freshUntil
        confirmedAt = now
    }
}
