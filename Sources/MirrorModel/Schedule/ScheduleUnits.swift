/// The texts that start a schedule.
package struct ScheduleUnits: Sendable {
    /// What the first line of a unit, and the line before a crontab's, begins with.
    package static let mark = "# mirror schedule "
    /// The line after a crontab's.
    package static let endMark = "# mirror schedule ends"

    /// The schedule, which says when it starts.
    package let schedule: Schedule
    /// The command that is started: a program's absolute path and its words.
    package let words: [String]
    /// The greatest delay by chance, in seconds.
    package let jitter: Int64
    /// The program that waits for the network before a sync, with its words; nil to wait for none.
    package var waiter: [String]?
    /// Whether the machine's units wait for the network.
    package var needsNetwork = false

    private let period: SchedulePeriod

    /// Takes what is started; nil for a period below a minute.
    package init?(_ schedule: Schedule, words: [String], jitter: Int64?) {
        guard let period = SchedulePeriod(seconds: schedule.every) else { return nil }
        self.schedule = schedule
        self.words = words
        self.period = period
        self.jitter = jitter ?? period.usualJitter
    }

    /// The service unit; nil where a word has a control character.
    package var service: String? {
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

    /// The timer unit.
    package var timer: String {
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

    /// The three lines of a crontab; nil where cron has no such period, or a word a control character.
    ///
    /// - Parameter offset: any number, which chooses the minute.
    package func cron(offset: UInt64) -> [String]? {
        let words = words.map(QuotedWord.cron)
        guard let fields = period.cron(offset: offset), !words.contains(nil) else { return nil }
        let command = "\(fields) \(words.compactMap { $0 }.joined(separator: " "))"
        return [mark, command, ScheduleUnits.endMark]
    }

    private func line(_ words: [String]) -> String? {
        let quoted = words.enumerated().map { number, word in
            QuotedWord.systemd(word, isProgram: number == 0)
        }
        return quoted.contains(nil) ? nil : quoted.compactMap { $0 }.joined(separator: " ")
    }

    /// The line that says what this is, so that it is found again.
    private var mark: String {
        var json = JSONWriter()
        json.object { schedule.writeMembers(to: &$0) }
        return ScheduleUnits.mark + String(decoding: json.take(), as: UTF8.self)
    }
}
