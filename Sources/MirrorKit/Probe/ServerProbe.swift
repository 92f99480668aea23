/// Asks servers about files without downloading them.
package enum ServerProbe {
    /// The reports on URLs, in the order of the URLs.
    ///
    /// The probe sends a HEAD for each URL. If the response says too little, a GET of the first
    /// byte follows. If a server refuses, its report says so. Throws `MirrorError` with
    /// `cancelled`, or if no request can be made at all.
    package static func reports(
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
