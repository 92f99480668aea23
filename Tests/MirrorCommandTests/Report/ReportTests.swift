import Glibc
import MirrorTestSupport
import Testing

/// `mirror report` by the built program, after real runs against a real server.
@Suite(.timeLimit(.minutes(10))) struct ReportTests {
    private func stage() async throws -> SyncedStage {
        let stage = try SyncedStage()
        try await stage.sync([
            stage.entry("Documents/a&b.txt", Array("hello".utf8), url: "a.txt"),
            stage.entry("Caches/b.txt", TestBytes.make(100_000, seed: 1), url: "b.txt"),
        ])
        return stage
    }

    private func text(_ stage: SyncedStage, _ name: String) -> String {
        stage.ground.folder.read(name).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    @Test func pageTellsFilesHostsAndTheRun() async throws {
        let stage = try await stage()
        defer { stage.end() }
        let path = stage.ground.folder.full("page.html")
        let result = try await stage.run(["report", "-o", path])
        #expect(result.ending == .exited(0))
        #expect(result.output == "\(path): a page about 2 files and 1 run.\n")
        let page = text(stage, "page.html")
        #expect(page.hasPrefix("<!DOCTYPE html>\n"))
        #expect(page.hasSuffix("</html>\n"))
        #expect(page.contains("Documents/a&amp;b.txt"))
        #expect(page.contains("<th scope=\"row\">\(stage.server.url)</th>"))
        #expect(page.contains("2 transfers from 1 host"))
        #expect(page.contains("<rect class=\""))
        #expect(page.contains("Every file is as mirror put it there."))
    }

    @Test func factsForScriptsAreOneDocument() async throws {
        let stage = try await stage()
        defer { stage.end() }
        let result = try await stage.run(["report", "--json"])
        let json = try #require(JSONValue(result.output))
        #expect(json["totals"]?["files"]?.word == "2")
        let host = json["hosts"]?.elements.first
        #expect(host?["host"]?.word == stage.server.url)
        #expect(host?["http"]?.word == "[1.1]")
        #expect(json["lastRun"]?["timeline"]?["transfers"]?.word == "2")
        #expect(json["runs"]?.elements.count == 1)
        #expect(stage.ground.folder.read("report.html") == nil)
    }

    @Test func standardOutputTakesThePage() async throws {
        let stage = try await stage()
        defer { stage.end() }
        let result = try await stage.run(["report", "-o", "-"])
        #expect(result.ending == .exited(0))
        #expect(result.output.hasPrefix("<!DOCTYPE html>\n"))
        #expect(result.output.hasSuffix("</html>\n"))
    }

    @Test func aFailureHasItsCauseAndRemedy() async throws {
        let stage = try SyncedStage()
        defer { stage.end() }
        let manifest = try stage.ground.write(
            manifest: """
                { "name": "m", "resources": [{ "path": "Caches/x", "url": "\(stage.server.url)/absent?token=s3cr3t" }] }
                """)
        #expect(try await stage.run(["sync", manifest]).ending == .exited(1))
        let page = try await stage.run(["report", "-o", "-"]).output
        #expect(page.contains("1 file: HTTP 404 from 127.0.0.1:"))
        #expect(page.contains("mirror why Caches/x says what was tried."))
        #expect(page.contains("class=\"lost\""))
        #expect(!page.contains("s3cr3t"))
    }

    @Test func pageIsNotPutAmongTheFiles() async throws {
        let stage = try await stage()
        defer { stage.end() }
        let root = stage.ground.root
        symlink(root.full("Caches"), stage.ground.folder.full("way"))
        for place in ["Documents/report.html", "Caches/new.html", ".mirror/report.html", "tmp/x"] {
            mkdir(root.full("tmp"), 0o755)
            let result = try await stage.run(["report", "-o", root.full(place)])
            #expect(result.ending == .exited(64), "\(place): \(result)")
            #expect(result.errors.contains("among the files that mirror keeps"))
            #expect(root.read(place) == nil)
        }
        let byLink = try await stage.run(["report", "-o", stage.ground.folder.full("way/r.html")])
        #expect(byLink.ending == .exited(64))
        let beside = try await stage.run(["report", "-o", root.full("report.html")])
        #expect(beside.ending == .exited(0))
    }

    @Test func contradictoryOptionsAreRefused() async throws {
        let stage = try await stage()
        defer { stage.end() }
        for words in [["--json", "-o", "x"], ["--json", "--open"], ["-o", "-", "--open"]] {
            #expect(try await stage.run(["report"] + words).ending == .exited(64), "\(words)")
        }
    }

    @Test func emptyRootHasAPageThatSaysSo() async throws {
        let stage = try SyncedStage()
        defer { stage.end() }
        try await stage.sync([])
        let result = try await stage.run(["report", "-o", "-"])
        #expect(result.ending == .exited(0))
        #expect(result.output.contains("Nothing is here yet: no file, and no run."))
        let nowhere = try await stage.run(
            ["report", "--root", stage.ground.folder.full("nothing"), "-o", "-"])
        #expect(nowhere.ending == .exited(73))
    }

    @Test func aLockedRootDoesNotHinderAReport() async throws {
        let stage = try await stage()
        defer { stage.end() }
        let lock = open(stage.ground.root.full(".mirror/lock"), O_RDWR | O_CLOEXEC)
        try #require(lock >= 0)
        defer { close(lock) }
        try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
        #expect(try await stage.run(["report", "-o", "-"]).ending == .exited(0))
    }

    @Test func openHandsThePageToTheDesktop() async throws {
        let stage = try await stage()
        defer { stage.end() }
        let folder = stage.ground.folder
        try folder.write(
            "bin/xdg-open", Array("#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$0.said\"\n".utf8))
        chmod(folder.full("bin/xdg-open"), 0o755)
        let page = folder.full("my page; $(touch x).html")
        let opened = try await run(
            stage, ["report", "-o", page, "--open"], path: folder.full("bin"))
        #expect(opened.ending == .exited(0))
        #expect(opened.errors == "")
        #expect(text(stage, "bin/xdg-open.said") == page + "\n")
        let absent = try await run(
            stage, ["report", "-o", page, "--open"], path: folder.full("nowhere"))
        #expect(absent.ending == .exited(0))
        #expect(absent.errors.contains("xdg-open is not here"))
    }

    private func run(_ stage: SyncedStage, _ words: [String], path: String) async throws
        -> Command.Result
    {
        let command = try Command(
            BuiltProgram.path(of: "mirror"), words + ["--root", stage.ground.root.path],
            environment: ["PATH": path, "HOME": stage.ground.folder.path], folder: nil)
        return try await DetachedThread.run { command.wait() }
    }
}
