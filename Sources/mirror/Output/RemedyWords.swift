import MirrorKit

// The library gives a remedy as a value. Here it becomes a sentence about the command's options.

extension Remedy {
    /// The sentence that names options. Empty for a kind without words.
    var sentence: String {
        switch kind {
        case .chooseRoot: "Pass --root DIR."
        case .makeRoot: "Pass --root, or make one with mirror sync MANIFEST."
        case .waitForLock: "Wait for it with --wait 30s, or stop it."
        case .allowRemovals: "If that is meant, pass --max-delete \(subject)."
        case .freeSpace:
            subject.isEmpty ? "Make room on the disk." : "Make room, or lower --min-free."
        case .renameConflicts: "Move the file away, or run with --on-conflict rename."
        case .refetch: "Move it away, or fetch it anew with --refetch \(subject)."
        case .takeOver: "Or pass --take-over to move it to \(subject)."
        case .goOnline: "Run once without --offline."
        case .keepTheirs: "Or use --keep theirs."
        case .grant: "Pass \(grants)."
        case .syncFirst: "Run mirror sync first."
        case .nameManifest:
            "Name its new place once, as in `mirror sync PATH`, or forget it with `mirror forget \(subject)`."
        case .nameBase: "Say where with --base URL."
        case .nameIndex: "Name the index with --index URL."
        case .nameFormat:
            subject.isEmpty ? "Insist with --from FORMAT." : "Insist with --from \(subject)."
        case .giveCertificate: "Give one with --cert \(subject)=FILE."
        case .get: "To fetch the file itself: mirror get URL."
        case .leaveOut: "Leave them out with --lossy."
        default: ""
        }
    }

    private var grants: String {
        subject.split(separator: " ").map { "--env \($0)" }.joined(separator: " ")
    }
}

extension MirrorError {
    /// The message with its remedy: what is wrong, where, why, and what to do.
    var sentence: String {
        guard let words = remedy?.sentence, !words.isEmpty else { return message }
        return "\(message) \(words)"
    }

    /// The error with its remedy in the message, for a reader of the command's output.
    var worded: MirrorError {
        var error = self
        error.message = sentence
        error.remedy = nil
        return error
    }
}

extension Event {
    /// The event with the remedies in its messages, for a reader of the command's output.
    var worded: Event {
        var event = self
        switch body {
        case .retry(var again):
            again.cause = again.cause.worded
            event.body = .retry(again)
        case .restart(var again):
            again.cause = again.cause.worded
            event.body = .restart(again)
        case .failed(var failed):
            failed.error = failed.error.worded
            event.body = .failed(failed)
        case .summary(var summary):
            summary.error = summary.error?.worded
            event.body = .summary(summary)
        case .set(var end):
            if case .failed(let error)? = end.obstacle { end.obstacle = .failed(error.worded) }
            event.body = .set(end)
        case .plan, .start, .progress, .paused, .resumed, .done, .removed, .warning: break
        }
        return event
    }
}

extension Notice {
    /// The message with its remedy.
    var sentence: String {
        guard let words = remedy?.sentence, !words.isEmpty else { return message }
        return "\(message) \(words)"
    }
}

extension Diagnostic {
    /// The message with its remedy.
    var sentence: String {
        guard let words = remedy?.sentence, !words.isEmpty else { return message }
        return message.hasSuffix(".") ? "\(message) \(words)" : "\(message). \(words)"
    }

    /// The line that compilers print, with the remedy.
    var printed: String { remedy == nil ? description : "\(prefix)\(sentence)" }
}

extension ManifestError {
    /// Returns each error with its lines and its remedy, and the number of further errors.
    func text(_ form: DiagnosticText) -> String {
        let lines = diagnostics.flatMap(form.lines)
        return (lines + (omitted > 0 ? ["and \(omitted) more"] : [])).joined(separator: "\n")
    }
}
