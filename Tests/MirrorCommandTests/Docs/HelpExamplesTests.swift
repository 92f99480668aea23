import Glibc
import MirrorTestSupport
import Testing

/// The examples of each verb's help, run as a shell runs them, in a folder that has what they name.
@Suite(.timeLimit(.minutes(10))) struct HelpExamplesTests {
    /// A line of the examples, without the remark beside it.
    struct Example: Sendable, CustomTestStringConvertible {
        let verb: String
        let command: String
        var testDescription: String { command }
    }

    /// Examples that change this user's own system, or need a terminal.
    private static let untried = ["--install", "mirror schedule remove", "jobs --live"]
    /// What is done before examples that need it.
    private static let preparations = [
        ("mirror export --as wheelhouse", "mirror sync uv.lock"),
        ("mirror settings unset", "mirror settings set limit-rate 2MiB"),
        // The entry goes into a manifest that is made for it.
        ("mirror add https:", "rm manifest.json"),
        (
            "mirror check --require-pinned",
            "mirror pin manifest.json && mirror convert manifest.json maps.xml"
        ),
    ]
    /// Verbs that go on until they are told to end.
    private static let lasting: Set<String> = ["watch", "serve"]
    /// Verbs that need a run of another process, which these examples have not.
    private static let needRun: Set<String> = ["pause", "resume", "cancel"]

    static let examples: [Example] = {
        guard let verbs = try? HelpText.verbs() else { return [] }
        return verbs.flatMap { verb in
            guard let help = try? HelpText.of([verb]) else { return [Example]() }
            let section = help.split(separator: "EXAMPLES:").last?.split(separator: "\n\n").first
            let lines = (section ?? "").split(separator: "\n").map(String.init)
            return joined(lines).filter { $0.contains("mirror \(verb)") }
                .map { Example(verb: verb, command: $0) }
        }
    }()

    /// Lines that the help wrapped are one command; what stands behind two spaces is a remark.
    private static func joined(_ lines: [String]) -> [String] {
        var commands: [String] = []
        for line in lines {
            let isNew = ["mirror ", "open_map "].contains { line.hasPrefix("  " + $0) }
            let text = String(line.drop { $0 == " " })
            if isNew || commands.isEmpty {
                commands.append(text)
            } else {
                commands[commands.count - 1] += " " + text
            }
        }
        return commands.map { command in
            command.firstRange(of: "   ").map { String(command[..<$0.lowerBound]) } ?? command
        }.map { command in
            command.firstRange(of: "  ").map { String(command[..<$0.lowerBound]) } ?? command
        }
    }

    @Test func everyVerbHasExamplesThatAreRun() throws {
        let verbs = Set(Self.examples.map(\.verb))
        #expect(try Set(HelpText.verbs()).subtracting(verbs).sorted() == [])
        #expect(Self.examples.count > 50)
    }

    @Test(
        arguments: examples.filter { example in
            !untried.contains { example.command.contains($0) }
        })
    func exampleDoesWhatItSays(example: Example) async throws {
        try await DetachedThread.run {
            let ground = try ExampleGround()
            defer { ground.remove() }
            for (start, command) in Self.preparations where example.command.hasPrefix(start) {
                _ = try ground.run(command)
            }
            let result = try ground.run(
                example.command, endsByItself: !Self.lasting.contains(example.verb))
            // 69: nothing runs that could be steered. 1: `pin --check` finds what is not pinned.
            var expected: [Command.Ending] = [.exited(0)]
            if Self.needRun.contains(example.verb) { expected = [.exited(69), .exited(0)] }
            if example.command.contains("pin --check") { expected = [.exited(1)] }
            if Self.lasting.contains(example.verb) { expected = [.exited(143)] }
            #expect(expected.contains(result.ending), "\(result.output)\n\(result.errors)")
        }
    }
}

/// A folder with a synced root, and the files and servers that the examples name.
private struct ExampleGround {
    private let playground: Playground
    private let server: OriginServer
    private let tools: String

