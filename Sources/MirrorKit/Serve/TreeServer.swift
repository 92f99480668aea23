public import MirrorModel
internal import MirrorServer
internal import MirrorStore
internal import MirrorSystem

/// A server of a root's tree, over HTTP.
///
/// It serves the files that the index knows, read-only and without authentication: by their targets,
/// and by their digests as `/cas/<sha256>`. It takes no lock, and shows what runs beside it promote.
/// A file whose bytes are not those that mirror put there is not served. On a loopback address only
/// requests that name the machine by an address or as localhost are answered.
public enum TreeServer {
    /// Serves a session's root until the task is cancelled; then the connections end, too.
    ///
    /// - Parameters:
    ///   - address: where it listens; port 0 is any free one.
    ///   - onStart: is told the URL, once it listens.
    ///   - onNote: is told sentences for people, such as which file was changed.
    /// - Throws: `MirrorError` with `usage` for an address that is taken or not of this machine,
    ///   `rootUnusable`, `indexNewer` or `inputOutput`.
    public static func serve(
        _ session: MirrorSession, at address: ListenAddress = ListenAddress(),
        onStart: @escaping @Sendable (String) -> Void = { _ in },
        onNote: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws {
        try session.requireRoot()
        let server = try await Offload.run {
            try ListeningServer(session.location, at: address, note: onNote)
        }
        onStart(server.url)
        await waitForCancellation()
        try await Offload.run { try server.stop() }
    }

    /// Waits, suspended, until the task is cancelled.
    private static func waitForCancellation() async {
        let (stream, end) = AsyncStream.makeStream(of: Void.self)
        await withTaskCancellationHandler {
            for await _ in stream {}
        } onCancel: {
            end.finish()
        }
    }
}

/// A server that listens, until it is stopped, with its watch of the index.
private struct ListeningServer: Sendable {
    private let server: HTTPServer
    private let watch: IndexWatch

    init(
        _ location: RootLocation, at address: ListenAddress,
        note: @escaping @Sendable (String) -> Void
    ) throws {
        let root = try location.open()
        watch = try IndexWatch(root)
        let responder = TreeResponder(root, watch, isLocal: address.isLoopback, note: note)
        do throws(MirrorError) {
            server = try HTTPServer(at: address, responder: responder)
        } catch {
            try watch.close()
            throw error
        }
    }

    var url: String { "http://\(server.address)/" }

    func stop() throws {
        server.stop()
        try watch.close()
    }
}
