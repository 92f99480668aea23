import MirrorKit

/// What a terminal shows of a command's progress, as a function of state, terminal and time.
///
/// Each transfer under way has a line that says what it is doing. Small files that end at once
/// share a line. The total comes last and is always there.
struct FrameLayout {
    var board = ProgressBoard()
    /// The work before and after the transfers. `nil` means that the transfers run.
    var stage: StageProgress?
    /// Whether the run has a rate limit, which may be why no byte comes.
    var isRateLimited = false
    /// Seconds since the command began.
    var elapsed: Int64 = 0
    var style = TextStyle()

    /// The most transfers that have lines.
    static let mostFlights = 16

    /// Returns the lines of a frame. No line takes the last column, where a terminal would wrap.
    ///
    /// One row stays free, because the cursor cannot return to the first line of a frame that fills
    /// the screen. If rows are missing, the first lines are dropped, and the total stays.
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
            lines.append(style.paint(note.clipped(toColumns: room), .warning))
        }
        lines.append(total(at: now).text(columns: room, style: style))
        return lines
    }

    /// Returns a line about small files that end at once: how many, how fast, and the last one.
    ///
    /// Returns nil if no such file has ended for 2 seconds.
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

    /// Returns a path, or the end of its folders and the beginning of its name if it is too long.
    private func name(_ path: String, columns: Int) -> String {
        let path = path.printable
        if DisplayWidth.of(path) <= columns { return path }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let left = columns - DisplayWidth.of(name) - 1
        if left < 1 { return name.clipped(toColumns: columns) }
        return String(path.dropLast(name.count + 1)).clippedAtStart(toColumns: left) + "/" + name
    }

    private func line(
        _ path: String, _ flight: ProgressBoard.Flight, _ room: Int, nameWidth: Int,
        _ now: Instant
    ) -> String {
        let name = name(path, columns: nameWidth).padded(toColumns: nameWidth)
        let left = room - nameWidth - 2
        if let words = words(for: flight, at: now) {
            let text = words.text.clipped(toColumns: left)
            return name + "  " + (words.isWarning ? style.paint(text, .warning) : style.faint(text))
        }
        return name + "  " + numbers(flight, columns: left)
    }

    /// Returns what a transfer is doing, in words. Returns nil while it receives bytes.
    private func words(
        for flight: ProgressBoard.Flight, at now: Instant
    ) -> (text: String, isWarning: Bool)? {
        if let seconds = flight.stalledSeconds(at: now) {
            if isRateLimited, board.isMoving(at: now) {
                return ("held back by --limit-rate", false)
            }
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
            return ("\(wait): \(cause.printable)\(tries)", true)
        }
    }

    /// Returns share, bytes, rate and time left, as far as there is room.
    ///
    /// The share is dropped last.
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
            isLocal
            ? (board.localEnded, board.localSteps)
            : (max(0, totals.ended - board.failed), totals.transfers)
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
        // After 5 seconds without an event, the last rate and time left are no longer true.
        let isQuiet = !board.isHeard(at: now)
        if !isQuiet, !isLocal, totals.rate > 0 { line.rate = "\(ByteCount(totals.rate))/s" }
        if board.failed > 0 { line.failed = style.paint("\(board.failed) failed", .failure) }
        if done == all || !isLocal && totals.ended == all {
            line.secondsLeft = 0
        } else if isLocal {
            line.secondsLeft = board.localSecondsLeft(at: now)
        } else if !isQuiet {
            line.secondsLeft = totals.secondsLeft
        }
        line.elapsed = style.faint(FrameLayout.clock(elapsed))
        return line
    }

    /// Returns the share that is done: by bytes if all sizes are known, else by number of files.
    ///
    /// Returns nil if there is nothing to do.
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

/// Progress for an output that cannot rewrite lines in place: a new line now and then.
extension FrameLayout {
    /// Returns the lines, which are not shortened to any width.
    func plainLines(now: Instant) -> [String] {
        guard let stage else { return [board.outage.line(at: now), plainTotal].compactMap { $0 } }
        var text = stage.words
        let activity = stage.activity
        if let total = activity.total, total > 0 {
            text += ": \(activity.done) of \(Counted(total, "file"))"
        }
        if activity.bytes > 0 {
            text += ", \(ByteCount(activity.bytes))"
            if let total = activity.totalBytes {
                text += " of \(ByteCount(max(total, activity.bytes)))"
            }
        }
        if let seconds = stage.secondsLeft, seconds > 0 {
            text += ", \(DurationText(seconds: seconds)) left"
        }
        return [text]
    }

    /// One line about all transfers: number, bytes, rate, time left.
    var plainTotal: String {
        let totals = board.totals
        var text = "\(totals.ended) of \(Counted(totals.transfers, "transfer"))"
        text += ", \(ByteCount(totals.bytes))"
        if totals.expectedBytes > 0 {
            text += " of \(ByteCount(max(totals.expectedBytes, totals.bytes)))"
            if totals.unknownSizes > 0 { text += " + \(totals.unknownSizes) of unknown size" }
        }
        if totals.failed > 0 { text += ", \(totals.failed) failed" }
        if totals.rate > 0 { text += ", \(ByteCount(totals.rate))/s" }
        if let seconds = totals.secondsLeft, seconds > 0 {
            text += ", \(DurationText(seconds: seconds)) left"
        }
        return text
    }
}

/// Work that is no transfer, such as reading the tree, with an estimate of the time left.
struct StageProgress: Sendable, Hashable {
    /// The name of the work, for people.
    var words: String
    /// How much of the work is done.
    var activity = Activity()
    /// Milliseconds since the work began.
    var milliseconds: Int64 = 0

    /// Bytes a second since the work began. `nil` in the first half second, and before any byte.
    var rate: Int64? { perSecond(activity.bytes) }

