/// What happens with a verified body, given what its step found at the target.
package enum ArrivalVerdict: Sendable, Hashable {
    /// The file stays as it is, inode and times included; only the index learns something.
    case leave(Outcome, Reason)
    /// The body gets the final name.
    case land(Outcome, Reason)

    /// Judges a body by its sha256. An earlier fetch of a part of it changes only the outcome's name.
    package static func judge(
        _ step: Step, sha256: Digest, validators: Validators, wasResumed: Bool
    ) -> ArrivalVerdict {
        switch step.existing {
        case .ours(_, sha256), .foreign(_, .some(sha256)):
            return .leave(.unchanged, .sameBytes)
        case .foreign:
            if step.kind == .edited, step.local?.sha256 == sha256 {
                return .leave(.edited, .sameBytes)
            }
            return .land(.conflict, step.kind == .edited ? .editedAndChanged : step.reason)
        case .nothing, .ours, .recorded, .drifted, .obstacle:
            return .land(outcome(of: step.kind, wasResumed: wasResumed), reason(step, validators))
        }
    }

    private static func outcome(of kind: Step.Kind, wasResumed: Bool) -> Outcome {
        switch kind {
        case .update, .revalidate: .updated
        case .repair: .repaired
        case .conflict, .edited: .conflict
        case .copy: .copied
        case .move: .moved
        case .resume, .evicted, .fetch, .keep, .remove: wasResumed ? .resumed : .fetched
        }
    }

    /// For an unpinned file, the answer says more than the plan could.
    private static func reason(_ step: Step, _ validators: Validators) -> Reason {
        guard step.kind == .revalidate else { return step.reason }
        if let old = step.local?.validators.entityTag, let new = validators.entityTag, old != new {
            return .entityTagChanged(from: old, to: new)
        }
        return .bytesChanged
    }
}

extension Step {
    /// The version that a conditional request is about.
    public var local: LocalVersion? { decision.local }

    /// The part that a transfer continues.
    public var part: PartRecord? {
        guard decision.hasPart, case .transfer(let part, _) = means else { return nil }
        return part
    }
}
