import Glibc
import MirrorTestSupport
import Testing

/// Pipes that nobody writes to, where files are expected: no run waits for a writer.
@Suite(.timeLimit(.minutes(5))) struct PipesForFilesTests {
    private let ground: Playground

    init() throws {
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
    }

    private func makePipe(_ path: String) throws {
        unlink(path)
        guard mkfifo(path, 0o600) == 0 else { throw StoryFailure("no pipe can be made") }
    }

    @Test func aSharedTargetWaitsForNoPipe() async throws {
        defer { ground.remove() }
        try ground.folder.write("a.txt", Array("hello".utf8))
        let resources = """
            "resources": [ { "path": "Caches/a", "url": "file://\(ground.folder.full("a.txt"))" } ]
            """
        let first = try ground.write(manifest: #"{ "name": "first", \#(resources) }"#)
        let second = try ground.write(
            manifest: #"{ "name": "second", \#(resources) }"#, as: "second.json")
        let (before, after) = try await DetachedThread.run {
            let before = try ground.sync(first).wait()
            try makePipe(first)
            return (before, try ground.sync(second, ["--deadline", "20s"]).wait())
        }
        #expect(before.ending == .exited(0), "\(before)")
        // What the first wants is known by its copy.
        #expect(after.ending == .exited(65), "\(after)")
        #expect(after.errors.contains("is also the target of first"), "\(after)")
    }

    @Test func aSecretInAPipeIsNone() async throws {
        defer { ground.remove() }
        let path = try ground.write(
            manifest: """
                { "name": "m", "resources": [ { "path": "Caches/a", "url": "http://127.0.0.1:9/a",
                  "headers": { "Authorization": "Bearer ${TOKEN}" } } ] }
                """)
        try makePipe(ground.folder.full("TOKEN"))
        let result = try await DetachedThread.run {
            try ground.sync(
                path, ["--env", "TOKEN@http://127.0.0.1:9", "--deadline", "20s"],
                adding: ["CREDENTIALS_DIRECTORY": ground.folder.full("")]
            ).wait()
        }
        #expect(result.ending == .exited(65), "\(result)")
        #expect(result.errors.contains("TOKEN"), "\(result)")
    }
}
