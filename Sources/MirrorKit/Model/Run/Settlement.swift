/// What follows for a step from its bytes, or from a response about them.
enum Settlement: Sendable {
    /// The bytes get their final name. Then the step ends as the event says.
    case promote(Promotion, Event.Done)
    /// The file stays and its row changes. Then the step ends as the event says.
    case confirm(Confirmed, Event.Done)
    /// The step ends as the event says, if its file is still as the plan saw it.
    case finish(Event.Done)
    /// The step has failed.
    case fail(MirrorError)
}

/// Decides how steps settle: which row is written, which file changes, which event is sent.
///
/// `Settler` knows the plan and gets rows of the index as arguments. It reads and writes nothing.
struct Settler: Sendable {
    let plan: Plan
    let onConflict: ConflictPolicy
    /// The owners of each manifest's targets, where the plan has no others for a target.
    private let owners: [Owners]

    init(plan: Plan, onConflict: ConflictPolicy) {
        self.plan = plan
        self.onConflict = onConflict
        owners = plan.manifests.map { Owners($0.owner) }
    }

    /// Settles a body that was received and verified.
    ///
    /// - Parameters:
    ///   - target: the target of the bytes; if the server chose the name, not the step's target.
    ///   - row: the index's row of the step's target.
    func settle(
        _ body: ReceivedBody, at target: Target, for step: Step, row: IndexRecord?, now: Instant
    ) -> Settlement {
        var done = Event.Done(
            target: step.target, step: step.kind, outcome: .unchanged, reason: step.reason,
            verified: body.verified)
        done.bytesReceived = body.cost.bytesReceived
        done.bytesReused = body.cost.bytesReused
        done.sha256 = body.sha256
        done.source = body.answer.source
        let record = record(of: body, at: target, for: step, now: now)
        let arrival = step.arrival(
            of: body.sha256, validators: body.answer.validators,
            wasResumed: body.cost.bytesReused > 0)
        (done.outcome, done.reason) = (arrival.outcome, arrival.reason)
        if arrival.stays { return leave(step, record, row: row, done) }
        return promote(step, record, body.content, done, now: now)
    }

    /// Settles a source's confirmation that the existing version is the current one.
    func settle(
        _ answer: Answer, for step: Step, row: IndexRecord?, now: Instant
    ) -> Settlement {
        guard let row else {
            return .fail(
                MirrorError(
                    .internalError, "\(step.target): confirmed, and the index has no row of it."))
        }
        var done = Event.Done(
            target: step.target, step: step.kind,
            outcome: step.kind == .edited ? .edited : .notModified, reason: .confirmed,
            verified: row.verified)
        done.sha256 = row.sha256
        done.source = answer.source
        let owners = owners(of: step)
        var (stamp, isExecutable) = (row.stamp, row.isExecutable)
        if case .ours(let seen, row.sha256) = step.existing {
            (stamp, isExecutable) = (seen, plan.isExecutable(step))
        }
        // Most answers repeat the last one, and most files are untouched: only times change then.
        if row.stamp == stamp, row.isExecutable == isExecutable, row.owners == owners,
            row.hasAll(of: answer)
        {
            let again = (at: now, freshUntil: answer.freshUntil)
            return .confirm(Confirmed(row, again: again, planned: step.seen), done)
        }
        var record = row
        record.confirm(by: answer, at: now)
        (record.owners, record.stamp, record.isExecutable) = (owners, stamp, isExecutable)
        return confirm(step, record, isAdoption: false, row: row, done)
    }

    /// Settles bytes that another step fetched for this step too.
    ///
    /// - Parameter content: where the bytes are.
    func share(
        _ promoted: IndexRecord, with step: Step, as content: Promotion.Content, row: IndexRecord?,
        now: Instant
    ) -> Settlement {
        var record = promoted
        record.target = step.target
        record.owners = owners(of: step)
        record.isExecutable = plan.isExecutable(step)
        var done = Event.Done(
            target: step.target, step: step.kind, outcome: .copied,
            reason: .requestShared(with: promoted.target), verified: promoted.verified)
        done.bytesReused = promoted.stamp.size
        done.sha256 = promoted.sha256
        let arrival = step.arrival(
            of: promoted.sha256, validators: promoted.validators, wasResumed: false)
        if arrival.stays {
            (done.outcome, done.reason) = (arrival.outcome, arrival.reason)
            return leave(step, record, row: row, done)
        }
        if arrival.outcome != .fetched { done.outcome = arrival.outcome }
        return promote(step, record, content, done, now: now)
    }

