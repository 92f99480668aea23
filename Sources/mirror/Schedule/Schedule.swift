import MirrorKit

/// A sync that systemd or cron starts again and again.
struct Schedule: Sendable, Hashable {
    /// The program that starts the syncs of a schedule.
    enum Manager: String, Sendable, Hashable, CaseIterable {
        /// systemd, for this user.
        case user
        /// systemd, for the machine.
        case system
        /// cron, in this user's crontab.
        case cron
    }

    /// The schedule's name, e.g. `mirror-maps-1a2b3c4d`. Its units have the same name.
    var name: String
    /// The program that starts the syncs.
    var manager: Manager
    /// The time from one sync to the next, in seconds.
    var every: Int64
    /// The root's absolute path.
    var root: String
    /// The manifests: absolute paths and URLs.
    var manifests: [String]

    /// Returns a readable name of a schedule, which no other schedule has.
    ///
    /// - Parameter hash: hexadecimal digits that differ for other roots and manifests.
    static func name(root: String, hash: String) -> String {
        let last = root.split(separator: "/").last.map(String.init) ?? "root"
        let readable = last.lowercased().unicodeScalars.map { character in
            ("a"..."z").contains(character) || ("0"..."9").contains(character)
                ? String(character) : "-"
        }.joined()
        return "mirror-\(readable.prefix(40))-\(hash.prefix(8))"
    }

    /// Writes the schedule as members of an object.
    func writeMembers(to json: inout JSONWriter) {
        json.member("name", name)
        json.member("manager", manager.rawValue)
        json.member("every", every)
        json.member("root", root)
        json.member("manifests", manifests)
    }
}

/// How often a schedule starts a sync, in the notations of systemd.time(7) and crontab(5).
struct SchedulePeriod: Sendable, Hashable {
    /// The length in seconds.
    let seconds: Int64

    /// Creates a period from its length in seconds.
    /// Returns nil below 60, the shortest period of a timer.
    init?(seconds: Int64) {
        guard seconds >= 60 else { return nil }
        self.seconds = seconds
    }

    /// The calendar expression for this period, with the same times every day or week.
    ///
    /// `nil` means that no calendar expresses the period. systemd makes up for a missed run only if
    /// a calendar expresses the period (systemd.timer(5), Persistent).
    var calendar: String? {
        switch seconds {
        case 60: "*-*-* *:*:00"
        case 3600: "*-*-* *:00:00"
        case 86400: "*-*-* 00:00:00"
        case 604_800: "Mon *-*-* 00:00:00"
        default:
            hours.map { "*-*-* 00/\($0):00:00" } ?? minutes.map { "*-*-* *:00/\($0):00" }
        }
    }

    /// Returns the first five fields of a crontab line. Returns nil if cron has no such period.
    ///
    /// - Parameter offset: any number. It chooses the moment within the period, so that devices
    ///   begin at different moments.
    func cron(offset: UInt64) -> String? {
        let minute = offset % 60
        return switch seconds {
        case 60: "* * * * *"
        case 3600: "\(minute) * * * *"
        case 86400: "\(minute) \(offset / 60 % 24) * * *"
        case 604_800: "\(minute) \(offset / 60 % 24) * * \(offset / 1440 % 7)"
        default:
            hours.map { "\(minute) \(offset / 60 % UInt64($0))-23/\($0) * * *" }
                ?? minutes.map { "\(offset % UInt64($0))-59/\($0) * * * *" }
        }
    }

    /// The period as an option's value: `90m`, `6h`, `1d`.
    var spelling: String {
        if seconds % 86400 == 0 { return "\(seconds / 86400)d" }
        if seconds % 3600 == 0 { return "\(seconds / 3600)h" }
        return seconds % 60 == 0 ? "\(seconds / 60)m" : "\(seconds)s"
    }

    /// The nearest period that a calendar expresses.
    var nearest: SchedulePeriod {
        let known = SchedulePeriod.expressible.min { abs($0 - seconds) < abs($1 - seconds) }
        return SchedulePeriod(seconds: known ?? 86400) ?? self
    }

    /// The default of the greatest random delay, in seconds.
    ///
    /// It is a tenth of the period, and an hour at most.
    var usualJitter: Int64 { min(seconds / 10, 3600) }

    /// The period in hours. `nil` unless it is a whole number of hours that divides a day.
    private var hours: Int64? {
        seconds % 3600 == 0 && 24 % (seconds / 3600) == 0 ? seconds / 3600 : nil
    }

    /// The period in minutes. `nil` unless it is a whole number of minutes that divides an hour.
    private var minutes: Int64? {
        seconds % 60 == 0 && 60 % (seconds / 60) == 0 ? seconds / 60 : nil
    }

    private static let expressible: [Int64] =
        (1..<60).filter { 60 % $0 == 0 }.map { $0 * 60 }
        + (1...24).filter { 24 % $0 == 0 }.map { $0 * 3600 } + [604_800]
}

/// The units or crontab lines of a schedule.
struct ScheduleUnits: Sendable {
    /// The beginning of a unit's first line, and of the first of a schedule's crontab lines.
    static let mark = "# mirror schedule "
    /// The last of a schedule's crontab lines.
    static let endMark = "# mirror schedule ends"

