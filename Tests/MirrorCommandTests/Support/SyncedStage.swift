import MirrorTestSupport
import Testing

/// A root that the built program has synced, and the origin that served its files.
struct SyncedStage {
    let ground: Playground
    let server: OriginServer
    private let shelf = MemoryShelf()

    init() throws {
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        server = try OriginServer(responder: ShelfOrigin(shelf))
    }

    func end() {
        server.stop()
        ground.remove()
    }

    /// Makes the origin serve bytes at a path relative to its URL.
    func serve(_ bytes: [UInt8], at path: String) { shelf.put("/" + path, bytes) }

    /// A file that the origin serves, as an entry of a manifest.
    func entry(_ path: String, _ bytes: [UInt8], url: String, more: String = "") -> String {
        serve(bytes, at: url)
        return "{ \"path\": \"\(path)\", \"url\": \"\(server.url)/\(url)\"\(more) }"
    }

    /// Writes a manifest of entries, and syncs it.
    func sync(_ entries: [String]) async throws {
        let manifest = try ground.write(
            manifest: """
                { "name": "m", "resources": [\(entries.joined(separator: ",\n"))] }
                """)
        let result = try await run(["sync", manifest])
        try #require(result.ending == .exited(0), "\(result)")
    }

    /// Runs mirror.
    func run(_ words: [String]) async throws -> Command.Result {
        let command = try ground.start(words)
        return try await DetachedThread.run { command.wait() }
    }

    /// Runs another program.
    func tool(_ program: String, _ words: [String], in folder: String? = nil) async throws
        -> Command.Result
    {
        let command = try Command(
            program, words,
            environment: ["PATH": "/usr/bin:/bin", "HOME": ground.folder.path, "LANG": "C.UTF-8"],
            folder: folder)
        return try await DetachedThread.run { command.wait(seconds: 120) }
    }
}