    /// Settles a failure to reach any source: good bytes that are there stay, and are `stale`.
    ///
    /// Returns nil if the step fails.
    func settle(_ failure: MirrorError, for step: Step, row: IndexRecord?) -> Event.Done? {
        guard failure.isRetryable, step.kind == .revalidate || step.kind == .edited else {
            return nil
        }
        return Event.Done(
            target: step.target, step: step.kind,
            outcome: step.kind == .edited ? .edited : .stale,
            reason: .unreachable(failure.code), verified: row?.verified ?? .none)
    }
}

// MARK: Rows

extension Settler {
    func owners(of step: Step) -> Owners {
        if case .ownedTogether = step.reason { return plan.owners(of: step) }
        return plan.owners.isEmpty ? owners[step.manifest] : plan.owners(of: step)
    }

    /// Returns the row of a file that has just been received.
    private func record(
        of body: ReceivedBody, at target: Target, for step: Step, now: Instant
    ) -> IndexRecord {
        var record = IndexRecord(
            target: target, owners: owners(of: step),
            stamp: FileStamp(size: body.size, modified: 0, changed: 0, inode: 0),
            sha256: body.sha256, verified: body.verified, promotedAt: now)
        record.otherDigest = body.otherDigest
        record.confirm(by: body.answer, at: now)
        record.isExecutable = plan.isExecutable(step)
        return record
    }

    func promote(
        _ step: Step, _ record: IndexRecord, _ content: Promotion.Content, _ done: Event.Done,
        now: Instant
    ) -> Settlement {
        .promote(
            Promotion(
                target: record.target, content: content, record: record,
                expected: Promotion.ExpectedFile(step.existing),
                modified: record.validators.lastModified?.seconds ?? now.seconds,
                isExecutable: record.isExecutable, onConflict: onConflict,
                serverName: serverNameKey(of: step, at: record.target)),
            done)
    }

    /// Leaves the file as it is, and records in its row what the answer said.
    private func leave(
        _ step: Step, _ received: IndexRecord, row: IndexRecord?, _ done: Event.Done
    ) -> Settlement {
        var record = received
        var isAdoption = false
        switch step.existing {
        case .ours(let stamp, received.sha256): record.stamp = stamp
        case .foreign(let stamp, .some(received.sha256)):
            record.stamp = stamp
            isAdoption = true
        case .ours, .foreign, .recorded, .nothing, .drifted, .obstacle:
            // The file was edited. Its row goes on describing the version that was edited.
            guard let row else { break }
            record.stamp = row.stamp
            record.promotedAt = row.promotedAt
        }
        return confirm(
            step, record, isAdoption: isAdoption, setsMode: done.outcome != .edited, row: row, done)
    }

    /// Changes the row, and also the file's mode if the manifest wants another one.
    func confirm(
        _ step: Step, _ record: IndexRecord, isAdoption: Bool, setsMode: Bool = true,
        row: IndexRecord?, _ done: Event.Done
    ) -> Settlement {
        let changesMode = setsMode && record.isExecutable != row?.isExecutable ?? false
        let mode: UInt32? = changesMode ? (record.isExecutable ? 0o755 : 0o644) : nil
        return .confirm(
            Confirmed(
                record, isAdoption: isAdoption,
                isRewritten: row.map { $0.stamp != record.stamp } ?? false, mode: mode,
                serverName: serverNameKey(of: step, at: record.target), planned: step.seen), done)
    }

    /// Returns the key for the name that the server chose.
    ///
    /// Returns nil if there is no name to remember.
    private func serverNameKey(of step: Step, at target: Target) -> ServerNameKey? {
        guard let key = plan.serverNameKey(of: step), !target.isProvisional(for: key.source)
        else { return nil }
        return key
    }
}

extension Promotion.ExpectedFile {
    /// The file that the promotion must find at a step's target.
    init(_ existing: Step.ExistingFile) {
        switch existing {
        case .nothing, .recorded, .obstacle: self = .nothing
        case .ours(let stamp, _), .drifted(let stamp): self = .ours(stamp)
        case .foreign(let stamp, _): self = .foreign(stamp)
        }
    }
}

extension IndexRecord {
    /// Whether the row has all that an answer says, except its times.
    fileprivate func hasAll(of answer: Answer) -> Bool {
        let sent = answer.validators
        return provenance == answer.provenance
            && (sent.entityTag == nil && sent.lastModified == nil || validators == sent)
            && (answer.mediaType == nil || mediaType == answer.mediaType)
    }

    /// Records what an answer said of the version.
    mutating func confirm(by answer: Answer, at now: Instant) {
        provenance = answer.provenance
        if answer.validators.entityTag != nil || answer.validators.lastModified != nil {
            validators = answer.validators
        }
        mediaType = answer.mediaType ?? mediaType
        freshUntil = answer.freshUntil
        confirmedAt = now
    }
}

extension Event.Done {
    /// The end of a step whose file is removed for room, or left out because there is none.
    init(evicted step: Step) {
        self.init(leftOut: step, because: step.reason)
        if step.means == .removal { bytesFreed = step.size ?? 0 }
    }

