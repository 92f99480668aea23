internal import Glibc
internal import MirrorTestSupport

/// Where a program changed something, as strace(1) saw it.
///
/// With `-y` strace writes each descriptor with the path that the kernel knows it by, and so an open
/// file with the place where it truly is, whatever links led there.
public struct WriteWatch {
    /// One path that a call was to change.
    public struct Change: Sendable, Hashable {
        /// The system call.
        public let call: String
        /// The absolute path, without `.` and `..`.
        public let place: String
        /// Whether the kernel named the place; otherwise the call did, and a link may have led on.
        public let isFinal: Bool
    }

    private static let program = "/usr/bin/strace"

    /// Whether this machine has strace and lets it watch a process.
    public static let isPossible: Bool = {
        guard access(program, X_OK) == 0 else { return false }
        let words = ["-f", "--seccomp-bpf", "-o", "/dev/null", "/bin/true"]
        return (try? Command.run(program, words).ending) == .exited(0)
    }()

    /// The words before a program's own that have it watched, its calls logged to a file.
    public static func words(log: String) -> [String] {
        let calls = places.keys.sorted().map { "?" + $0 }.joined(separator: ",")
        return [program, "-f", "-y", "--seccomp-bpf", "-o", log, "-e", "trace=" + calls]
    }

    /// What was changed, or would have been had the call not failed.
    public static func changes(in log: String) -> [Change] {
        var log = StraceLog(log)
        var changes: [Change] = []
        while let call = log.next() {
            let places = places[call.name] ?? []
            guard !call.name.hasPrefix("open") || call.opensForWriting else { continue }
            if let opened = call.opened {
                changes.append(Change(call: call.name, place: opened, isFinal: true))
                continue
            }
            for (folder, name) in places {
                guard let place = log.path(of: call, folder: folder, name: name) else { continue }
                changes.append(Change(call: call.name, place: place, isFinal: false))
            }
        }
        return changes
    }

    /// Those of the changes that are not below a root, or below it only by way of a link.
    public static func strays(_ changes: [Change], root: String, links: [String]) -> [String] {
        changes.filter { change in
            if change.place == "/dev/null" || Sanitizers.isOwn(change.place)
                || isControlFolder(change.place)
            {
                return false
            }
            guard change.place == root || change.place.hasPrefix(root + "/") else { return true }
            return !change.isFinal && links.contains { change.place.hasPrefix($0 + "/") }
        }.map { "\($0.call) \($0.place)" }
    }

    /// Whether a place is the folder of the sockets by which runs are steered, or in it.
    private static func isControlFolder(_ place: String) -> Bool {
        let folder = "/mirror-\(geteuid())"
        let above = ["/tmp"] + [getenv("TMPDIR").map { String(cString: $0) }].compactMap(\.self)
        return above.contains { place == $0 + folder || place.hasPrefix($0 + folder + "/") }
    }

    /// The calls that change what paths lead to: which arguments are a folder and a name in it.
    private static let places: [String: [(folder: Int?, name: Int)]] = [
        "open": [(nil, 0)], "openat": [(0, 1)], "openat2": [(0, 1)], "creat": [(nil, 0)],
        "mkdir": [(nil, 0)], "mkdirat": [(0, 1)], "rmdir": [(nil, 0)],
        "rename": [(nil, 0), (nil, 1)], "renameat": [(0, 1), (2, 3)],
        "renameat2": [(0, 1), (2, 3)],
        "link": [(nil, 1)], "linkat": [(2, 3)], "symlink": [(nil, 1)], "symlinkat": [(1, 2)],
        "unlink": [(nil, 0)], "unlinkat": [(0, 1)], "truncate": [(nil, 0)],
        "chmod": [(nil, 0)], "fchmodat": [(0, 1)], "fchmodat2": [(0, 1)],
        "chown": [(nil, 0)], "lchown": [(nil, 0)], "fchownat": [(0, 1)],
        "mknod": [(nil, 0)], "mknodat": [(0, 1)], "utimensat": [(0, 1)],
        "setxattr": [(nil, 0)], "lsetxattr": [(nil, 0)],
    ]
}
