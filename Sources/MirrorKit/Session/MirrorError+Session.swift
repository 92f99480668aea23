internal import MirrorManifests
public import MirrorModel

extension MirrorError {
    /// Any error as callers of the library see it; an error of an unknown type is a bug.
    public init(wrapping error: any Error) {
        switch error {
        case let error as MirrorError: self = error
        case let refusal as ManifestRefusal:
            self.init(
                .manifestInvalid,
                refusal.diagnostics.first?.description ?? "The manifest is invalid.",
                remedy: refusal.diagnostics.first?.remedy)
        case is CancellationError: self.init(.cancelled, "Interrupted.")
        default:
            self.init(
                .internalError,
                "A bug in mirror: an unexpected error: \(error). Report it with the command that was run."
            )
        }
    }

    /// The error if no manifest is given and the root remembers none.
    static func noManifest(_ root: String) -> MirrorError {
        MirrorError(
            .usage,
            "\(root): no manifest was given, and this root remembers none. Name one: a path, a URL, or - for standard input."
        )
    }
}