    init() throws {
        let shelf = MemoryShelf()
        playground = try Playground(program: BuiltProgram.path(of: "mirror"))
        server = try OriginServer(responder: ShelfOrigin(shelf))
        let folder = playground.folder
        tools = folder.full("bin")
        let paths = [
            "Documents/world.pmtiles", "Documents/old.pmtiles", "Documents/rules.txt",
            "Caches/maps/bern.pmtiles", "Caches/rules.txt", "Caches/a", "Caches/b", "Caches/a.bin",
            "Caches/b.bin", "Caches/tiles.bin", "Caches/video.mp4",
        ]
        for path in paths { shelf.put("/" + path, Array("the bytes of \(path)".utf8)) }
        for name in ["world.pmtiles", "feed", "URL1", "URL2"] {
            shelf.put("/" + name, Array("the bytes of \(name)".utf8))
        }
        let entries = paths.map { path in
            let sha256 = Checksum.sha256(Array("the bytes of \(path)".utf8))
            let tag = path == "Caches/a" ? "toolchain" : path == "Caches/b" ? "live" : "map"
            return
                "{ \"path\": \"\(path)\", \"url\": \"\(server.url)/\(path)\", \"tags\": [\"\(tag)\"]"
                + (path == "Caches/b" ? " }" : ", \"sha256\": \"\(sha256)\" }")
        }
        let json =
            "{ \"name\": \"field-maps\", \"resources\": [\n\(entries.joined(separator: ",\n"))\n] }"
        shelf.put("/maps.json", Array(json.utf8))
        for name in ["manifest.json", "maps.json"] { try folder.write(name, Array(json.utf8)) }
        try folder.write(
            "SHA256SUMS", Array("\(String(repeating: "0a", count: 32))  release.tar\n".utf8))
        try folder.write("urls.txt", Array("\(server.url)/world.pmtiles\n".utf8))
        try folder.write(
            "package-lock.json",
            Array(
                "{ \"lockfileVersion\": 3, \"packages\": { \"node_modules/a\": { \"version\": \"1.0.0\", \"resolved\": \"https://r.example/a/-/a-1.0.0.tgz\", \"integrity\": \"sha512-\(String(repeating: "A", count: 86))==\" } } }"
                    .utf8))
        let wheel = Array("the bytes of a wheel".utf8)
        shelf.put("/a-1.0-py3-none-any.whl", wheel)
        try folder.write(
            "uv.lock",
            Array(
                """
                version = 1

                [[package]]
                name = "a"
                version = "1.0"
                source = { registry = "https://pypi.example/simple" }
                wheels = [
                    { url = "\(server.url)/a-1.0-py3-none-any.whl", hash = "sha256:\(Checksum.sha256(wheel))", size = \(wheel.count) },
                ]

                """.utf8))
        // Tools that are not mirror take what they get, and do nothing.
        for name in ["jq", "git", "open_map", "xdg-open"] {
            try folder.write("bin/\(name)", Array("#!/bin/sh\ncat > /dev/null < /dev/stdin\n".utf8))
            chmod(folder.full("bin/\(name)"), 0o755)
        }
        symlink(BuiltProgram.path(of: "mirror"), folder.full("bin/mirror"))
        _ = try run("mirror sync manifest.json && mirror convert manifest.json manifest.xml")
        _ = try run(
            "cp manifest.xml maps.xml && mirror convert --lossy manifest.json release.meta4")
        if let release = folder.read("release.meta4") { shelf.put("/release.meta4", release) }
        // An edit, which becomes a conflict that `resolve` ends.
        try playground.root.write("Documents/rules.txt", Array("mine".utf8))
        _ = try run("mirror sync --refetch Documents/rules.txt manifest.json")
    }

    /// Runs a command line; one that does not end is told to after it has done something.
    func run(_ command: String, endsByItself: Bool = true) throws -> Command.Result {
        var line = command
        for (name, place) in [
            ("https://origin.example/release/", server.url + "/"),
            ("https://origin.example", server.url), ("https://api.example", server.url),
            ("/srv/maps", playground.root.path),
            ("URL URL", "\(server.url)/URL1 \(server.url)/URL2"),
        ] {
            line = line.split(separator: name, omittingEmptySubsequences: false).joined(
                separator: place)
        }
        // The port may be taken here.
        if line == "mirror serve" { line += " --listen 127.0.0.1:0" }
        line = line.split(separator: ":8080", omittingEmptySubsequences: false).joined(
            separator: ":0")
        let process = try Command(
            "/bin/sh", ["-c", endsByItself ? line : "exec \(line) > said"],
            environment: [
                "PATH": "\(tools):/usr/bin:/bin", "MIRROR_ROOT": playground.root.path,
                "HOME": playground.folder.path, "XDG_RUNTIME_DIR": playground.folder.path,
                "TMPDIR": playground.folder.path,
                "LANG": "C.UTF-8",
            ], folder: playground.folder.path)
        if !endsByItself {
            while playground.folder.read("said")?.isEmpty != false,
                !playground.isLockNaming(process), !process.hasEnded
            { usleep(10_000) }
            process.signal(SIGTERM)
        }
        return process.wait()
    }

    func remove() {
        server.stop()
        playground.remove()
    }
}
