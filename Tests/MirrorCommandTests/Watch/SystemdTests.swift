import Glibc
import MirrorTestSupport
import Testing

/// `mirror watch` and `mirror schedule` under a real systemd, where this process may start one.
@Suite(.serialized, .timeLimit(.minutes(10)), .enabled(if: UserManager.isPossible))
struct SystemdTests {
    private func manifest(_ ground: Playground) throws -> String {
        try ground.folder.write("a.txt", Array("hello".utf8))
        let url = "file://\(ground.folder.full("a.txt"))"
        return try ground.write(
            manifest: #"{"name":"m","resources":[{"path":"Caches/a","url":"\#(url)"}]}"#)
    }

    @Test func aWatchIsAServiceThatNotifies() async throws {
        let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        defer { ground.remove() }
        let unit = """
            [Service]
            Type=notify
            Environment=MIRROR_ROOT=\(ground.root.path)
            ExecStart=\(BuiltProgram.path(of: "mirror")) watch \(try manifest(ground)) --every 1h
            ExecReload=kill -HUP $MAINPID
            SuccessExitStatus=143
            Restart=on-failure
            WatchdogSec=8
            StandardOutput=file:\(ground.folder.full("out"))

            """
        try ground.folder.makeFolders(above: ".config/systemd/user/w.service")
        try ground.folder.write(".config/systemd/user/w.service", Array(unit.utf8))
        let result = try await DetachedThread.run {
            try UserManager.run(
                """
                systemctl --user start w || exit 1
                said() { for try in $(seq 1200); do
                    [ "$(grep -c '^Next sync' "$HOME/out")" -ge $1 ] && return; sleep 0.05; done; }
                said 1; systemctl --user reload w || exit 2; said 2
                # Longer than the watchdog waits for signs of life.
                sleep 10
                systemctl --user show w --property=ActiveState,NRestarts,StatusText
                systemctl --user stop w
                systemctl --user show w --property=ActiveState,Result
                """, ground)
        }
        let lines = Set(result.output.split(separator: "\n"))
        #expect(lines.isSuperset(of: ["ActiveState=active", "NRestarts=0"]), "\(result)")
        #expect(lines.contains { $0.hasPrefix("StatusText=Next sync at ") }, "\(result)")
        #expect(lines.isSuperset(of: ["ActiveState=inactive", "Result=success"]), "\(result)")
        #expect(ground.root.read("Caches/a") == Array("hello".utf8))
    }

    @Test func aScheduleIsATimerForTheSync() async throws {
        let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        defer { ground.remove() }
        let path = try manifest(ground)
        let result = try await DetachedThread.run {
            try UserManager.run(
                """
                "$MIRROR" schedule "\(path)" --every 6h --install || exit 1
                name=$("$MIRROR" schedule list | cut -d' ' -f1)
                systemctl --user is-active "$name.timer"
                systemctl --user show "$name.timer" --property=FixedRandomDelay,Persistent
                systemctl --user start "$name.service" || exit 2
                systemctl --user show "$name.service" --property=Result
                "$MIRROR" schedule remove "$name" || exit 3
                systemctl --user is-active "$name.timer"
                """, ground)
        }
        let lines = result.output.split(separator: "\n")
        #expect(lines.first?.hasPrefix("installed mirror-") == true, "\(result)")
        #expect(
            Set(lines).isSuperset(of: [
                "active", "FixedRandomDelay=yes", "Persistent=yes", "Result=success", "inactive",
            ]), "\(result)")
        #expect(ground.root.read("Caches/a") == Array("hello".utf8))
    }
}
