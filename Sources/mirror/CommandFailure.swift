import ArgumentParser
import MirrorKit
import MirrorModel

/// An error that ends a command, as text for people and as a code for scripts.
struct CommandFailure {
    /// The error, as the library words it.
    let error: MirrorError
    /// The lines to print.
    let text: String

    init(_ failure: any Error) {
        switch failure {
        case let refusal as ManifestRefusal:
            text = refusal.description
            error = MirrorError(wrapping: refusal)
        case let failure as MirrorError:
            error = failure
            text = "mirror: error: " + failure.message.printable
        default:
            error = MirrorError(wrapping: failure)
            text = "mirror: error: " + error.message.printable
        }
    }

    /// The exit code.
    var exitCode: Int32 {
        if error.code == .cancelled, let code = Interruption.exitCode { return code }
        return ExitVerdict.code(for: error.code)
    }
}
