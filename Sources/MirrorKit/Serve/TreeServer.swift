internal import MirrorModel
internal import MirrorServer
internal import MirrorStore
internal import MirrorSystem

/// A server of a root's tree that listens, with its watch of the index.
///
/// Its functions block the calling thread.
struct TreeServer: Sendable {
    private let server: HTTPServer
    private let watch: IndexWatch

    /// Begins to listen.
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

    /// The URL of the tree.
    var url: String { "http://\(server.address)/" }

    /// Ends the server, and with it the connections.
    func stop() throws {
        server.stop()
        try watch.close()
    }

    /// Waits, suspended, until the task is cancelled.
    static func waitForCancellation() async {
        let (stream, end) = AsyncStream.makeStream(of: Void.self)
        await withTaskCancellationHandler {
            for await _ in stream {}
        } onCancel: {
            end.finish()
        }
    }
}
