internal import Glibc
internal import MirrorManifests
package import MirrorModel
internal import MirrorSystem

/// The schedules of this user and of the machine: where they are written, and who is told.
///
/// What it finds and removes carries its mark; everything else stays as it is.
package struct ScheduleBook: Sendable {
    /// The folders of the units.
    private let folders: [Schedule.Manager: String]

    /// The book of this process's user.
    package init() {
        let home = ScheduleBook.variable("HOME") ?? "/root"
        let configuration = ScheduleBook.variable("XDG_CONFIG_HOME") ?? home + "/.config"
        folders = [
            .user: configuration + "/systemd/user",
            .system: "/etc/systemd/system",
        ]
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A schedule of a root: its name follows from root and manifests, so that the same is replaced.
    package static func schedule(
        root: String, manifests: [ManifestSource], every: Int64, manager: Schedule.Manager
    ) -> (schedule: Schedule, offset: UInt64) {
        let place = LocalManifest.canonical(folder: root)
        let places = manifests.map { source in
            switch source {
            case .path(let path): LocalManifest.canonical(path)
            case .url(let url): url.requestText
            case .standardInput: "-"
            }
        }
        let hash = ByteHasher.digest(
            .sha256, of: Array(([place] + places).joined(separator: "\n").utf8))
        let schedule = Schedule(
            name: Schedule.name(root: place, hash: hash.hex), manager: manager, every: every,
            root: place, manifests: places)
        return (schedule, hash.bytes.prefix(4).reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// The absolute path of this program.
    package static var program: String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let bytes = buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What waits for the network: the first of the usual programs that is here.
    package static var networkWaiter: [String]? {
        [
            ["/usr/bin/nm-online", "-q", "-t", "30"],
            ["/lib/systemd/systemd-networkd-wait-online", "--any", "--timeout=30"],
        ].first { access($0[0], X_OK) == 0 }
    }

    /// The paths of the units of a schedule, the service first; none for cron.
    package func paths(of schedule: Schedule) -> [String] {
        guard let folder = folders[schedule.manager] else { return [] }
        return [".service", ".timer"].map { "\(folder)/\(schedule.name)\($0)" }
    }
}

// MARK: Installing

extension ScheduleBook {
    /// Writes the units of a schedule, and has systemd start its timer.
    ///
    /// Throws `MirrorError` with `inputOutput`, and says what was written before.
    package func install(_ schedule: Schedule, service: String, timer: String) throws {
        let paths = paths(of: schedule)
        guard let folder = folders[schedule.manager] else { return }
        try ScheduleBook.makeFolder(folder)
        for (path, text) in zip(paths, [service, timer]) {
            try ReplacedFile.write(Array(text.utf8), to: path)
        }
        let written = "\(paths.joined(separator: " and ")) are written"
        try tell(schedule, ["daemon-reload"], written)
        try tell(schedule, ["enable", "--now", schedule.name + ".timer"], written)
    }

    /// Adds the lines of a schedule to this user's crontab, in place of those of the same name.
    ///
    /// Throws `MirrorError` with `inputOutput`; the crontab is then as it was.
    package func install(_ schedule: Schedule, cron lines: [String]) throws {
        let rest = try crontab().filter { $0.schedule?.name != schedule.name }
        try write(crontab: rest.flatMap(\.lines) + lines)
    }

    /// Removes a schedule of ours.
    ///
    /// Throws `MirrorError` with `inputOutput`.
    package func remove(_ schedule: Schedule) throws {
        if schedule.manager == .cron {
            let rest = try crontab().filter { $0.schedule?.name != schedule.name }
            return try write(crontab: rest.flatMap(\.lines))
        }
        // A timer that is not loaded, or a machine without systemd, is no reason to keep the files.
        let words = ScheduleBook.systemctl(schedule.manager)
        _ = try ToolRun(words + ["disable", "--now", schedule.name + ".timer"])
        for path in paths(of: schedule) where unlink(path) != 0 && errno != ENOENT {
            throw MirrorError(Errno(number: errno, call: "unlink", path: path))
        }
        _ = try ToolRun(words + ["daemon-reload"])
    }

    private static func systemctl(_ manager: Schedule.Manager) -> [String] {
        manager == .user ? ["systemctl", "--user"] : ["systemctl"]
    }

    private func tell(_ schedule: Schedule, _ words: [String], _ written: String) throws {
        let command = ScheduleBook.systemctl(schedule.manager) + words
        let run = try ToolRun(command)
        guard run.exit != 0 else { return }
        let reason =
            run.exit == 127 && run.errors.isEmpty
            ? "there is no systemctl here"
            : run.errors.split(separator: "\n").first.map(String.init) ?? "exit \(run.exit)"
        throw MirrorError(
            .inputOutput,
            "\(written), and \(command.joined(separator: " ")) failed: \(reason). Run it again where systemd runs, or remove the schedule: mirror schedule remove \(schedule.name)"
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
    /// Every schedule that carries the mark, by name.
    ///
    /// Throws `MirrorError` with `inputOutput` where a crontab cannot be read.
    package func all() throws -> [Schedule] {
        let units = [Schedule.Manager.user, .system].flatMap(units)
        return (units + (try crontab().compactMap(\.schedule))).sorted { $0.name < $1.name }
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

    /// A part of a crontab: a schedule of ours with its lines, or somebody else's line.
    private struct Passage {
        var schedule: Schedule?
        var lines: [String]
    }

    private func crontab() throws -> [Passage] {
        let run = try ToolRun(["crontab", "-l"])
        // Without a crontab, or without cron, there are no lines.
        if run.exit == 127 || run.exit != 0 && run.errors.contains("no crontab") { return [] }
        guard run.exit == 0 else {
            let reason = run.errors.split(separator: "\n").first ?? "exit \(run.exit)"
            throw MirrorError(.inputOutput, "The crontab cannot be read: \(reason).")
        }
        var passages: [Passage] = []
        var isOurs = false
        for line in run.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            if isOurs {
                passages[passages.count - 1].lines.append(String(line))
                isOurs = false
            } else {
                let schedule = Schedule(markedBy: String(line))
                passages.append(Passage(schedule: schedule, lines: [String(line)]))
                isOurs = schedule != nil
            }
        }
        return passages
    }

    private func write(crontab lines: [String]) throws {
        let text = lines.map { $0 + "\n" }.joined()
        let run = try ToolRun(["crontab", "-"], input: Array(text.utf8))
        guard run.exit != 0 else { return }
        let reason = run.errors.split(separator: "\n").first ?? "there is no crontab here"
        throw MirrorError(
            .inputOutput,
            "The crontab was not changed: \(reason). Install cron, or use systemd's timers.")
    }
}

extension Schedule {
    /// The schedule that a line with the mark describes; nil for other lines.
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
    /// Whether a schedule is the one that is named, or one of a manifest.
    package static func isMeant(_ schedule: Schedule, by name: String) -> Bool {
        if schedule.name == name || schedule.manifests.contains(name) { return true }
        guard !name.contains("://") else { return false }
        return schedule.manifests.contains(LocalManifest.canonical(name))
    }

    /// What to do so that this user's timers run while the user is not logged in; nil where they do,
    /// or where nobody knows.
    package static func lingerNote() -> String? {
        guard let entry = getpwuid(geteuid()), let name = entry.pointee.pw_name,
            let run = try? ToolRun(
                ["loginctl", "show-user", String(cString: name), "--property=Linger", "--value"]),
            run.exit == 0, run.output.hasPrefix("no")
        else { return nil }
        return
            "The timer runs only while \(String(cString: name)) is logged in. To let it run always: loginctl enable-linger"
    }
}
