import MirrorTestSupport
import Testing

/// A resource with thousands of sources, none of which can be asked.
@Suite(.timeLimit(.minutes(5))) struct ManySourcesTests {
    @Test(arguments: ["http", "file"]) func aRunGoesThroughAllOfThem(scheme: String) async throws {
        let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        defer { ground.remove() }
        let sources = (0..<4000).map {
            scheme == "file"
                ? "\"file://\(ground.folder.full("none-\($0)"))\"" : "\"http://127.0.0.1:9/\($0)\""
        }
        let manifest = try ground.write(
            manifest: """
                { "name": "many", "resources": [
                  { "path": "Caches/a", "url": \(sources[0]),
                    "mirrors": [\(sources.dropFirst().joined(separator: ","))] } ] }
                """)
        let result = try await DetachedThread.run {
            try ground.start(
                ["sync", manifest, "--json", "--retries", "0"],
                under: ["/bin/sh", "-c", "ulimit -s 1024; exec \"$@\"", "sh"]
            ).wait(seconds: 200)
        }
        #expect(result.ending == .exited(scheme == "file" ? 1 : 69), "\(result.errors)")
        #expect(result.output.contains("\"event\":\"summary\""))
    }
}
