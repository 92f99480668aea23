import MirrorKit

/// A user's crontab as bytes. Lines that mirror has not written stay unchanged.
///
/// A schedule of mirror has three lines: the mark, the command, and the end of the mark. If one of
/// them is missing, the other two count as lines of the user.
struct Crontab {
    /// The parts of the crontab: schedules of mirror and other lines, all with their line breaks.
    private var passages: [(schedule: Schedule?, bytes: [UInt8])] = []

    /// Reads the lines of a crontab.
    init(_ bytes: [UInt8]) {
        let lines = Crontab.lines(of: bytes)
        var next = 0
        while next < lines.count {
            if let schedule = Crontab.schedule(lines[next...].prefix(3)) {
                passages.append((schedule, Array(lines[next..<next + 3].joined())))
                next += 3
            } else {
                passages.append((nil, Array(lines[next])))
                next += 1
            }
        }
    }

    /// The schedules of mirror in the crontab.
    var schedules: [Schedule] { passages.compactMap(\.schedule) }

    /// The bytes of the whole crontab.
    var bytes: [UInt8] { passages.flatMap(\.bytes) }

    /// Removes the schedule with a name.
    mutating func remove(_ name: String) { passages.removeAll { $0.schedule?.name == name } }

    /// Adds the lines of a schedule.
    mutating func add(_ lines: [String]) {
        // cron needs a line break after the last line, which may lack one.
        if let last = passages.last?.bytes.last, last != UInt8(ascii: "\n") {
            passages[passages.count - 1].bytes.append(UInt8(ascii: "\n"))
        }
        let text = lines.map { $0 + "\n" }.joined()
        passages.append((nil, Array(text.utf8)))
    }

    private static func lines(of bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex
            lines.append(rest[..<end])
            rest = rest[end...]
        }
        return lines
    }

    private static func schedule(_ lines: ArraySlice<ArraySlice<UInt8>>) -> Schedule? {
        guard lines.count == 3, let first = lines.first, let last = lines.last,
            text(last) == ScheduleUnits.endMark
        else { return nil }
        return Schedule(markedBy: text(first))
    }

    private static func text(_ line: ArraySlice<UInt8>) -> String {
        String(decoding: line.last == UInt8(ascii: "\n") ? line.dropLast() : line, as: UTF8.self)
    }
}

extension Crontab {
    /// The crontab of this user. Empty if the user has none, or if cron is not installed.
    ///
    /// Throws `MirrorError` with `inputOutput` if crontab(1) fails for another reason.
    static func ofThisUser() throws -> Crontab {
        let run = try ToolRun(["crontab", "-l"])
        if run.exit == 127 || run.exit != 0 && run.errors.contains("no crontab") {
            return Crontab([])
        }
        guard run.exit == 0 else {
            let reason = run.errors.split(separator: "\n").first ?? "exit \(run.exit)"
            throw MirrorError(.inputOutput, "The crontab cannot be read: \(reason).")
        }
        return Crontab(run.output)
    }

    /// Replaces the user's crontab. Throws `MirrorError` with `inputOutput`; then the old one
    /// stays.
    func write() throws {
        let run = try ToolRun(["crontab", "-"], input: bytes)
        guard run.exit != 0 else { return }
        let reason = run.errors.split(separator: "\n").first ?? "there is no crontab here"
        throw MirrorError(
            .inputOutput,
            "The crontab was not changed: \(reason). Install cron, or use systemd's timers.")
    }
}
