import MirrorTestSupport
import Testing

/// The tree of a signed InRelease is an archive, and apt verifies the signature in it.
@Suite(
    .enabled(
        if: DebianArchive.programs.allSatisfy(BuiltProgram.exists),
        "no apt-get, dpkg-deb or gpg (Debian: apt, dpkg, gpg)"),
    .timeLimit(.minutes(5)))
struct DebianArchiveTests {
    /// Runs apt-get with a state of its own, on the tree of a stage.
    private func apt(_ stage: SyncedStage, _ words: String...) async throws -> Command.Result {
        let folder = stage.ground.folder
        for name in [
            "etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/trusted.gpg.d",
            "var/lib/apt/lists/partial", "var/cache/apt/archives/partial",
        ] { try folder.makeFolders(above: "apt/\(name)/.") }
        try folder.write("apt/status", [])
        let sources = ["stable", "updates"].map { suite in
            "deb [arch=amd64 signed-by=\(folder.full("key.gpg"))] file:\(stage.ground.root.path)/Caches"
                + " \(suite) main\n"
        }
        try folder.write("apt/etc/apt/sources.list", Array(sources.joined().utf8))
        return try await stage.tool(
            DebianArchive.programs[2],
            [
                "-o", "Dir=\(folder.full("apt"))", "-o",
                "Dir::State::status=\(folder.full("apt/status"))",
                "-o", "APT::Sandbox::User=", "-o", "APT::Architecture=amd64",
                "-o", "APT::Architectures::=amd64", "-o", "Acquire::Languages=none",
                "-o", "APT::Update::Error-Mode=any",
            ] + words, in: folder.path)
    }

    @Test func aptUsesTheTreeOfTwoSuites() async throws {
        let stage = try SyncedStage()
        defer { stage.end() }
        try await DebianArchive.open(at: stage)
        for list in [
            "stable/InRelease", "updates/InRelease", "stable/main/binary-amd64/Packages.gz",
        ] {
            let synced = try await stage.run(["sync", "\(stage.server.url)/dists/\(list)"])
            #expect(synced.ending == .exited(0), "\(synced)")
        }
        let known = try await stage.run(["sync", "--json"])
        #expect(known.output.contains("\"kept\":5"), "\(known)")
        #expect(known.output.contains("\"orphans\":0"), "\(known)")
        stage.server.stop()
        let updated = try await apt(stage, "update")
        #expect(updated.ending == .exited(0), "\(updated)")
        let fetched = try await apt(stage, "download", "demo")
        #expect(fetched.ending == .exited(0), "\(fetched)")
        #expect(
            stage.ground.folder.read("demo_1.0_all.deb") == stage.ground.folder.read("demo.deb"))
    }

    /// mirror verifies no signature, which the documentation says; apt does.
    @Test func aptRefusesASignatureOfNoKnownKey() async throws {
        let stage = try SyncedStage()
        defer { stage.end() }
        try await DebianArchive.open(at: stage)
        let name = "dists/stable/InRelease"
        var list = try #require(stage.ground.folder.read("stable.signed"))
        let label = Array("Suite: stable".utf8)
        let at = try #require(list.indices.first { list[$0...].starts(with: label) })
        list.insert(contentsOf: Array("Label: other\n".utf8), at: at)
        stage.serve(list, at: name)
        let synced = try await stage.run(["sync", "\(stage.server.url)/\(name)"])
        #expect(synced.ending == .exited(0), "\(synced)")
        #expect(synced.errors.contains("the signature is not verified"), "\(synced)")
        let updated = try await apt(stage, "update")
        #expect(updated.ending != .exited(0), "\(updated)")
        #expect(
            updated.errors.contains("BADSIG") || updated.errors.contains("invalid"), "\(updated)")
    }
}
