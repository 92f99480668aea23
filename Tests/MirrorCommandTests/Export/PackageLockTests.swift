import MirrorTestSupport
import Testing

/// npm's own lock file becomes a tree, and npm installs from that tree without a network.
@Suite(
    .enabled(if: BuiltProgram.exists("/usr/bin/npm"), "no npm (Debian: npm)"),
    .timeLimit(.minutes(5)))
struct PackageLockTests {
    private static let registry = NPMRegistry(packages: [
        .init(name: "leaf", version: "1.0.0"),
        .init(name: "leaf", version: "2.0.0"),
        .init(name: "@team/tool", version: "1.2.3", dependencies: ["leaf": "^1.0.0"]),
        .init(
            name: "main-lib", version: "3.1.0-beta.1",
            dependencies: ["leaf": "^2.0.0", "@team/tool": "^1.0.0"]),
        .init(name: "old-one", version: "0.0.9", isOld: true),
    ])

    private static let application = """
        { "name": "app", "version": "1.0.0",
          "dependencies": { "main-lib": "3.1.0-beta.1", "alias": "npm:@team/tool@^1.0.0" },
          "devDependencies": { "old-one": "0.0.9" } }
        """

    /// Writes an application with a lock file that npm made of what the registry says.
    private func lock(_ version: Int, at stage: SyncedStage) async throws -> String {
        Self.registry.open(at: stage)
        try stage.ground.folder.write("app/package.json", Array(Self.application.utf8))
        let made = try await npm(
            stage, "install", "--package-lock-only", "--lockfile-version", "\(version)",
            "--registry", stage.server.url, "--cache", stage.ground.folder.full("cache of the lock")
        )
        try #require(made.ending == .exited(0), "\(made)")
        return stage.ground.folder.full("app/package-lock.json")
    }

    private func npm(_ stage: SyncedStage, _ words: String...) async throws -> Command.Result {
        try await stage.tool(
            "/usr/bin/npm", words + ["--no-audit", "--no-fund", "--no-update-notifier"],
            in: stage.ground.folder.full("app"))
    }

    @Test(arguments: [2, 3])
    func aLockedTreeInstallsWithoutANetwork(_ version: Int) async throws {
        let stage = try SyncedStage()
        defer { stage.end() }
        let lock = try await lock(version, at: stage)
        let synced = try await stage.run(["sync", lock])
        #expect(synced.ending == .exited(0), "\(synced)")
        #expect(synced.errors.contains("1 file with no digest better than sha1"), "\(synced)")
        for package in Self.registry.packages {
            let target = "Caches/npm/\(package.name)-\(package.version).tgz"
            #expect(stage.ground.root.read(target) == package.archive, "\(target)")
        }
        let whole = try await stage.export("npm-cache")
        #expect(whole.errors.contains("1 known by sha1 only"), "\(whole)")
        let script = try await stage.export("npm-cache", ["--lossy"])
        try stage.ground.folder.write("add.sh", Array(script.output.utf8))
        // From here on there is no server.
        stage.server.stop()
        let added = try await stage.tool("/bin/sh", [stage.ground.folder.full("add.sh")])
        #expect(added.ending == .exited(0), "\(added)")
        let installed = try await npm(stage, "ci", "--offline", "--omit=dev")
        #expect(installed.ending == .exited(0), "\(installed)")
        for (folder, package) in [
            ("main-lib/node_modules/leaf", 1), ("leaf", 0), ("@team/tool", 2), ("alias", 2),
            ("main-lib", 3),
        ] {
            let path = "app/node_modules/\(folder)/package.json"
            let wanted = Array(Self.registry.packages[package].description.utf8)
            #expect(stage.ground.folder.read(path) == wanted, "\(folder)")
        }
    }
}
