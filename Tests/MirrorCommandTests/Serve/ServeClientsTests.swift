import MirrorTestSupport
import Testing

/// Programs that people use, against a served tree.
@Suite(.timeLimit(.minutes(10))) struct ServeClientsTests {
    private static let bytes = TestBytes.make(3_000_000, seed: 5)

    private func served() async throws -> ServedRoot {
        let stage = try SyncedStage()
        try await stage.sync([
            stage.entry("Documents/a.bin", Self.bytes, url: "a"),
            stage.entry("Documents/deep/b.txt", [1, 2, 3], url: "b"),
        ])
        return try ServedRoot(stage)
    }

    private func require(_ program: String) throws {
        try #require(BuiltProgram.exists(program), "no \(program): run scripts/setup test")
    }

    @Test func curlResumes() async throws {
        let root = try await served()
        defer { root.end() }
        let folder = root.stage.ground.folder
        try folder.write("out", Array(Self.bytes.prefix(1_000_000)))
        let result = try await root.stage.tool(
            "/usr/bin/curl",
            ["-sf", "-C", "-", "-o", folder.full("out"), root.url + "/Documents/a.bin"])
        #expect(result.ending == .exited(0), "\(result)")
        #expect(folder.read("out") == Self.bytes)
    }

    @Test func wget2FollowsListings() async throws {
        let root = try await served()
        defer { root.end() }
        try require("/usr/bin/wget2")
        let folder = root.stage.ground.folder
        let result = try await root.stage.tool(
            "/usr/bin/wget2",
            [
                "-q", "-r", "-np", "-nH", "--robots=off", "-P", folder.full("wget"),
                root.url + "/Documents/",
            ])
        #expect(folder.read("wget/Documents/a.bin") == Self.bytes, "\(result)")
        #expect(folder.read("wget/Documents/deep/b.txt") == [1, 2, 3])
    }

    @Test func aria2FetchesInSegments() async throws {
        let root = try await served()
        defer { root.end() }
        try require("/usr/bin/aria2c")
        let folder = root.stage.ground.folder
        let result = try await root.stage.tool(
            "/usr/bin/aria2c",
            [
                "--no-conf", "-x", "4", "-s", "4", "-k", "1M", "-d", folder.path, "-o", "out",
                "--checksum=sha-256=\(Checksum.sha256(Self.bytes))", root.url + "/Documents/a.bin",
            ])
        #expect(result.ending == .exited(0), "\(result)")
        #expect(folder.read("out") == Self.bytes)
    }

    @Test func pythonKeepsAConnectionOpen() async throws {
        let root = try await served()
        defer { root.end() }
        let script = """
            import http.client, sys
            c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))
            def ask(method, path, **fields):
                c.request(method, path, headers={k.replace('_', '-'): v for k, v in fields.items()})
                r = c.getresponse()
                body = r.read()
                return r.status, len(body), r.getheader('ETag')
            for _ in range(3):
                status, length, tag = ask('GET', '/Documents/deep/b.txt')
                assert (status, length) == (200, 3), (status, length)
                socket = c.sock
                assert ask('GET', '/Documents/deep/b.txt', If_None_Match=tag) == (304, 0, tag)
                assert ask('HEAD', '/Documents/a.bin')[:2] == (200, 0)
                assert ask('GET', '/Documents/a.bin', Range='bytes=5-9')[:2] == (206, 5)
                assert ask('GET', '/Documents/a.bin', Range='bytes=9999999-')[0] == 416
                assert ask('GET', '/nothing')[0] == 404
                assert c.sock is socket, 'the connection was closed'
            """
        let result = try await root.stage.tool(
            "/usr/bin/python3", ["-c", script, "\(root.port)"])
        #expect(result.ending == .exited(0), "\(result)")
    }

    @Test func aSecondMirrorSyncsFromIt() async throws {
        let root = try await served()
        defer { root.end() }
        let hex = Checksum.sha256(Self.bytes)
        let closed = try ClosedPort()
        let manifest = try root.stage.ground.write(
            manifest: """
                { "name": "second", "base": "\(root.url)/Documents/", "resources": [
                  { "path": "Documents/b.txt", "url": "deep/b.txt" },
                  { "path": "Documents/a.bin", "url": "http://127.0.0.1:\(closed.port)/a.bin",
                    "sha256": "\(hex)", "mirrors": ["\(root.url)/cas/\(hex)"] } ] }
                """, as: "second.json")
        let place = ["--root", root.stage.ground.folder.full("second")]
        let first = try await root.stage.run(["sync", manifest, "--json"] + place)
        #expect(first.ending == .exited(0), "\(first)")
        #expect(root.stage.ground.folder.read("second/Documents/a.bin") == Self.bytes)
        // What is unpinned is asked about again, and its tag is strong enough to be believed.
        let again = try await root.stage.run(["sync", manifest, "--json"] + place)
        #expect(again.summary("kept") == "1", "\(again)")
        #expect(again.summary("revalidated") == "1", "\(again)")
        #expect(again.summary("bytesReceived") == "0", "\(again)")
    }

    @Test func aWholeTreeIsCopiedWithItsChecksums() async throws {
        let root = try await served()
        defer { root.end() }
        let folder = root.stage.ground.folder
        #expect(try await root.stage.export("sums", to: "SHA256SUMS").ending == .exited(0))
        let copied = try await root.stage.run([
            "sync", folder.full("SHA256SUMS"), "--base", root.url, "--root", folder.full("copy"),
        ])
        #expect(copied.ending == .exited(0), "\(copied)")
        #expect(folder.read("copy/Caches/Documents/a.bin") == Self.bytes)
    }
}
