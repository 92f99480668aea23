import Glibc
import MirrorKit

/// The schedules of this user and of the machine, in units of systemd or in the crontab.
///
/// The book finds and removes only schedules that have mirror's mark; all else stays as it is.
struct ScheduleBook: Sendable {
    /// The folders of the systemd units.
    private let folders: [Schedule.Manager: String]

    /// Makes the book for this process's user.
    init() {
        let home = ScheduleBook.variable("HOME") ?? "/root"
        // The XDG Base Directory Specification ignores relative paths.
        let named = ScheduleBook.variable("XDG_CONFIG_HOME").flatMap {
            $0.hasPrefix("/") ? $0 : nil
        }
        let configuration = named ?? home + "/.config"
        folders = [
            .user: configuration + "/systemd/user",
            .system: "/etc/systemd/system",
        ]
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Makes a schedule of a root, and the offset of its syncs within the interval.
    ///
    /// The name follows from root and manifests, so installing the same schedule again replaces it.
    /// The offset also follows from the machine. So devices of a fleet with the same root and
    /// manifests get different offsets.
    static func schedule(
        root: String, manifests: [ManifestSource], every: Int64, manager: Schedule.Manager,
        machine: String = ScheduleBook.machine
    ) -> (schedule: Schedule, offset: UInt64) {
        let place = resolvedPath(root) ?? root
        let places = manifests.map { source in
            switch source {
            case .path(let path): canonicalPath(path)
            case .url(let url): url.requestText
            case .standardInput: "-"
            }
        }
        let text = ([place] + places).joined(separator: "\n")
        let hash = ByteHasher.digest(.sha256, of: Array(text.utf8))
        let chance = ByteHasher.digest(.sha256, of: Array((machine + "\n" + text).utf8))
        let schedule = Schedule(
            name: Schedule.name(root: place, hash: hash.hex), manager: manager, every: every,
            root: place, manifests: places)
        return (schedule, chance.bytes.prefix(4).reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// A text that identifies this machine and does not change: its host name and its
    /// machine-id(5).
    static var machine: String {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        let host = String(
            decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return host + "\n" + ((try? ReplacedFile.text(at: "/etc/machine-id")) ?? "")
    }

    /// The absolute path of this program.
    static var program: String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let bytes = buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The command that waits for the network: the first of the usual ones that is installed.
    ///
    /// Returns nil if none is.
    static var networkWaiter: [String]? {
        [
            ["/usr/bin/nm-online", "-q", "-t", "30"],
            ["/lib/systemd/systemd-networkd-wait-online", "--any", "--timeout=30"],
        ].first { access($0[0], X_OK) == 0 }
    }

    /// The paths of a schedule's units, the service first. Empty for cron.
    func paths(of schedule: Schedule) -> [String] {
        guard let folder = folders[schedule.manager] else { return [] }
        return [".service", ".timer"].map { "\(folder)/\(schedule.name)\($0)" }
    }
}

// MARK: Installing

extension ScheduleBook {
    /// Writes the units of a schedule, and makes systemd start its timer.
    ///
    /// Throws `MirrorError` with `inputOutput`. The error names the files that were written.
    func install(_ schedule: Schedule, service: String, timer: String) throws {
        let paths = paths(of: schedule)
        guard let folder = folders[schedule.manager] else { return }
        try ScheduleBook.makeFolder(folder)
        let before = paths.map { try? ReplacedFile.text(at: $0) }
        do {
            for (path, text) in zip(paths, [service, timer]) {
                try ReplacedFile.write(Array(text.utf8), to: path)
            }
            try tell(schedule, ["daemon-reload"])
            try tell(schedule, ["enable", "--now", schedule.name + ".timer"])
        } catch {
            // What cannot be started must not wait for a later start of systemd.
            for (path, text) in zip(paths, before) {
                if let text {
                    try? ReplacedFile.write(Array(text.utf8), to: path)
                } else {
                    unlink(path)
                }
            }
            throw error
        }
    }

    /// Adds the lines of a schedule to this user's crontab, and replaces a schedule of the same
    /// name.
    ///
    /// Throws `MirrorError` with `inputOutput`; then the crontab stays as it was.
    func install(_ schedule: Schedule, cron lines: [String]) throws {
        var table = try Crontab.ofThisUser()
        table.remove(schedule.name)
        table.add(lines)
        try table.write()
    }

    /// Removes a schedule that mirror has installed.
    ///
    /// Throws `MirrorError` with `inputOutput`.
    func remove(_ schedule: Schedule) throws {
        if schedule.manager == .cron {
            var table = try Crontab.ofThisUser()
            table.remove(schedule.name)
            return try table.write()
        }
        let words = ScheduleBook.systemctl(schedule.manager)
        let run = try ToolRun(words + ["disable", "--now", schedule.name + ".timer"])
        // Exit code 127: without systemctl no timer runs that could be stopped. The same holds if
        // no systemd answers.
        if run.exit != 0, run.exit != 127,
            try ToolRun(words + ["show", "--property=Version"]).exit == 0
        {
            let reason = run.errors.split(separator: "\n").first ?? "exit \(run.exit)"
            throw MirrorError(
                .inputOutput,
                "\(schedule.name): the timer could not be stopped, so its files are left: \(reason)"
            )
        }
        for path in paths(of: schedule) where ScheduleBook.isMarked(path, schedule.name) {
            if unlink(path) != 0, errno != ENOENT {
                throw MirrorError(Errno(number: errno, call: "unlink", path: path))
            }
        }
        if let folder = folders[schedule.manager] {
            unlink("\(folder)/timers.target.wants/\(schedule.name).timer")
        }
        _ = try ToolRun(words + ["daemon-reload"])
    }

    /// Whether a file has the mark of the schedule with this name.
    private static func isMarked(_ path: String, _ name: String) -> Bool {
        let first = (try? ReplacedFile.text(at: path))?.split(separator: "\n").first
        return first.flatMap { Schedule(markedBy: String($0)) }?.name == name
    }

    private static func systemctl(_ manager: Schedule.Manager) -> [String] {
        manager == .user ? ["systemctl", "--user"] : ["systemctl"]
    }

    private func tell(_ schedule: Schedule, _ words: [String]) throws {
        let command = ScheduleBook.systemctl(schedule.manager) + words
        let run = try ToolRun(command)
        guard run.exit != 0 else { return }
        let reason =
            run.exit == 127 && run.errors.isEmpty
            ? "there is no systemctl here"
            : run.errors.split(separator: "\n").first.map(String.init) ?? "exit \(run.exit)"
        throw MirrorError(
            .inputOutput,
            "\(command.joined(separator: " ")) failed: \(reason). Nothing is installed. Run it where systemd runs, or use --cron."
        )
    }

    private static func makeFolder(_ path: String) throws {
        var walked = ""
        for part in path.split(separator: "/") {
            walked += "/" + part
            if mkdir(walked, 0o755) != 0, errno != EEXIST {
                throw MirrorError(Errno(number: errno, call: "mkdir", path: walked))
            }
        }
    }
}

// MARK: Finding

extension ScheduleBook {
    /// All schedules with the mark, sorted by name, and the reason if the crontab could not be
    /// read.
    func all() -> (schedules: [Schedule], problem: String?) {
        var found = [Schedule.Manager.user, .system].flatMap(units)
        var problem: String?
        do { found += try Crontab.ofThisUser().schedules } catch {
            problem = MirrorError(wrapping: error).message
        }
        return (found.sorted { $0.name < $1.name }, problem)
    }

    private func units(_ manager: Schedule.Manager) -> [Schedule] {
        guard let folder = folders[manager], let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var found: [Schedule] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name.hasPrefix("mirror-"), name.hasSuffix(".timer"),
                let text = try? ReplacedFile.text(at: folder + "/" + name),
                let first = text.split(separator: "\n").first,
                let schedule = Schedule(markedBy: String(first))
            else { continue }
            found.append(schedule)
        }
        return found
    }
}

extension Schedule {
    /// Reads the schedule from a line with the mark. Returns nil for other lines.
    init?(markedBy line: String) {
        guard line.hasPrefix(ScheduleUnits.mark),
            let tree = try? JSONTree(
                Array(line.dropFirst(ScheduleUnits.mark.count).utf8), file: "mark"),
            let name = tree["name"]?.string, let root = tree["root"]?.string,
            let manager = tree["manager"]?.string.flatMap(Manager.init(rawValue:)),
            let every = tree["every"]?.int
        else { return nil }
        self.init(
            name: name, manager: manager, every: every, root: root,
            manifests: (tree["manifests"]?.elements ?? []).compactMap(\.string))
    }
}

extension ScheduleBook {
    /// Whether a name is that of the schedule, or names one of its manifests.
    static func isMeant(_ schedule: Schedule, by name: String) -> Bool {
        if schedule.name == name || schedule.manifests.contains(name) { return true }
        switch try? ManifestSource(argument: name) {
        case .url(let url): return schedule.manifests.contains(url.requestText)
        case .path(let path): return schedule.manifests.contains(canonicalPath(path))
        case .standardInput, nil: return false
        }
    }

    /// Advice for timers that do not run while the user is logged out.
    ///
    /// Returns nil if they run, or if this is unknown.
    static func lingerNote() -> String? {
        guard let entry = getpwuid(geteuid()), let bytes = entry.pointee.pw_name else { return nil }
        let name = String(cString: bytes)
        if lingers(name) { return nil }
        return
            "The timer runs only while \(name) is logged in. To let it run always: loginctl enable-linger"
    }

    private static func lingers(_ user: String) -> Bool {
        let run = try? ToolRun(["loginctl", "show-user", user, "--property=Linger", "--value"])
        if let run, run.exit == 0 { return !run.output.starts(with: Array("no".utf8)) }
        // loginctl fails for a user without a session; logind keeps a file for each user that
        // lingers.
        let isSystemd = access("/run/systemd/system", F_OK) == 0
        return !isSystemd || access("/var/lib/systemd/linger/\(user)", F_OK) == 0
    }
}

/// Another program, run to its end without a shell, and its output.
struct ToolRun: Sendable {
    /// The exit code of the program. 127 if it could not be started.
    let exit: Int32
    /// The bytes that the program wrote to standard output, at most 16 MiB.
    let output: [UInt8]
    /// The text that the program wrote to standard error, at most 64 KiB.
    let errors: String

    /// Runs a program, which is searched in PATH, with bytes on its standard input.
    ///
    /// The output goes to memory, so the program never waits for a reader. Throws `MirrorError`
    /// with `inputOutput` if this process has no descriptors left.
    init(_ words: [String], input: [UInt8] = []) throws {
        do throws(Errno) {
            let files = [try Descriptor.inMemory(), try .inMemory(), try .inMemory()]
            try files[0].write(input, at: 0, path: "input")
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            for (number, file) in files.enumerated() {
                posix_spawn_file_actions_adddup2(&actions, file.number, Int32(number))
            }
            var pid = pid_t()
            var status: Int32 = 127 << 8
            if Hook.start(words, &actions, Hook.variables(), &pid) == 0 {
                while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            }
            let signal = status & 0x7F
            exit = signal == 0 ? status >> 8 & 0xFF : 128 + signal
            output = try files[1].bytes(at: 0, count: 1 << 24, path: "output")
            errors = String(
                decoding: try files[2].bytes(at: 0, count: 1 << 16, path: "output"), as: UTF8.self)
        } catch { throw MirrorError(error) }
    }
}
