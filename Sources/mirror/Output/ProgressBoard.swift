import MirrorModel

/// The current transfers, and the progress of the whole run: events in, lines out.
struct ProgressBoard {
    private struct Running {
        var bytes: Int64
        var size: Int64?
        var rate: Int64 = 0
        /// Bytes that were there before the run.
        var offset: Int64 = 0
        /// Whether the plan counts it among the transfers of unknown size, and its size is still
        /// unknown.
        var isOfUnknownSize = false
        /// The transfer's position in the order of beginning.
        var number = 0
    }

    private var running: [String: Running] = [:]
    private var begun = 0
    private var knownBytes: Int64 = 0
    private var unknownSizes = 0
    private var endedBytes: Int64 = 0
    private var ended = 0
    private var failed = 0
    private var transfers = 0
    private var outage = OutageNote()

    /// Whether any transfer is under way.
    var isActive: Bool { !running.isEmpty }

    /// Takes in an event of the run.
    mutating func apply(_ event: Event) {
        outage.apply(event)
        switch event.body {
        case .plan(let totals):
            knownBytes = totals.bytesToFetch
            unknownSizes = totals.unknownSizes
            transfers = totals.requests
        case .start(let start): begin(start)
        case .progress(let progress):
            guard var state = running[progress.target.path] else { break }
            state.bytes = progress.bytes
            state.size = progress.size
            state.rate = progress.rate
            if state.isOfUnknownSize, let size = progress.size {
                learn(size - state.offset)
                state.isOfUnknownSize = false
            }
            running[progress.target.path] = state
        case .restart(let again):
            guard var state = running[again.target.path] else { break }
            // The bytes that were there no longer count, and are to be fetched as well.
            knownBytes += state.offset
            (state.bytes, state.offset, state.rate) = (0, 0, 0)
            running[again.target.path] = state
        case .done(let done):
            if let state = running[done.target.path] {
                ended += 1
                if state.isOfUnknownSize { learn(done.bytesReceived) }
            }
            endedBytes += done.bytesReceived
            running[done.target.path] = nil
        case .failed(let failure):
            failed += 1
            if running[failure.target.path]?.isOfUnknownSize == true { learn(0) }
            running[failure.target.path] = nil
        case .retry, .removed, .summary: break
        }
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

    /// One line about the whole: files, bytes, rate, time left.
    var total: String {
        let now = running.values.reduce(into: (bytes: Int64(0), rate: Int64(0))) {
            $0.bytes += $1.bytes - $1.offset
            $0.rate += $1.rate
        }
        let bytes = endedBytes + now.bytes
        var text = "\(ended) of \(Counted(transfers, "transfer")), \(ByteCount(bytes))"
        if knownBytes > 0 {
            text += " of \(ByteCount(max(knownBytes, bytes)))"
            if unknownSizes > 0 { text += " + \(unknownSizes) of unknown size" }
        }
        if failed > 0 { text += ", \(failed) failed" }
        if now.rate > 0 {
            text += ", \(ByteCount(now.rate))/s"
            if knownBytes > bytes {
                text += ", \(DurationText(seconds: (knownBytes - bytes) / now.rate)) left"
            }
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

    private mutating func begin(_ start: Event.Start) {
        // A response to a conditional request most often has no body, so the plan expects none.
        let isExpected = start.step != .revalidate && start.step != .edited
        running[start.target.path] = Running(
            bytes: start.offset, size: start.size, offset: start.offset,
            isOfUnknownSize: start.size == nil && isExpected && start.source != nil,
            number: begun)
        begun += 1
    }

    /// Enters the number of bytes that a transfer of unknown size turned out to bring.
    private mutating func learn(_ bytes: Int64) {
        knownBytes += bytes
        unknownSizes = max(0, unknownSizes - 1)
    }
}
