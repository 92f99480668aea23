import Glibc
import MirrorTestSupport

/// A systemd that manages a user's units, in a mount namespace of its own, for the time of a script.
enum UserManager {
    private static let manager = "/usr/lib/systemd/systemd"
    static let isPossible: Bool = {
        guard geteuid() == 0, access(manager, X_OK) == 0, !Sanitizers.areOn,
            let ground = try? Playground(program: BuiltProgram.path(of: "mirror"))
        else { return false }
        defer { ground.remove() }
        return (try? run("echo possible", ground))?.output == "possible\n"
    }()

    /// Runs a script of the shell beside a manager; it may use `systemctl --user` and `$MIRROR`.
    static func run(_ body: String, _ ground: Playground) throws -> Command.Result {
        let script = """
            mkdir -p /run/systemd && mount -t tmpfs tmpfs /run/systemd || exit 99
            # systemd refuses to be a user's manager where the machine was not booted by it.
            mkdir -p /run/systemd/system
            mkdir -p -m 700 "$XDG_RUNTIME_DIR"
            timeout 240 \(manager) --user > "$HOME/systemd.log" 2>&1 &
            for try in $(seq 1200); do
                systemctl --user list-units > "$HOME/units" 2>&1 && break
                sleep 0.05
            done
            [ "$try" != 1200 ] || exit 98
            \(body)
            systemctl --user exit
            wait
            """
        return try Command.run(
            "/usr/bin/unshare", ["--mount", "/bin/sh", "-c", script],
            environment: [
                "HOME": ground.folder.path, "XDG_RUNTIME_DIR": ground.folder.full("run"),
                "MIRROR": BuiltProgram.path(of: "mirror"), "MIRROR_ROOT": ground.root.path,
                "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8",
            ])
    }
}
