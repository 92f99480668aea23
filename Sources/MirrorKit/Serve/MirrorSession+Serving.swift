public import MirrorModel
internal import MirrorStore
internal import MirrorSystem

extension MirrorSession {
    /// Serves the tree over HTTP until the task is cancelled.
    ///
    /// It serves the files that the index knows, read-only and without authentication: by their
    /// targets, and by their digests as `/cas/<sha256>`. It takes no lock, and shows what runs beside
    /// it promote. A file whose bytes are not those that mirror put there is not served. On a
    /// loopback address only requests that name the machine by an address or as localhost are
    /// answered.
    ///
    /// - Parameters:
    ///   - address: where it listens; port 0 is any free one.
    ///   - onStart: is told the URL, once it listens.
    ///   - onNote: is told sentences for people, such as which file was changed.
    /// - Throws: `MirrorError` with `usage` for an address that is taken or not of this machine,
    ///   `rootUnusable`, `indexNewer` or `inputOutput`.
    public func serve(
        at address: ListenAddress = ListenAddress(),
        onStart: @escaping @Sendable (String) -> Void = { _ in },
        onNote: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws {
        try requireRoot()
        let location = location
        let server = try await Offload.run {
            try TreeServer(location, at: address, note: onNote)
        }
        onStart(server.url)
        await TreeServer.waitForCancellation()
        try await Offload.run { try server.stop() }
    }
}
