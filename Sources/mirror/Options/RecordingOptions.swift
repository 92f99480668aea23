import ArgumentParser
import MirrorKit
import MirrorModel

/// Where decisions are written down together with what they were made from.
struct RecordingOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Write what decisions were made from to this file, without secrets; mirror why --replay reads it.",
            valueName: "file"), completion: .file())
    var record: String?

    /// The recording; with a target, of decisions about that one only.
    func recording(of target: Target? = nil) -> PlanOptions.Recording? {
        record.map { PlanOptions.Recording(path: $0, target: target) }
    }
}