    /// Seconds until the work ends: by bytes if all are known, else by the number of files.
    ///
    /// `nil` means that the time cannot be estimated.
    var secondsLeft: Int64? {
        if let total = activity.totalBytes, total > 0 {
            return seconds(Double(total - activity.bytes), of: activity.bytes)
        }
        guard let total = activity.total, total > 0 else { return nil }
        return seconds(Double(total - activity.done), of: Int64(activity.done))
    }

    /// The share that is done, from 0 to 1. `nil` means that it is unknown.
    var share: Double? {
        if let total = activity.totalBytes, total > 0 {
            return min(1, Double(activity.bytes) / Double(total))
        }
        guard let total = activity.total, total > 0 else { return nil }
        return min(1, Double(activity.done) / Double(total))
    }

    private func perSecond(_ count: Int64) -> Int64? {
        guard milliseconds >= 500, count > 0 else { return nil }
        return Int64(Double(count) * 1000 / Double(milliseconds))
    }

    private func seconds(_ left: Double, of done: Int64) -> Int64? {
        guard milliseconds >= 500, done > 0 else { return nil }
        let rate = Double(done) / Double(milliseconds)
        return Int64((max(0, left) / rate / 1000).rounded(.up))
    }
}

/// Collects the hosts that do not respond, and says when they are tried again.
///
/// A host is forgotten once a transfer that waited for it makes progress, or ends.
struct OutageNote {
    /// For each transfer that waits, by path, the silent host and the end of the wait.
    private var waits: [String: (host: String, until: Instant)] = [:]

    /// Handles an event of the run.
    mutating func apply(_ event: Event) {
        switch event.body {
        case .retry(let again):
            waits[again.target.path] = nil
            guard again.wait > 0, again.cause.code.isSilence, let source = again.cause.source
            else { break }
            waits[again.target.path] = (
                OutageNote.host(of: source),
                Instant(milliseconds: event.time.milliseconds + again.wait)
            )
        case .progress(let progress): waits[progress.target.path] = nil
        case .done(let done): waits[done.target.path] = nil
        case .failed(let failed): waits[failed.target.path] = nil
        case .plan, .start, .restart, .paused, .resumed, .removed, .set, .warning, .summary:
            break
        }
    }

    /// Returns the line for a moment. Returns nil while all hosts respond.
    func line(at now: Instant) -> String? {
        guard let next = waits.values.map(\.until).min() else { return nil }
        let hosts = Counted(Set(waits.values.map(\.host)).count, "host")
        // The seconds are rounded up, because mirror does not try the host before the wait is over.
        let seconds = (next.milliseconds - now.milliseconds + 999) / 1000
        let then = seconds > 0 ? " in \(DurationText(seconds: seconds))" : ""
        return "no answer from \(hosts), trying again\(then)"
    }

    /// Returns the host and port of a URL that contains no secrets.
    private static func host(of source: String) -> String {
        let rest = source.firstRange(of: "://").map { source[$0.upperBound...] } ?? source[...]
        return String(rest.prefix { $0 != "/" })
    }
}

extension FailureCode {
    /// Whether the host sent no response.
    fileprivate var isSilence: Bool {
        switch self {
        case .nameNotResolved, .connectFailed, .connectionLost, .stalled: true
        default: false
        }
    }
}

/// The last line of a frame, which shows how far the command is.
///
/// If there is no room, the line drops details, but never the time left.
struct TotalLine {
    /// `count`: what is counted, such as `12 of 5,000 files`. `shortCount`: the same in short.
    var count = ""
    var shortCount = ""
    /// The share that is done, from 0 to 1. `nil` means that it is unknown.
    var share: Double?
    /// `bytes`: the bytes that have arrived. `unknown`: how many files have no known size.
    var bytes = ""
    var unknown = ""
    var rate = ""
    var failed = ""
    var elapsed = ""
    /// Seconds until the end. `nil` means that they are unknown.
    var secondsLeft: Int64?

    /// The details, in the order in which the line drops them if there is no room.
    private enum Detail: CaseIterable {
        case bar, unknown, elapsed, bytes, longCount, rate, failed, count, share
    }

    /// Returns the line in at most `columns` columns.
    func text(columns: Int, style: TextStyle) -> String {
        for shed in 0...Detail.allCases.count {
            let kept = Set(Detail.allCases.dropFirst(shed))
            let parts = parts(kept)
            let width = parts.reduce(0) { $0 + TerminalFrame.width(of: $1) } + 2 * (parts.count - 1)
            let room = columns - width
            guard room >= 0 else { continue }
            guard kept.contains(.bar), let share else {
                return parts.joined(separator: "  ")
            }
            guard room >= 12 else { continue }
            let bar = style.bar(share, columns: min(40, room - 2))
            return ([parts[0], bar] + parts.dropFirst()).joined(separator: "  ")
        }
        return left.clipped(toColumns: columns)
    }

    private func parts(_ kept: Set<Detail>) -> [String] {
        var parts: [String] = []
        if kept.contains(.count) { parts.append(kept.contains(.longCount) ? count : shortCount) }
        if kept.contains(.share), let share { parts.append("\(Int(share * 100)) %") }
        if kept.contains(.bytes) {
            parts.append(bytes + (kept.contains(.unknown) ? unknown : ""))
        }
        if kept.contains(.rate) { parts.append(rate) }
        if kept.contains(.failed) { parts.append(failed) }
        parts.append(left)
        if kept.contains(.elapsed) { parts.append(elapsed) }
        return parts.filter { !$0.isEmpty }
    }

    private var left: String {
        secondsLeft.map { "\(DurationText(seconds: $0)) left" } ?? "? left"
    }
}
