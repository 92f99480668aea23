import MirrorModel

/// The current transfers, and the progress of the whole run: events in, lines out.
struct ProgressBoard {
    private struct Running {
        var bytes: Int64
        var size: Int64?
        var rate: Int64 = 0
        /// The transfer's position in the order of beginning.
        var number = 0
    }

    private var running: [String: Running] = [:]
    private var begun = 0
    private var totals = RunTotals()
    private var outage = OutageNote()

    /// Whether any transfer is under way.
    var isActive: Bool { !running.isEmpty }

    /// Takes in an event of the run.
    mutating func apply(_ event: Event) {
        outage.apply(event)
        totals = event.totals
        switch event.body {
        case .start(let start):
            running[start.target.path] = Running(
                bytes: start.offset, size: start.size, number: begin())
        case .progress(let progress):
            // Whoever begins to look while a run is under way has not seen how its transfers began.
            var transfer = running[progress.target.path] ?? Running(bytes: 0, number: begin())
            transfer.bytes = progress.bytes
            transfer.size = progress.size
            transfer.rate = progress.rate
            running[progress.target.path] = transfer
        case .restart(let again):
            running[again.target.path]?.bytes = 0
            running[again.target.path]?.rate = 0
        case .done(let done): running[done.target.path] = nil
        case .failed(let failure): running[failure.target.path] = nil
        case .plan, .retry, .removed, .summary: break
        }
    }

    private mutating func begin() -> Int {
        begun += 1
        return begun
    }

    /// The lines for a terminal of this width, the total last.
    func lines(columns: Int, rows: Int, now: Instant) -> [String] {
        let shown = running.sorted { $0.value.number < $1.value.number }
            .prefix(max(1, min(rows - 3, 16)))
        var lines = shown.map { line($0.key, $0.value, columns: columns) }
        let more = running.count - shown.count
        if more > 0 { lines.append("… and \(more) more") }
        if let note = outage.line(at: now) { lines.append(note) }
        lines.append(total)
        return lines.map { clipped($0, to: columns - 1) }
    }

    /// The lines for an output that rewrites nothing in place.
    func plainLines(now: Instant) -> [String] { [outage.line(at: now), total].compactMap { $0 } }

    /// One line about the whole: transfers, bytes, rate, time left.
    var total: String {
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

    private func line(_ path: String, _ running: Running, columns: Int) -> String {
        var numbers = "\(ByteCount(running.bytes))"
        if let size = running.size {
            let share = size > 0 ? Double(running.bytes) / Double(size) : 1
            numbers += " of \(ByteCount(size))  \(Int(min(1, share) * 100)) %"
        }
        if running.rate > 0 { numbers += "  \(ByteCount(running.rate))/s" }
        let room = max(12, columns - numbers.count - 4)
        let name = path.printable
        let shown = name.count > room ? "…" + name.suffix(room - 1) : name
        let padding = String(repeating: " ", count: max(2, room + 2 - shown.count))
        return shown + padding + numbers
    }

    private func clipped(_ line: String, to columns: Int) -> String {
        line.count > columns ? line.prefix(max(1, columns - 1)) + "…" : line
    }
}