    /// The schedule for which the texts are made.
    let schedule: Schedule
    /// The command that the schedule starts: a program's absolute path and its arguments.
    let words: [String]
    /// The greatest random delay of a start, in seconds.
    let jitter: Int64
    /// The program that waits for the network before a sync, with its arguments.
    ///
    /// `nil` means that the sync waits for nothing.
    var waiter: [String]?
    /// Whether the machine's units wait for the network.
    var needsNetwork = false

    private let period: SchedulePeriod

    /// Creates the texts of a schedule. Returns nil if the period is shorter than a minute.
    init?(_ schedule: Schedule, words: [String], jitter: Int64?) {
        guard let period = SchedulePeriod(seconds: schedule.every) else { return nil }
        self.schedule = schedule
        self.words = words
        self.period = period
        self.jitter = jitter ?? period.usualJitter
    }

    /// The text of the service unit. `nil` means that a word has a control character.
    var service: String? {
        guard let start = line(words) else { return nil }
        var lines = [
            mark, "[Unit]", "Description=Sync \(schedule.name)",
        ]
        if needsNetwork, schedule.manager == .system {
            lines += ["Wants=network-online.target", "After=network-online.target"]
        }
        lines += ["", "[Service]", "Type=oneshot"]
        if let waiter {
            guard let wait = line(waiter) else { return nil }
            // If the network does not come, the sync itself reports that.
            lines.append("ExecStartPre=-\(wait)")
        }
        lines += ["ExecStart=\(start)", "Nice=10", "IOSchedulingClass=idle"]
        return lines.joined(separator: "\n") + "\n"
    }

    /// The text of the timer unit.
    var timer: String {
        var lines = [
            mark, "[Unit]",
            "Description=Sync \(schedule.name) every \(DurationText(seconds: schedule.every))",
            "", "[Timer]",
        ]
        if let calendar = period.calendar {
            lines += ["OnCalendar=\(calendar)", "Persistent=true"]
        } else {
            let first = schedule.manager == .system ? "OnBootSec" : "OnStartupSec"
            lines += ["\(first)=2min", "OnUnitActiveSec=\(schedule.every)s"]
        }
        lines += ["RandomizedDelaySec=\(jitter)s", "FixedRandomDelay=true"]
        lines += ["", "[Install]", "WantedBy=timers.target"]
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the three crontab lines of the schedule.
    ///
    /// Returns nil if cron has no such period, or if a word has a control character.
    ///
    /// - Parameter offset: any number, which chooses the minute.
    func cron(offset: UInt64) -> [String]? {
        let words = words.map(\.quotedForCron)
        guard let fields = period.cron(offset: offset), !words.contains(nil) else { return nil }
        let command = "\(fields) \(words.compactMap { $0 }.joined(separator: " "))"
        return [mark, command, ScheduleUnits.endMark]
    }

    private func line(_ words: [String]) -> String? {
        let quoted = words.enumerated().map { number, word in
            word.quotedForSystemd(isProgram: number == 0)
        }
        return quoted.contains(nil) ? nil : quoted.compactMap { $0 }.joined(separator: " ")
    }

    /// The first line, which has the schedule as JSON, so that mirror finds the schedule again.
    private var mark: String {
        var json = JSONWriter()
        json.object { schedule.writeMembers(to: &$0) }
        return ScheduleUnits.mark + String(decoding: json.take(), as: UTF8.self)
    }
}

// Words of a command line, written so that a program reads them as they are.

extension String {
    /// Quotes a word for an `ExecStart=` line (systemd.service(5), "Command lines";
    /// systemd.syntax(7)).
    ///
    /// Returns nil for a word with a line break or another control character, which no unit can
    /// have.
    ///
    /// - Parameter isProgram: whether this is the first word, in which systemd replaces no
    ///   variable.
    func quotedForSystemd(isProgram: Bool = false) -> String? {
        guard hasNoControlCharacter else { return nil }
        var quoted = ""
        for character in unicodeScalars {
            switch character {
            case "\\": quoted += "\\\\"
            case "\"": quoted += "\\\""
            // systemd replaces specifiers and variables within quotes, too.
            case "%": quoted += "%%"
            case "$": quoted += isProgram ? "$" : "$$"
            default: quoted.unicodeScalars.append(character)
            }
        }
        return isPlainWord ? quoted : "\"\(quoted)\""
    }

    /// The word quoted for a crontab's command, which sh(1) reads after cron (crontab(5)).
    ///
    /// `nil` means that the word has a control character.
    var quotedForCron: String? {
        guard hasNoControlCharacter else { return nil }
        if isPlainWord { return self }
        // cron ends the command at a percent sign without a backslash before it.
        // cron also removes that backslash, so both stand outside the quotes.
        let quoted = split(separator: "'", omittingEmptySubsequences: false)
            .map {
                $0.split(separator: "%", omittingEmptySubsequences: false).joined(
                    separator: "'\\%'")
            }
            .joined(separator: "'\\''")
        return "'\(quoted)'"
    }

    private var hasNoControlCharacter: Bool {
        unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    }
}
