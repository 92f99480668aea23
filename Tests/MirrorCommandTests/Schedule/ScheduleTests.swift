import Glibc
import MirrorTestSupport
import Testing

/// `mirror schedule` by the built program, with stand-ins for systemctl, crontab and loginctl that
/// write down what they are told.
@Suite(.timeLimit(.minutes(5))) struct ScheduleTests {
    private let ground: Playground
    private let manifest: String

    init() throws {
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        manifest = try ground.write(manifest: #"{ "name": "m", "resources": [] }"#)
        try tool("systemctl", "exit ${SYSTEMCTL_EXIT:-0}")
        try tool("loginctl", "echo no")
        // Like cron's: -l prints the crontab or says that there is none, - takes another one.
        try tool(
            "crontab",
            """
            file="\(ground.folder.full("crontab.txt"))"
            if [ "$1" = -l ]; then
                [ -f "$file" ] || { echo "no crontab for user" >&2; exit 1; }
                cat "$file"
            else cat > "$file"; fi
            """)
    }

    private func tool(_ name: String, _ body: String) throws {
        let script =
            "#!/bin/sh\necho \"\(name) $*\" >> \"\(ground.folder.full("calls"))\"\n\(body)\n"
        try ground.folder.write("bin/\(name)", Array(script.utf8))
        #expect(chmod(ground.folder.full("bin/\(name)"), 0o755) == 0)
    }

    private func run(
        _ words: [String], _ environment: [String: String] = [:]
    ) async throws -> Command.Result {
        let command = try Command(
            BuiltProgram.path(of: "mirror"), ["schedule"] + words,
            environment: [
                "MIRROR_ROOT": ground.root.path, "HOME": ground.folder.path, "LANG": "C.UTF-8",
                "PATH": "\(ground.folder.full("bin")):/usr/bin:/bin",
            ].merging(environment) { $1 })
        return try await DetachedThread.run { command.wait() }
    }

    private var units: [String] {
        Folder(ground.folder.full(".config/systemd/user")).entries().map(\.name).sorted()
    }

    private func text(_ name: String) -> String {
        String(decoding: ground.folder.read(name) ?? [], as: UTF8.self)
    }

    @Test func aScheduleIsInstalledReplacedListedAndRemoved() async throws {
        defer { ground.remove() }
        try ground.folder.write(".config/systemd/user/mirror-other.timer", Array("[Timer]\n".utf8))
        let first = try await run([manifest, "--every", "6h", "--install"])
        #expect(first.ending == .exited(0), "\(first)")
        #expect(first.errors.contains("loginctl enable-linger"))
        #expect(units.count == 3)
        let again = try await run([manifest, "--every", "1d", "--install"])
        #expect(again.ending == .exited(0), "\(again)")
        #expect(units.count == 3)
        let name = try #require(units.first { $0.hasSuffix(".service") }?.dropLast(8))
        #expect(text("calls").contains("systemctl --user daemon-reload\n"))
        #expect(text("calls").contains("systemctl --user enable --now \(name).timer\n"))
        let list = try await run(["list", "--json"])
        #expect(list.output.contains("\"name\":\"\(name)\",\"manager\":\"user\",\"every\":86400"))
        #expect(list.output.contains("\"manifests\":[\"\(manifest)\"]"))
        #expect(!list.output.contains("mirror-other"))
        let removed = try await run(["remove", manifest])
        #expect(removed.output == "removed \(name)\n", "\(removed)")
        #expect(units == ["mirror-other.timer"])
        #expect(try await run(["remove", manifest]).ending == .exited(64))
    }

    /// The sync that a schedule starts has the selection, and remembers it.
    @Test func aScheduleHasItsSelection() async throws {
        defer { ground.remove() }
        let options = ["--only", "Caches/py/**", "--skip", "dev", "--python", "3.12"]
        let installed = try await run([manifest, "--every", "6h", "--install"] + options)
        #expect(installed.ending == .exited(0), "\(installed)")
        let service = try #require(units.first { $0.hasSuffix(".service") })
        let unit = text(".config/systemd/user/\(service)")
        for word in ["--only", "Caches/py/**", "--skip", "dev", "--python", "3.12"] {
            #expect(unit.contains(word), "\(unit)")
        }
    }

    /// A unit that somebody wrote under a schedule's name, or over one, is not mirror's to remove.
    @Test func aForeignUnitOutlivesTheSchedule() async throws {
        defer { ground.remove() }
        let installed = try await run([manifest, "--every", "6h", "--install"])
        #expect(installed.ending == .exited(0), "\(installed)")
        let service = try #require(units.first { $0.hasSuffix(".service") })
        let mine = "[Service]\nExecStart=/usr/local/bin/mine\n"
        try ground.folder.write(".config/systemd/user/\(service)", Array(mine.utf8))
        let removed = try await run(["remove", manifest])
        #expect(removed.ending == .exited(0), "\(removed)")
        #expect(units == [service])
        #expect(text(".config/systemd/user/\(service)") == mine)
    }

    @Test func aFailingSystemdLeavesNothingInstalled() async throws {
        defer { ground.remove() }
        let result = try await run(
            [manifest, "--every", "6h", "--install"], ["SYSTEMCTL_EXIT": "1"])
        #expect(result.ending == .exited(74), "\(result)")
        #expect(result.errors.contains("systemctl --user daemon-reload failed"))
        #expect(result.errors.contains("Nothing is installed"))
        #expect(units.isEmpty)
    }

    @Test func otherCrontabLinesStay() async throws {
        defer { ground.remove() }
        let others = "# mine\n\n5 4 * * * echo 100\\%\n"
        try ground.folder.write("crontab.txt", Array(others.utf8))
        for every in ["6h", "1d"] {
            let result = try await run([manifest, "--every", every, "--cron", "--install"])
            #expect(result.ending == .exited(0), "\(result)")
        }
        let lines = text("crontab.txt").split(separator: "\n", omittingEmptySubsequences: false)
        #expect(text("crontab.txt").hasPrefix(others))
        #expect(lines.count == 7)
        #expect(lines[3].hasPrefix("# mirror schedule {"))
        #expect(try await run(["list"]).output.contains("  cron  every 1 d  "))
        #expect(try await run(["remove", manifest]).ending == .exited(0))
        #expect(text("crontab.txt") == others)
    }

    @Test func aCrontabLineReachesTheProgramUnchanged() async throws {
        defer { ground.remove() }
        let root = ground.folder.full("it's 100% \"mine\" $HOME `id` \\")
        let result = try await run([manifest, "--every", "6h", "--cron", "--root", root])
        let line = try #require(result.output.split(separator: "\n").last { !$0.hasPrefix("#") })
        let command = line.split(separator: " ", maxSplits: 5)[5]
        // What cron does to it before sh gets it.
        let unescaped = command.split(separator: "\\%", omittingEmptySubsequences: false)
            .joined(separator: "%")
        #expect(!unescaped.isEmpty && unescaped.count < command.count)
        let shown = try Command.run(
            "/bin/sh", ["-c", "show() { for word; do echo \"[$word]\"; done; }; show \(unescaped)"])
        #expect(shown.output.split(separator: "\n").contains("[\(root)]"), "\(shown)")
    }

    @Test(.enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0))
    func systemdFindsNothingWrongWithTheUnits() async throws {
        defer { ground.remove() }
        let root = ground.folder.full("100% \"mine\" $HOME \\ ;")
        for every in ["6h", "7h"] {
            let result = try await run(
                [manifest, "--every", every, "--install", "--root", root])
            #expect(result.ending == .exited(0), "\(result)")
        }
        let paths = units.map { ground.folder.full(".config/systemd/user/\($0)") }
        let verdict = try Command.run(
            "/usr/bin/systemd-analyze", ["--user", "verify"] + paths,
            environment: ["HOME": ground.folder.path, "XDG_RUNTIME_DIR": ground.folder.path])
        #expect(verdict.ending == .exited(0), "\(verdict)")
        #expect(!verdict.errors.contains("mirror-"), "\(verdict)")
        for calendar in ["*-*-* *:00/15:00", "*-*-* 00/6:00:00", "Mon *-*-* 00:00:00"] {
            let result = try Command.run("/usr/bin/systemd-analyze", ["calendar", calendar])
            #expect(result.ending == .exited(0), "\(result)")
        }
    }

    @Test(arguments: [
        ["--every", "30s"], ["--every", "7h", "--cron"], ["--every", "1d", "--cron", "--system"],
        ["-", "--every", "1d"],
        ["https://user:secret@h.example/m.json", "--every", "1d"],
        ["--every", "1m", "--jitter", "1d"],
    ])
    func whatCannotBeScheduledIsAUsageError(words: [String]) async throws {
        defer { ground.remove() }
        let result = try await run(words)
        #expect(result.ending == .exited(64), "\(result)")
    }
}
