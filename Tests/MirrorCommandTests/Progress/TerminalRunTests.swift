import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Testing

@testable import mirror

/// Runs on a terminal, recorded and replayed: each frame, after each piece that was written.
@Suite(.timeLimit(.minutes(5))) struct TerminalRunTests {
    /// A server with some large files, many small ones, and one that is not there.
    private struct Ground {
        let playground: Playground
        let server: OriginServer
        let origin: ShelfOrigin
        let manifest: String

        init(
            small: Int = 40, bytesPerSecond: Int? = 300_000, holdingAfter: Int? = nil
        ) throws {
            let shelf = MemoryShelf()
            shelf.put("/world.bin", TestBytes.make(600_000, seed: 1))
            shelf.put("/wide.bin", TestBytes.make(400_000, seed: 2))
            for number in 0..<small { shelf.put("/s/\(number)", Array("small \(number)".utf8)) }
            origin = ShelfOrigin(
                shelf, bytesPerSecond: holdingAfter == nil ? bytesPerSecond : nil,
                holdingAfter: holdingAfter)
            server = try OriginServer(responder: origin)
            playground = try Playground(program: BuiltProgram.path(of: "mirror"))
            let url = server.url
            var entries = [
                "{ \"path\": \"Documents/a/rather/long/way/to/world.bin\", \"url\": \"\(url)/world.bin\", \"size\": 600000 }",
                "{ \"path\": \"Caches/地図/wide.bin\", \"url\": \"\(url)/wide.bin\" }",
                "{ \"path\": \"Caches/none\", \"url\": \"\(url)/none\" }",
            ]
            entries += (0..<small).map {
                "{ \"path\": \"Caches/s/\($0)\", \"url\": \"\(url)/s/\($0)\" }"
            }
            manifest = try playground.write(
                manifest:
                    "{ \"name\": \"m\", \"resources\": [\(entries.joined(separator: ",\n"))] }")
        }

        func record(
            _ arguments: [String], columns: Int = 80, rows: Int = 24, term: String = "xterm"
        ) throws -> TerminalRecording {
            try TerminalRecording(
                BuiltProgram.path(of: "mirror"), arguments,
                environment: [
                    "MIRROR_ROOT": playground.root.path, "HOME": playground.folder.path,
                    "LANG": "C.UTF-8", "TERM": term, "PATH": "/usr/bin:/bin",
                ], columns: columns, rows: rows)
        }

        func remove() {
            server.stop()
            playground.remove()
        }
    }

    /// The row of a total: it ends with the time left and the time that passed.
    private static func isTotal(_ row: String) -> Bool {
        row.contains(" left") && !row.hasPrefix("Documents/") && !row.hasPrefix("Caches/")
            && !row.hasPrefix("…")
    }

    @Test(arguments: [40, 60, 80, 160])
    func everyFrameHasTotalAndTimeLeft(columns: Int) async throws {
        try await DetachedThread.run {
            let ground = try Ground()
            defer { ground.remove() }
            let run = try ground.record(["sync", ground.manifest], columns: columns)
            #expect(run.wait() == 1)
            var hasBegun = false
            var pieces = 0
            let terminal = run.replay(width: DisplayWidth.of) { terminal, event in
                guard case .output = event else { return }
                for row in terminal.screen { #expect(DisplayWidth.of(row) <= columns) }
                hasBegun = hasBegun || !terminal.frames.isEmpty
                if hasBegun { pieces += 1 }
            }
            #expect(terminal.complaints.isEmpty)
            #expect(pieces > 5)
            for frame in terminal.frames {
                #expect(frame.filter(Self.isTotal).count == 1, "\(frame)")
                #expect(frame.last.map(Self.isTotal) == true, "\(frame)")
            }
            // At the end nothing of them is left.
            let end = terminal.history.joined(separator: "\n")
            #expect(!terminal.history.contains(where: Self.isTotal), "\(end)")
            #expect(end.contains("43 resources: 42 fetched, 1 failed."), "\(end)")
            #expect(end.contains("Caches/none"), "\(end)")
        }
    }

    @Test func nothingIsErasedBetweenFrames() async throws {
        try await DetachedThread.run {
            let ground = try Ground()
            defer { ground.remove() }
            let run = try ground.record(["sync", ground.manifest, "-v"])
            #expect(run.wait() == 1)
            let bytes = run.events.flatMap { event -> [UInt8] in
                if case .output(let bytes) = event { bytes } else { [] }
            }
            let frames = String(decoding: bytes, as: UTF8.self).split(separator: "\u{1B}[?2026h")
                .dropFirst()
            #expect(frames.count > 10)
            for frame in frames.dropLast() {
                // Only behind the last line anything is cleared beyond the end of its row.
                let parts = frame.split(separator: "\u{1B}[J", omittingEmptySubsequences: false)
                #expect(parts.count == 2)
                #expect(parts[0].hasSuffix("\r\n\u{1B}[?7h"))
                #expect(parts[1].hasSuffix("A\u{1B}[?2026l"))
                #expect(parts[0].hasPrefix("\r") && !parts[0].contains("\u{1B}[2K"))
            }
            let report = run.replay(width: DisplayWidth.of).history
            #expect(report.count { $0.hasPrefix("fetched       Caches/s/") } == 40)
        }
    }

    @Test func resizeLeavesNothingBehind() async throws {
        try await DetachedThread.run {
            let ground = try Ground(small: 0, bytesPerSecond: 120_000)
            defer { ground.remove() }
            let run = try ground.record(["sync", ground.manifest], columns: 100)
            for (number, columns) in [60, 44, 120, 50, 80].enumerated() {
                #expect(run.wait(for: "\u{1B}[?2026l", times: 3 * (number + 1)))
                run.resize(columns: columns, rows: 24)
            }
            #expect(run.wait() == 1)
            var frames = 0
            let terminal = run.replay(width: DisplayWidth.of) { terminal, event in
                guard case .output = event, terminal.frames.count > frames else { return }
                frames = terminal.frames.count
                // The last piece may have the end of the run too.
                let totals = terminal.history.filter(Self.isTotal)
                #expect(totals.count < 2, "\(terminal.history)")
            }
            #expect(frames > 15)
            #expect(terminal.frames.allSatisfy { $0.filter(Self.isTotal).count == 1 })
            #expect(!terminal.history.contains(where: Self.isTotal), "\(terminal.history)")
        }
    }

    @Test func transferSaysWhatItIsDoing() async throws {
        try await DetachedThread.run {
            let ground = try Ground(small: 0)
            defer { ground.remove() }
            let run = try ground.record(["sync", ground.manifest])
            #expect(run.wait() == 1)
            let frames = run.replay(width: DisplayWidth.of).frames.flatMap { $0 }
            #expect(
                frames.contains {
                    $0.hasPrefix("…/long/way/to/world.bin")
                        || $0.contains("world.bin") && $0.contains("%")
                })
            #expect(frames.contains { $0.contains("KiB/s") })
        }
    }

    @Test(arguments: ["dumb", ""])
    func terminalsWithoutCursorMovesGetPlainLines(term: String) async throws {
        try await DetachedThread.run {
            let ground = try Ground(small: 3)
            defer { ground.remove() }
            let run = try ground.record(["sync", ground.manifest], term: term)
            #expect(run.wait() == 1)
            for case .output(let bytes) in run.events { #expect(!bytes.contains(0x1B)) }
        }
    }

    @Test func interruptLeavesOneLineAndNoFrame() async throws {
        try await DetachedThread.run {
            let ground = try Ground(small: 0, bytesPerSecond: 60_000)
            defer { ground.remove() }
            let run = try ground.record(["sync", ground.manifest])
            #expect(run.wait(for: "\u{1B}[?2026l", times: 3))
            run.type("\u{3}")
            #expect(run.wait() == 130)
            let rows = run.replay(width: DisplayWidth.of).history
            #expect(!rows.contains(where: Self.isTotal), "\(rows)")
            #expect(
                rows.last?.contains("Interrupted") == true
                    || rows.contains { $0.contains("nterrupted") }, "\(rows)")
        }
    }

    @Test func aSlowManifestHasTheTotalToo() async throws {
        try await DetachedThread.run {
            let ground = try Ground(small: 0)
            defer { ground.remove() }
            let pipe = ground.playground.folder.full("pipe")
            #expect(mkfifo(pipe, 0o600) == 0)
            let run = try ground.record(["check", pipe])
            let writer = open(pipe, O_WRONLY | O_CLOEXEC)
            let half = Array("{ \"name\": \"m\",".utf8)
            _ = write(writer, half, half.count)
            #expect(run.wait(for: "reading manifests"))
            let rest = Array(" \"resources\": [] }".utf8)
            _ = write(writer, rest, rest.count)
            close(writer)
            #expect(run.wait() == 0)
            let terminal = run.replay(width: DisplayWidth.of)
            #expect(!terminal.frames.isEmpty)
            for frame in terminal.frames { #expect(frame.last.map(Self.isTotal) == true) }
            #expect(!terminal.history.contains(where: Self.isTotal))
        }
    }

    @Test func waitForAnotherRunHasTheTotalToo() async throws {
        try await DetachedThread.run {
            let ground = try Ground(small: 0, holdingAfter: 1000)
            defer { ground.remove() }
            let first = try ground.playground.sync(ground.manifest)
            while !ground.playground.isLockNaming(first), !first.hasEnded { usleep(10_000) }
            let run = try ground.record(["sync", ground.manifest, "--wait", "1m"])
            #expect(run.wait(for: "taking the lock"))
            ground.origin.release()
            #expect(first.wait().ending == .exited(1))
            #expect(run.wait() == 1)
        }
    }

    @Test func anEvictionSaysThatItWaits() async throws {
        try await DetachedThread.run {
            let ground = try Ground(small: 0, holdingAfter: 1000)
            defer { ground.remove() }
            let first = try ground.playground.sync(ground.manifest)
            while !ground.playground.isLockNaming(first), !first.hasEnded { usleep(10_000) }
            let run = try ground.record(["evict", "--quota", "1GiB", "--wait", "1m"])
            #expect(run.wait(for: "taking the lock"))
            ground.origin.release()
            #expect(first.wait().ending == .exited(1))
            #expect(run.wait() == 0)
        }
    }

    /// The same in a terminal that was not written for the test.
    @Test(.enabled(if: BuiltProgram.exists("/usr/bin/tmux")))
    func tmuxShowsNoFrameLeftoversAfterAResize() async throws {
        try await DetachedThread.run {
            let ground = try Ground(small: 0, bytesPerSecond: 100_000)
            defer { ground.remove() }
            let tmux = Tmux(folder: ground.playground.folder.path)
            defer { tmux.stop() }
            let program = BuiltProgram.path(of: "mirror")
            // The screen is full, as it is after some work. At the top of an empty one tmux moves rows to its
            // history when it wraps them, and no program can reach these.
            try tmux.start(
                columns: 90, rows: 24,
                "seq 60; env MIRROR_ROOT=\(ground.playground.root.path) LANG=C.UTF-8 \(program) sync \(ground.manifest); echo END; read x"
            )
            #expect(try tmux.wait { $0.contains(where: Self.isTotal) })
            for columns in [50, 110, 42, 80] {
                try tmux.resize(columns: columns, rows: 24)
                // Once it is drawn again, exactly one is there, and it fits.
                let isOne = try tmux.wait { screen in
                    screen.count(where: Self.isTotal) == 1
                        && screen.allSatisfy { DisplayWidth.of($0) <= columns }
                }
                let screen = try tmux.screen()
                #expect(isOne, "\(columns): \(screen)")
            }
            #expect(try tmux.wait { $0.contains("END") })
            let end = try tmux.screen()
            #expect(!end.contains(where: Self.isTotal), "\(end)")
            #expect(end.contains { $0.contains("3 resources: 2 fetched, 1 failed.") }, "\(end)")
        }
    }
}

/// A tmux(1) server of its own, with one window.
private struct Tmux {
    let socket: String

    init(folder: String) { socket = folder + "/tmux" }

    private func run(_ words: [String]) throws -> String {
        try Command.run(
            "/usr/bin/tmux", ["-S", socket, "-f", "/dev/null", "-u"] + words,
            environment: [
                "LANG": "C.UTF-8", "TERM": "xterm-256color", "PATH": "/usr/bin:/bin",
                "HOME": "/tmp",
            ]
        ).output
    }

    func start(columns: Int, rows: Int, _ command: String) throws {
        _ = try run([
            "new-session", "-d", "-s", "t", "-x", "\(columns)", "-y", "\(rows)", command,
        ])
    }

    func resize(columns: Int, rows: Int) throws {
        _ = try run(["resize-window", "-t", "t", "-x", "\(columns)", "-y", "\(rows)"])
    }

    func screen() throws -> [String] {
        try run(["capture-pane", "-p", "-t", "t", "-S", "-50"]).split(separator: "\n").map(
            String.init)
    }

    /// Waits until a look at the screen holds; false after a minute.
    func wait(_ holds: ([String]) -> Bool) throws -> Bool {
        for _ in 0..<600 {
            if holds(try screen()) { return true }
            usleep(100_000)
        }
        return false
    }

    func stop() { _ = try? run(["kill-server"]) }
}
