import Glibc
import MirrorTestSupport
import Testing

/// The pipelines that docs/install.md offers, run as they are written: the cache is filled in one folder
/// and unpacked in another, where no server answers any more.
@Suite(.timeLimit(.minutes(15))) struct CIExamplesTests {
    private static let artifact = "zstd.tar.gz"

    /// What a pipeline's file has a shell do, in order.
    private static func scripts(of file: String) throws -> [String] {
        let lines = try DocsPage(file).text().split(
            separator: "\n", omittingEmptySubsequences: false)
        var scripts: [String] = []
        var block: (indent: Int, lines: [Substring])?
        for line in lines + ["end"] {
            let indent = line.prefix { $0 == " " }.count
            let words = line.dropFirst(indent)
            if let open = block {
                if words.isEmpty || indent > open.indent {
                    block?.lines.append(line)
                    continue
                }
                scripts.append(open.lines.joined(separator: "\n"))
                block = nil
            }
            if words == "run: |" || words == "- |" {
                block = (indent, [])
            } else if let command = ["run: ", "- mirror ", "- make "].first(where: words.hasPrefix)
            {
                scripts.append(String(words.dropFirst(command.hasPrefix("- ") ? 2 : 5)))
            }
        }
        return scripts
    }

    /// A folder as a job finds it after the checkout.
    private static func checkOut(into folder: Folder, manifest: String) throws {
        try folder.write("artifacts.json", Array(manifest.utf8))
        let rule = "all:\n\ttest -f $(ARTIFACTS)/\(artifact)\n"
        try folder.write("Makefile", Array(rule.utf8))
    }

    private static func run(
        _ script: String, in folder: Folder, programs: Folder,
        with variables: [String: String] = [:]
    ) throws -> Command.Result {
        let path = ["PATH": "\(programs.path):/usr/local/bin:/usr/bin:/bin"]
        return try Command(
            "/bin/sh", ["-e", "-c", script],
            environment: path.merging(variables) { path, _ in path }, folder: folder.path
        ).wait(seconds: 120)
    }

    private static func manifest(_ bytes: [UInt8], at url: String) throws -> String {
        let folder = try Folder.temporary()
        defer { folder.remove() }
        try folder.write("a", bytes)
        let sum = try Command.run("/usr/bin/sha256sum", [folder.full("a")]).output.prefix(64)
        return """
            { "name": "artifacts", "defaults": { "directory": "Caches" }, "resources": [
              { "path": "Caches/\(artifact)", "url": "\(url)/\(artifact)",
                "size": \(bytes.count), "sha256": "\(sum)" } ] }
            """
    }

    /// Fills a root in one folder, copies what a cache keeps into another, and takes the server away.
    private static func withUnpackedCache(
        filledBy scripts: [String], with variables: [String: String] = [:],
        _ body: (_ job: Folder, _ programs: Folder) throws -> Void
    ) throws {
        let ground = try Folder.temporary()
        defer { ground.remove() }
        let programs = Folder(ground.full("programs"))
        for name in ["programs", "builds/1/project", "builds/2/other/project"] {
            try ground.makeFolders(above: name + "/.")
        }
        try #require(symlink(BuiltProgram.path(of: "mirror"), programs.full("mirror")) == 0)
        let shelf = MemoryShelf()
        let bytes = [UInt8]((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        shelf.put("/" + artifact, bytes)
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        let manifest = try manifest(bytes, at: server.url)
        let first = Folder(ground.full("builds/1/project"))
        try checkOut(into: first, manifest: manifest)
        for script in scripts {
            let result = try run(script, in: first, programs: programs, with: variables)
            #expect(result.ending == .exited(0), "\(script)\n\(result)")
        }
        server.stop()
        let second = Folder(ground.full("builds/2/other/project"))
        try checkOut(into: second, manifest: manifest)
        // As an archive does: new inodes, new times.
        let copied = try Command.run(
            "/bin/cp", ["-r", first.full(".artifacts"), second.full(".artifacts")])
        try #require(copied.ending == .exited(0))
        Folder(ground.full("builds/1")).remove()
        try body(second, programs)
    }

    @Test(arguments: ["docs/examples/ci/gitlab-ci.yml", "docs/examples/ci/github-actions.yml"])
    func everyLineWorksWithFilledOrUnpackedCaches(_ file: String) async throws {
        try await DetachedThread.run {
            let scripts = try Self.scripts(of: file)
            #expect(scripts.contains { $0.contains("mirror sync --root .artifacts") }, "\(scripts)")
            #expect(scripts.contains { $0.hasPrefix("make ") }, "\(scripts)")
            try Self.withUnpackedCache(filledBy: scripts) { job, programs in
                for script in scripts {
                    let result = try Self.run(script, in: job, programs: programs)
                    #expect(result.ending == .exited(0), "\(script)\n\(result)")
                    #expect(!result.errors.contains("last good copy"), "\(result)")
                }
            }
        }
    }

    /// Their first block installs the package, which scripts/check-package tries.
    @Test(arguments: [
        "docs/examples/ci/action/action.yml", "docs/examples/ci/component/templates/mirror.yml",
    ])
    func actionAndComponentFetchIntoACachedRoot(_ file: String) async throws {
        try await DetachedThread.run {
            let scripts = try Self.scripts(of: file)
            let install = try #require(scripts.first)
            #expect(install.contains("sha256sum -c -") && install.contains("apt-get install"))
            let fetch = scripts.filter { $0.contains("mirror sync") }
            #expect(fetch.count == 1)
            let variables = ["MANIFEST": "artifacts.json", "ROOT": ".artifacts"]
            try Self.withUnpackedCache(filledBy: fetch, with: variables) { job, programs in
                for script in fetch {
                    let result = try Self.run(
                        script, in: job, programs: programs, with: variables)
                    #expect(result.ending == .exited(0), "\(script)\n\(result)")
                    #expect(result.output.contains("0 requests"), "\(result)")
                }
            }
        }
    }

    /// The lines of the page itself, and what the root must still know by itself.
    @Test func everyLineWorksInAnUnpackedCache() async throws {
        try await DetachedThread.run {
            let text = try DocsPage("docs/install.md").text()
            let lines = text.split(separator: "\n").map(String.init).filter {
                $0.hasPrefix("mirror ")
                    && (!$0.contains("jq ") || BuiltProgram.exists("/usr/bin/jq"))
            }
            #expect(lines.count >= 2)
            let fill = "mirror sync --root .artifacts artifacts.json"
            try Self.withUnpackedCache(filledBy: [fill]) { job, programs in
                let verbs = ["sync --json", "status", "plan", "verify", "prune", "check"]
                for line in lines + verbs.map({ "mirror \($0) --root .artifacts" }) {
                    let result = try Self.run(line, in: job, programs: programs)
                    #expect(result.ending == .exited(0), "\(line)\n\(result)")
                    #expect(!result.errors.contains("last good copy"), "\(line)\n\(result)")
                    #expect(!result.output.contains("\"requests\":1"), "\(line)\n\(result)")
                }
                let list = try Self.run(
                    "mirror manifests --root .artifacts", in: job, programs: programs)
                #expect(list.output.contains("artifacts  \(job.full("artifacts.json"))\n"))
            }
        }
    }

    /// A cache that is unpacked where the manifest is not, as in a job that only uses the artifacts.
    @Test func withoutTheManifestTheLastGoodCopyServes() async throws {
        try await DetachedThread.run {
            let fill = "mirror sync --root .artifacts artifacts.json"
            try Self.withUnpackedCache(filledBy: [fill]) { job, programs in
                try #require(unlink(job.full("artifacts.json")) == 0)
                for verb in ["sync --json", "status", "plan", "verify", "prune"] {
                    let line = "mirror \(verb) --root .artifacts"
                    let result = try Self.run(line, in: job, programs: programs)
                    #expect(result.ending == .exited(0), "\(line)\n\(result)")
                    #expect(
                        result.errors.contains("The last good copy of artifacts, "), "\(result)")
                }
            }
        }
    }
}
