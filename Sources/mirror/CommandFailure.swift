import ArgumentParser
import MirrorKit
import MirrorModel

/// An error that ends a command, as text for people and as a code for scripts.
struct CommandFailure {
    /// The error, as the library words it.
    let error: MirrorError
    /// The lines to print.
    let text: String

    /// Takes a thrown error; a cancellation becomes the error of its cause.
    init(_ failure: any Error) {
        let wrapped = MirrorError(wrapping: failure)
        if wrapped.code == .cancelled {
            if Interruption.exitCode != nil {
                text = "Interrupted \(CommandStage.now.words). Run again to go on."
                error = MirrorError(.cancelled, text)
            } else {
                error = Interruption.deadlineError ?? wrapped
                text = "mirror: error: " + error.sentence.printable
            }
            return
        }
        switch failure {
        case let refusal as ManifestRefusal:
            text = refusal.text(.ofErrors)
            error = wrapped
        case let failure as MirrorError:
            error = failure
            text = "mirror: error: " + failure.sentence.printable
        default:
            error = wrapped
            text = "mirror: error: " + error.sentence.printable
        }
    }

    /// The exit code: that of the signal that ended the command, else that of the error.
    var exitCode: Int32 {
        if error.code == .cancelled, let code = Interruption.exitCode { return code }
        return ExitVerdict.code(for: error.code)
    }
}
