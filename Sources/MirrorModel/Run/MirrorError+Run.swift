/// The errors of steps that a run cannot carry out, and of its own end.
extension MirrorError {
    /// A file that someone else put there is kept, because that was asked for.
    static func conflictKept(_ target: Target) -> MirrorError {
        MirrorError(
            .conflict,
            "\(target): it has bytes that mirror did not put there, and such files are to be kept.",
            target: target, remedy: Remedy(.renameConflicts))
    }

    /// A file that was to stay is not the one that the plan was made for.
    package static func changedSincePlan(_ target: Target, isGone: Bool) -> MirrorError {
        let what = isGone ? "removed" : "changed"
        return MirrorError(
            .sourceChanged,
            "\(target): the file was \(what) after the plan was made. Run again, with a new plan.",
            target: target)
    }

    /// The time for the run is over; the summary says how far it came.
    static func deadlineIsOver(_ seconds: Int64?, _ summary: Summary) -> MirrorError {
        let words = seconds.map { " of \(DurationText(seconds: $0))" } ?? ""
        return MirrorError(
            .deadline,
            "The deadline\(words) is over: \(summary.interimCounts). Run again to go on.")
    }

    /// There is no room for a file without which its set is not whole.
    static func noRoomForSet(_ step: Step) -> MirrorError {
        MirrorError(
            .quotaLimit,
            "\(step.target): \(step.reason.because). Its manifest is all or nothing, so nothing of it was changed.",
            target: step.target)
    }

    /// One resource's transfer was cancelled, and the run continues.
    static func cancelled(_ target: Target) -> MirrorError {
        MirrorError(
            .cancelled, "\(target): cancelled before it was finished. Run again to go on.",
            target: target)
    }

    /// Something that is not a file is in the way, or a file that would not stay while it was read.
    static func obstructed(_ step: Step) -> MirrorError {
        if step.reason == .unread {
            return MirrorError(
                .sourceChanged,
                "\(step.target): \(step.reason.because). It was left as it is; run again when nothing writes to it.",
                target: step.target)
        }
        if step.reason == .unreadable {
            return MirrorError(
                .obstructed,
                "\(step.target): \(step.reason.because).",
                target: step.target, remedy: Remedy(.refetch, step.target.path))
        }
        return MirrorError(
            .obstructed,
            "\(step.target): \(step.reason.because). mirror replaces regular files only; move it away and run again.",
            target: step.target)
    }
}

extension Plan {
    /// The event for a step that failed.
    func failure(of step: Step, _ error: MirrorError) -> Event.Failed {
        let resource = resource(of: step)
        var error = error
        error.target = step.target
        return Event.Failed(
            target: step.target, step: step.kind, error: error,
            isOptional: resource?.isOptional ?? false,
            manifest: manifests[step.manifest].owner, line: resource?.line ?? 0)
    }
}
