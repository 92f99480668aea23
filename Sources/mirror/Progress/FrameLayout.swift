import MirrorModel

/// What a terminal shows of a command's progress: a function of the state, the terminal and the time.
///
/// Only what is in flight has a line, and says what it is doing. Small files that end at once share a
/// line. The total comes last and is always there.
struct FrameLayout {
    var board = ProgressBoard()
    /// Work before and after the transfers; nil while they run.
    var stage: StageProgress?
    /// Seconds since the command began.
    var elapsed: Int64 = 0
    var style = ProgressStyle()

    /// The most transfers that have lines.
    static let mostFlights = 16

    /// The lines of a frame; none takes the last column, where a terminal would wrap.
    ///
    /// They leave a row free: where a frame fills the screen, its first line cannot be gone back to. The
    /// total is the last to go.
    func lines(columns: Int, rows: Int, now: Instant) -> [String] {
        let lines = allLines(columns: columns, rows: rows, now: now)
        return Array(lines.suffix(max(1, rows - 1)))
    }

    private func allLines(columns: Int, rows: Int, now: Instant) -> [String] {
        let room = max(8, columns - 1)
        guard let stage else { return runLines(room, rows: rows, now) }
        var lines: [String] = []
        if !stage.activity.name.isEmpty {
            lines.append(style.faint(name(stage.activity.name, columns: room)))
        }
        return lines + [total(of: stage).text(columns: room, style: style)]
    }

    // MARK: A run

    private func runLines(_ room: Int, rows: Int, _ now: Instant) -> [String] {
        let own = board.flights.filter { $0.value.hasLine(at: now) }
            .sorted { $0.value.number < $1.value.number }
        let most = max(1, min(rows - 5, Self.mostFlights))
        let shown = own.prefix(most)
        let nameWidth = room * 2 / 5
        var lines = shown.map { path, flight in
            line(path, flight, room, nameWidth: nameWidth, now)
        }
        if own.count > shown.count {
            lines.append(style.faint("… and \(own.count - shown.count) more"))
        }
        if let small = smallFiles(room, now) { lines.append(small) }
        if let note = board.outage.line(at: now) {
            lines.append(style.warning(note.clipped(toColumns: room)))
        }
        lines.append(total(at: now).text(columns: room, style: style))
        return lines
    }

    /// Small files that end at once: how many, how fast, and the last one.
    private func smallFiles(_ room: Int, _ now: Instant) -> String? {
        let small = board.small
        guard let ended = small.ended, now.milliseconds - ended.milliseconds < 2000 else {
            return nil
        }
        var text = Counted(small.count, "small file").description
        if small.rate >= 1 { text += ", \(Int(small.rate.rounded())) a second" }
        let left = room - DisplayWidth.of(text) - 2
        guard left >= 8 else { return text.clipped(toColumns: room) }
        return text + "  " + style.faint(name(small.last, columns: left))
    }

    private func name(_ path: String, columns: Int) -> String {
        path.printable.clippedAtStart(toColumns: columns)
    }

    private func line(
        _ path: String, _ flight: ProgressBoard.Flight, _ room: Int, nameWidth: Int,
        _ now: Instant
    ) -> String {
        let name = name(path, columns: nameWidth).padded(toColumns: nameWidth)
        let left = room - nameWidth - 2
        if let words = words(for: flight, at: now) {
            let text = words.text.clipped(toColumns: left)
            return name + "  " + (words.isWarning ? style.warning(text) : style.faint(text))
        }
        return name + "  " + numbers(flight, columns: left)
    }

    /// What a transfer is doing where that is not receiving bytes.
    private func words(
        for flight: ProgressBoard.Flight, at now: Instant
    ) -> (text: String, isWarning: Bool)? {
        if let seconds = flight.stalledSeconds(at: now) {
            return ("stalled \(DurationText(seconds: seconds))", true)
        }
        switch flight.doing {
        case .receiving: return nil
        case .connecting: return ("connecting", false)
        case .resuming(let offset): return ("resuming at \(ByteCount(offset))", false)
        case .copying: return ("copying", false)
        case .verifying: return ("verifying", false)
        case .writing: return ("writing", false)
        case .startingOver: return ("starting over", true)
        case .waiting(let until, let cause, let tries):
            let seconds = (until.milliseconds - now.milliseconds + 999) / 1000
            if seconds <= 0, flight.bytes > 0 {
                return ("resuming at \(ByteCount(flight.bytes))", false)
            }
            let wait =
                seconds > 0 ? "waiting \(DurationText(seconds: seconds))" : "trying again"
            let which = tries.map { ", try \($0.next) of \($0.most)" } ?? ""
            return ("\(wait): \(cause.printable)\(which)", true)
        }
    }

