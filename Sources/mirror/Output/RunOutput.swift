import MirrorKit
import MirrorModel

/// Shows a run while it goes: JSON lines for scripts, or a report with live progress for people.
struct RunOutput {
    let options: OutputOptions

    /// Consumes a run's events to the end and returns its summary.
    func show(_ events: some AsyncSequence<Event, any Error>) async throws -> Summary {
        var summary = Summary()
        guard options.json else { return try await report(events) }
        for try await event in events {
            var json = JSONWriter()
            event.write(to: &json)
            json.newline()
            Console.output.write(bytes: json.bytes)
            if case .summary(let last) = event.body { summary = last }
        }
        return summary
    }

    private func report(_ events: some AsyncSequence<Event, any Error>) async throws -> Summary {
        let level: TextReport.Level =
            options.quiet ? .quiet : options.verbose ? .verbose : .normal
        let report = TextReport(
            level: level,
            style: TextStyle(isColored: options.usesColor(on: .output)),
            errorStyle: TextStyle(isColored: options.usesColor(on: .error)))
        let display = LiveDisplay()
        let showsProgress = !options.noProgress && !options.quiet
        let drawing = Task { if showsProgress { await display.run() } }
        defer {
            drawing.cancel()
            display.end()
        }
        var summary = Summary()
        for try await event in events {
            display.apply(event)
            if let line = report.line(for: event) {
                display.print(line.text, on: line.isResult ? .output : .error)
            }
            if case .summary(let last) = event.body { summary = last }
        }
        return summary
    }
}