    /// The end of a step for whose file there is no room: on the disk, or within a limit.
    init(leftOut step: Step, because reason: Reason) {
        var outcome = Outcome.evicted
        if case .noRoom = reason { outcome = .noRoom }
        self.init(
            target: step.target, step: step.kind, outcome: outcome, reason: reason,
            verified: .none)
    }
}

extension Settler {
    /// Settles a step that needs no server.
    ///
    /// Returns nil if the file to copy or move is gone, or has another version than in the plan.
    /// The step is a transfer then.
    ///
    /// - Parameters:
    ///   - row: the index's row of the target, or of the file that is copied or moved.
    ///   - isOfSet: whether the step is promoted together with others. Then an orphan stays where
    ///     it is until its bytes have their new name.
    func settleLocally(
        _ step: Step, row: IndexRecord?, now: Instant, isOfSet: Bool = false
    ) -> Settlement? {
        switch step.means {
        case .copy(let source): bring(step, from: row, .copy(of: source), .copied, now)
        case .move(let source) where isOfSet:
            bring(step, from: row, .copy(of: source), .moved, now)
        case .move(let source): bring(step, from: row, .move(of: source), .moved, now)
        case .adoption(let sha256): adopt(step, sha256, row: row, now: now)
        case .nothing where step.kind == .edited:
            .finish(
                Event.Done(
                    target: step.target, step: step.kind, outcome: .edited, reason: step.reason,
                    verified: row?.verified ?? .none))
        case .nothing where step.kind == .evicted: .finish(Event.Done(evicted: step))
        case .nothing, .transfer, .removal: .fail(.obstructed(step))
        }
    }

    private func bring(
        _ step: Step, from localSource: IndexRecord?, _ content: Promotion.Content,
        _ outcome: Outcome,
        _ now: Instant
    ) -> Settlement? {
        if step.kind == .conflict, onConflict == .keep { return .fail(.conflictKept(step.target)) }
        guard let localSource, isWanted(localSource, for: step) else { return nil }
        var record = localSource
        record.target = step.target
        record.owners = owners(of: step)
        record.promotedAt = now
        record.isExecutable = plan.isExecutable(step)
        // A copy is hashed again, and a rename keeps the bytes whose digest the row has.
        if let pin = plan.resource(of: step)?.pin, localSource.isProven(by: pin) {
            record.verified = .digest
        }
        var done = Event.Done(
            target: step.target, step: step.kind, outcome: outcome, reason: step.reason,
            verified: record.verified)
        switch step.kind {
        case .update: done.outcome = .updated
        case .repair: done.outcome = .repaired
        case .conflict: done.outcome = .conflict
        default: break
        }
        done.bytesReused = localSource.stamp.size
        done.sha256 = localSource.sha256
        return promote(step, record, content, done, now: now)
    }

    /// Whether a file of the tree still has the bytes that the plan wants to copy or move.
    ///
    /// The file may have got its own next version before the step began.
    private func isWanted(_ localSource: IndexRecord, for step: Step) -> Bool {
        guard let resource = plan.resource(of: step) else { return false }
        guard resource.pin != nil else {
            // The plan chose these bytes by their source and its validators.
            return plan.orphanBytes[localSource.target] == localSource.sha256
        }
        return (resource.size ?? localSource.stamp.size) == localSource.stamp.size
            && resource.digests.contains(where: localSource.isProven)
    }

    /// Records a file that has the wanted bytes as the wanted version.
    private func adopt(
        _ step: Step, _ sha256: Digest, row: IndexRecord?, now: Instant
    ) -> Settlement {
        guard case .ours(let stamp, _) = step.existing else { return .fail(.obstructed(step)) }
        var record = IndexRecord(
            target: step.target, owners: owners(of: step), stamp: stamp, sha256: sha256,
            verified: .digest, promotedAt: now)
        let declared = plan.resource(of: step)?.digests.first
        if let row, row.sha256 == sha256 {
            record = row
            record.stamp = stamp
        } else {
            record.otherDigest = declared.flatMap { $0.algorithm == .sha256 ? nil : $0 }
        }
        if let declared, step.reason == .proven || record.isProven(by: declared) {
            if declared.algorithm.isStrong { record.verified = .digest }
            if declared.algorithm != .sha256 { record.otherDigest = declared }
        }
        record.owners = owners(of: step)
        record.isExecutable = plan.isExecutable(step)
        var done = Event.Done(
            target: step.target, step: step.kind, outcome: .adopted, reason: step.reason,
            verified: record.verified)
        done.sha256 = sha256
        return confirm(step, record, isAdoption: row?.sha256 != sha256, row: row, done)
    }
}