    /// Share, bytes, rate and time left, as far as there is room; the share stays longest.
    private func numbers(_ flight: ProgressBoard.Flight, columns: Int) -> String {
        var fields: [(text: String, rank: Int)] = []
        let share = flight.size.map { $0 > 0 ? min(1, Double(flight.bytes) / Double($0)) : 1 }
        if let share { fields.append(("\(Int(share * 100)) %", 0)) }
        let of = flight.size.map { " of \(ByteCount($0))" } ?? ""
        fields.append(("\(ByteCount(flight.bytes))\(of)", share == nil ? 0 : 2))
        if flight.rate > 0 {
            fields.append(("\(ByteCount(flight.rate))/s", 1))
            if let size = flight.size, size > flight.bytes {
                let seconds = (size - flight.bytes) / flight.rate + 1
                fields.append(("\(DurationText(seconds: seconds)) left", 3))
            }
        }
        for rank in stride(from: 3, through: 0, by: -1) {
            let kept = fields.filter { $0.rank <= rank }.map(\.text)
            let width = kept.reduce(0) { $0 + DisplayWidth.of($1) } + 2 * max(0, kept.count - 1)
            guard width <= columns else { continue }
            let text = kept.joined(separator: "  ")
            guard let share, columns - width >= 14 else { return text }
            return style.bar(share, columns: min(24, columns - width - 2)) + "  " + text
        }
        return (fields.first?.text ?? "").clipped(toColumns: columns)
    }

    // MARK: Totals

    private func total(at now: Instant) -> TotalLine {
        var line = TotalLine()
        let totals = board.totals
        let isLocal = totals.transfers == totals.ended && board.localSteps > 0
        let (done, all) =
            isLocal ? (board.localEnded, board.localSteps) : (totals.ended, totals.transfers)
        line.count = "\(grouped(done)) of \(grouped(all)) \(Counted.verb(all, "file", "files"))"
        line.shortCount = "\(done)/\(all)"
        if !isLocal, totals.expectedBytes > 0 || totals.bytes > 0 {
            line.bytes = "\(ByteCount(totals.bytes))"
            if totals.expectedBytes > 0 {
                line.bytes += " of \(ByteCount(max(totals.expectedBytes, totals.bytes)))"
            }
        }
        line.share = share(done, all, isLocal: isLocal)
        if !isLocal, totals.unknownSizes > 0 {
            line.unknown = " + \(totals.unknownSizes) of unknown size"
        }
        // What was true when bytes came last is not true any more when none come.
        let isQuiet = board.heard.map { now.milliseconds - $0.milliseconds > 5000 } ?? true
        if !isQuiet, !isLocal, totals.rate > 0 { line.rate = "\(ByteCount(totals.rate))/s" }
        if board.failed > 0 { line.failed = style.warning("\(board.failed) failed") }
        if done == all {
            line.secondsLeft = 0
        } else if isLocal {
            line.secondsLeft = board.localSecondsLeft(at: now)
        } else if !isQuiet {
            line.secondsLeft = totals.secondsLeft
        }
        line.elapsed = style.faint(FrameLayout.clock(elapsed))
        return line
    }

    /// By bytes where all sizes are known, else by the number of files.
    private func share(_ done: Int, _ all: Int, isLocal: Bool) -> Double? {
        let totals = board.totals
        if !isLocal, totals.unknownSizes == 0, totals.expectedBytes > 0 {
            return min(1, Double(totals.bytes) / Double(totals.expectedBytes))
        }
        return all > 0 ? Double(done) / Double(all) : nil
    }

    private func total(of stage: StageProgress) -> TotalLine {
        var line = TotalLine()
        let activity = stage.activity
        line.count = stage.words
        line.shortCount = stage.words
        if let total = activity.total, total > 0 {
            line.count += ": \(grouped(activity.done)) of \(grouped(total))"
            line.shortCount = "\(activity.done)/\(total)"
        } else if activity.done > 0 {
            line.count += ": \(grouped(activity.done))"
        }
        line.share = stage.share
        if activity.bytes > 0 {
            let of = activity.totalBytes.map { " of \(ByteCount(max($0, activity.bytes)))" }
            line.bytes = "\(ByteCount(activity.bytes))\(of ?? "")"
        }
        line.rate = stage.rate.map { "\(ByteCount($0))/s" } ?? ""
        line.secondsLeft = stage.secondsLeft
        line.elapsed = style.faint(FrameLayout.clock(elapsed))
        return line
    }

    private func grouped(_ number: Int) -> String {
        let digits = Array("\(number)")
        var text = ""
        for (position, digit) in digits.enumerated() {
            if position > 0, (digits.count - position) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }

    /// Elapsed time: `0:07`, `1:02:03`.
    static func clock(_ seconds: Int64) -> String {
        let two = { (number: Int64) in number < 10 ? "0\(number)" : "\(number)" }
        let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60)
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(rest))" : "\(minutes):\(two(rest))"
    }
}
