public import MirrorModel

extension MirrorError {
    /// Any error as callers of the library see it; one that is not ours is a bug.
    public init(wrapping error: any Error) {
        switch error {
        case let error as MirrorError: self = error
        case let refusal as ManifestRefusal:
            self.init(
                .manifestInvalid,
                refusal.diagnostics.first?.description ?? "The manifest is invalid.")
        case is CancellationError: self.init(.cancelled, "Interrupted.")
        default:
            self.init(
                .internalError,
                "A bug in mirror: an unexpected error: \(error). Report it with the command that was run."
            )
        }
    }

    /// A file that someone else put there is kept, because that was asked for.
    static func conflictKept(_ target: Target) -> MirrorError {
        MirrorError(
            .conflict,
            "\(target): it has bytes that mirror did not put there, and --on-conflict keep leaves them. Move the file away, or run with --on-conflict rename.",
            target: target)
    }

    /// The time for the run is over.
    static func deadlineIsOver(_ seconds: Int64?) -> MirrorError {
        let words = seconds.map { " of \(DurationText(seconds: $0))" } ?? ""
        return MirrorError(
            .deadline, "The deadline\(words) is over. Parts are kept; run again to go on.")
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
                "\(step.target): \(step.reason.because). Move it away, or fetch it anew with --refetch \(step.target).",
                target: step.target)
        }
        return MirrorError(
            .obstructed,
            "\(step.target): \(step.reason.because). mirror replaces regular files only; move it away and run again.",
            target: step.target)
    }
}

extension Execution {
    /// Why a transfer was cancelled, for the resource that it was for.
    func cancellation(of target: Target) -> MirrorError {
        if case .error(let cause) = ending, cause.code == .deadline {
            return MirrorError(.deadline, "\(target): \(cause.message)", target: target)
        }
        return MirrorError(
            .cancelled, "\(target): not finished; its part is kept, run again to go on.",
            target: target)
    }
}
