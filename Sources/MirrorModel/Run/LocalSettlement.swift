extension Settler {
    /// Settles a step that needs no server.
    ///
    /// - Parameter row: what the index knows of the target, or of the file that is copied or moved.
    ///   If the latter is not there any more, or has got another version since the plan was made, the
    ///   step is a transfer after all, and this is nil.
    /// - Parameter isOfSet: whether the step is promoted together with others. Then an orphan stays
    ///   where it is until its bytes have their new name.
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
        _ step: Step, from localSource: IndexRecord?, _ content: Landing.Content,
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
        // The copy is read, and a rename keeps the bytes whose digest the row has.
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
        return land(step, record, content, done, now: now)
    }

    /// Whether a file of the tree still is what the plan took it for: it may have got its own next
    /// version before the step began.
    private func isWanted(_ localSource: IndexRecord, for step: Step) -> Bool {
        guard let resource = plan.resource(of: step) else { return false }
        guard resource.pin != nil else {
            // The plan chose these bytes by their source and its validators.
            return plan.orphanBytes[localSource.target] == localSource.sha256
        }
        return (resource.size ?? localSource.stamp.size) == localSource.stamp.size
            && resource.digests.contains(where: localSource.isProven)
    }

    /// Takes a file that has the wanted bytes for the version that is wanted.
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
