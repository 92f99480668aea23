import Glibc
import MirrorTestSupport
import Testing

/// Exports as the programs that they are for read them.
@Suite(.timeLimit(.minutes(10))) struct ExportTests {
    private static let one = TestBytes.make(3000, seed: 1)
    private static let two = TestBytes.make(200_000, seed: 2)

    /// Two files, one of which has a name that lists must escape.
    private func plainStage() async throws -> SyncedStage {
        let stage = try SyncedStage()
        try await stage.sync([
            stage.entry("Documents/one.bin", Self.one, url: "one.bin"),
            stage.entry("Caches/d%/a\\\\b c.bin", Self.two, url: "two.bin"),
        ])
        return stage
    }

    @Test func checksumsAreCheckedBySha256sum() async throws {
        let stage = try await plainStage()
        defer { stage.end() }
        let written = try await stage.export("sums", to: "SHA256SUMS")
        #expect(written.output.hasSuffix("/SHA256SUMS: SHA256SUMS, 2 files.\n"), "\(written)")
        let sums = stage.ground.folder.full("SHA256SUMS")
        let text = String(decoding: stage.ground.folder.read("SHA256SUMS") ?? [], as: UTF8.self)
        #expect(
            text == """
                \\\(Checksum.sha256(Self.two))  Caches/d%/a\\\\b c.bin
                \(Checksum.sha256(Self.one))  Documents/one.bin

                """)
        let checked = try await stage.tool(
            "/usr/bin/sha256sum", ["--strict", "-c", sums], in: stage.ground.root.path)
        #expect(checked.ending == .exited(0), "\(checked)")
        try stage.ground.root.write("Documents/one.bin", [1, 2, 3])
        let edited = try await stage.tool(
            "/usr/bin/sha256sum", ["-c", sums], in: stage.ground.root.path)
        #expect(edited.ending == .exited(1))
        // What is written is what mirror reads.
        let imported = try await stage.run([
            "check", sums, "--base", "\(stage.server.url)/", "--json",
        ])
        #expect(imported.ending == .exited(0), "\(imported)")
    }

    @Test func anInputFileIsFetchedByAria2() async throws {
        let stage = try await plainStage()
        defer { stage.end() }
        let list = try await stage.export("aria2")
        #expect(
            list.output.contains(
                "\(stage.server.url)/one.bin\n  out=Documents/one.bin\n"
                    + "  checksum=sha-256=\(Checksum.sha256(Self.one))\n"), "\(list)")
        try stage.ground.folder.write("list", Array(list.output.utf8))
        let aria2 = "/usr/bin/aria2c"
        try #require(BuiltProgram.exists(aria2), "no aria2c: run scripts/setup test")
        let there = stage.ground.folder.full("there")
        let fetched = try await stage.tool(
            aria2, ["--no-conf", "-i", stage.ground.folder.full("list"), "-d", there])
        #expect(fetched.ending == .exited(0), "\(fetched)")
        #expect(Folder(there).read("Documents/one.bin") == Self.one)
        #expect(Folder(there).read("Caches/d%/a\\b c.bin") == Self.two)
    }

    @Test func metalinkSaysTheSameAsTheTree() async throws {
        let stage = try await plainStage()
        defer { stage.end() }
        let written = try await stage.export("metalink", to: "m.meta4")
        #expect(written.ending == .exited(0), "\(written)")
        let text = String(decoding: stage.ground.folder.read("m.meta4") ?? [], as: UTF8.self)
        #expect(text.contains("<hash type=\"sha-256\">\(Checksum.sha256(Self.two))</hash>"))
        #expect(text.contains("<size>200000</size>"))
        let plan = try await stage.run([
            "plan", stage.ground.folder.full("m.meta4"), "--exit-code", "--root",
            stage.ground.folder.full("new"), "--json",
        ])
        #expect(plan.output.contains("\"size\":200000"), "\(plan)")
    }

    @Test func aWheelhouseInstallsWithoutAnIndex() async throws {
        let stage = try SyncedStage()
        defer { stage.end() }
        let wheel = "demo_pkg-1.0-py3-none-any.whl"
        let made = try await stage.tool(
            "/usr/bin/python3", ["-c", Self.wheelScript, stage.ground.folder.full(wheel)])
        try #require(made.ending == .exited(0), "\(made)")
        let bytes = stage.ground.folder.read(wheel) ?? []
        try await stage.sync([
            stage.entry("Caches/python/\(wheel)", bytes, url: wheel),
            stage.entry("Caches/readme.txt", Self.one, url: "readme.txt"),
        ])
        let written = try await stage.export("wheelhouse", to: "wheels")
        #expect(
            written.output.contains(": a wheelhouse, 1 file, ")
                && written.output.hasSuffix("; 1 of other kinds passed over.\n"), "\(written)")
        #expect(Folder(stage.ground.folder.full("wheels")).entries().map(\.name) == [wheel])
        #expect(stage.ground.folder.read("wheels/\(wheel)") == bytes)
        let pip = try await stage.tool("/usr/bin/python3", ["-m", "pip", "--version"])
        try #require(pip.ending == .exited(0), "no pip: run scripts/setup test")
        let target = stage.ground.folder.full("site")
        let installed = try await stage.tool(
            "/usr/bin/python3",
            [
                "-m", "pip", "install", "--no-index", "--find-links",
                stage.ground.folder.full("wheels"), "--target", target, "demo-pkg",
            ])
        #expect(installed.ending == .exited(0), "\(installed)")
        #expect(Folder(target).read("demo_pkg/__init__.py") == Array("value = 7\n".utf8))
    }

    @Test func aBagIsWhatTheSpecificationSays() async throws {
        let stage = try await plainStage()
        defer { stage.end() }
        let written = try await stage.export("bagit", to: "bag", ["--json"])
        #expect(written.output.contains("\"files\":2,\"bytes\":203000"), "\(written)")
        let bag = Folder(stage.ground.folder.full("bag"))
        #expect(
            bag.read("bagit.txt")
                == Array("BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n".utf8))
        let payload = String(decoding: bag.read("manifest-sha256.txt") ?? [], as: UTF8.self)
        #expect(
            payload == """
                \(Checksum.sha256(Self.two))  data/Caches/d%25/a\\b c.bin
                \(Checksum.sha256(Self.one))  data/Documents/one.bin

                """)
        #expect(bag.read("data/Documents/one.bin") == Self.one)
        #expect(bag.read("data/Caches/d%/a\\b c.bin") == Self.two)
        let about = String(decoding: bag.read("bag-info.txt") ?? [], as: UTF8.self)
        #expect(about.contains("Payload-Oxum: 203000.2\n"))
        let tags = try await stage.tool(
            "/usr/bin/sha256sum", ["--strict", "-c", "tagmanifest-sha256.txt"], in: bag.path)
        #expect(tags.ending == .exited(0), "\(tags)")
        let imported = try await stage.run([
            "import", bag.path + "/manifest-sha256.txt", "--base", stage.server.url,
        ])
        #expect(imported.output.contains("d%/a"), "\(imported)")
    }

    @Test func anExecutableIsOneInABagToo() async throws {
        let stage = try SyncedStage()
        defer { stage.end() }
        try await stage.sync([
            stage.entry(
                "Caches/tool", Array("#!/bin/sh\necho it runs\n".utf8), url: "tool",
                more: ", \"executable\": true"),
            stage.entry("Caches/plain", Self.one, url: "plain"),
        ])
        #expect(try await stage.export("bagit", to: "bag").ending == .exited(0))
        let bag = stage.ground.folder.full("bag/data/Caches")
        #expect(try await stage.tool(bag + "/tool", []).output == "it runs\n")
        #expect(access(bag + "/plain", X_OK) != 0)
    }

    @Test func distdirNamesEndTheirURLs() async throws {
        let stage = try SyncedStage()
        defer { stage.end() }
        try await stage.sync([
            stage.entry("Caches/x/tool.tar.gz", Self.one, url: "v1.0/archive%2B1.tar.gz"),
            stage.entry("Caches/y/tool.tar.gz", Self.one, url: "v2.0/archive%2B1.tar.gz"),
        ])
        #expect(try await stage.export("bazel-distdir", to: "dist").ending == .exited(0))
        let folder = Folder(stage.ground.folder.full("dist"))
        #expect(folder.entries().map(\.name) == ["archive%2B1.tar.gz"])
        #expect(folder.read("archive%2B1.tar.gz") == Self.one)
    }

    @Test func filesOfOneNameAreNotMergedSilently() async throws {
        let stage = try SyncedStage()
        defer { stage.end() }
        try await stage.sync([
            stage.entry("Caches/x", Self.one, url: "v1/a.tgz"),
            stage.entry("Caches/y", Self.two, url: "v2/a.tgz"),
        ])
        let refused = try await stage.export("bazel-distdir", to: "dist")
        #expect(refused.ending == .exited(1))
        #expect(
            refused.errors.contains(
                "1 with the name of another file, such as Caches/y. Leave them out with --lossy."),
            "\(refused)")
        #expect(stage.ground.folder.entries(beneath: "dist").isEmpty)
    }

    /// A package of npm in the tree, and its integrity.
    private func packageStage() async throws -> (SyncedStage, String) {
        let stage = try SyncedStage()
        let package = Gzip.encode(
            TarFile.of("package/package.json", "{\"name\":\"aaa\",\"version\":\"1.0.0\"}"))
        let integrity = Checksum.integrity(package)
        try await stage.sync([
            stage.entry(
                "Caches/npm/it's aaa.tgz", package, url: "aaa.tgz",
                more: ", \"integrity\": \"\(integrity)\"")
        ])
        return (stage, integrity)
    }

    @Test func npmScriptNamesEachPackage() async throws {
        let (stage, _) = try await packageStage()
        defer { stage.end() }
        let script = try await stage.export("npm-cache")
        let path = stage.ground.root.full("Caches/npm/it'\\''s aaa.tgz")
        #expect(script.output.hasSuffix("\nnpm cache add '\(path)'\n"), "\(script)")
    }

    @Test(.enabled(if: BuiltProgram.exists("/usr/bin/npm"), "no npm (Debian: npm)"))
    func npmCiFindsOfflineWhatTheScriptAdds() async throws {
        let (stage, integrity) = try await packageStage()
        defer { stage.end() }
        let script = try await stage.export("npm-cache")
        try stage.ground.folder.write("add.sh", Array(script.output.utf8))
        try stage.ground.folder.write(
            "app/package.json",
            Array(#"{"name":"p","version":"1.0.0","dependencies":{"aaa":"1.0.0"}}"#.utf8))
        try stage.ground.folder.write(
            "app/package-lock.json",
            Array(
                """
                {"name":"p","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{
                "":{"name":"p","version":"1.0.0","dependencies":{"aaa":"1.0.0"}},
                "node_modules/aaa":{"version":"1.0.0","integrity":"\(integrity)",
                "resolved":"https://registry.example/aaa/-/aaa-1.0.0.tgz"}}}
                """.utf8))
        let added = try await stage.tool("/bin/sh", [stage.ground.folder.full("add.sh")])
        #expect(added.ending == .exited(0), "\(added)")
        let installed = try await stage.tool(
            "/usr/bin/npm", ["ci", "--offline", "--no-audit", "--no-fund"],
            in: stage.ground.folder.full("app"))
        #expect(installed.ending == .exited(0), "\(installed)")
        #expect(
            stage.ground.folder.read("app/node_modules/aaa/package.json")
                == Array("{\"name\":\"aaa\",\"version\":\"1.0.0\"}".utf8))
    }

    private static let wheelScript = """
        import sys, zipfile
        files = {
            'demo_pkg/__init__.py': 'value = 7\\n',
            'demo_pkg-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\\nName: demo-pkg\\nVersion: 1.0\\n',
            'demo_pkg-1.0.dist-info/WHEEL':
                'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
        }
        with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
            for name, text in files.items(): wheel.writestr(name, text)
            lines = ''.join(name + ',,\\n' for name in files)
            wheel.writestr('demo_pkg-1.0.dist-info/RECORD', lines)
        """
}
