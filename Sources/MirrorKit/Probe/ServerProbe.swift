public import MirrorModel
internal import MirrorSystem

/// Asks servers about files, without fetching them.
public enum ServerProbe {
    /// The reports on URLs, in their order.
    ///
    /// For each URL a HEAD is sent, and a GET of the first byte if the answer says too little. The
    /// refusal of a server is in its report. Throws `MirrorError` with `cancelled`, and if no
    /// request can be made at all.
    public static func reports(
        on urls: [SourceURL], configuration: Configuration = Configuration()
    ) async throws -> [ProbeReport] {
        try configuration.validate()
        let cancellation = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await Offload.run {
                try HeadProbe(configuration, isCancelled: { cancellation.isSet }).reports(on: urls)
            }
        } onCancel: {
            cancellation.set()
        }
    }
}
