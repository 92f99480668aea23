import ArgumentParser
import MirrorKit
import MirrorModel

/// Shows a run while it goes: JSON lines for scripts, or a report with live progress for people.
struct RunOutput {
    /// How many failures people are shown one by one.
    static let mostFailures = 50

    let options: OutputOptions

    /// Shows a run's events to the end and returns its summary; a signal ends the run early.
    func show(_ run: Run) async throws -> Summary {
        // A task of its own: a cancelled task would stop reading before the summary.
        let reader = Task { try await read(run) }
        return try await withTaskCancellationHandler {
            try await reader.value
        } onCancel: {
            run.cancel(exit: Interruption.exitCode ?? 130)
        }
    }

    /// Ends the command with the exit code of a run.
    func exit(after summary: Summary) throws {
        if let code = Interruption.exitCode { throw ExitCode(code) }
        if summary.exit != 0 { throw ExitCode(summary.exit) }
    }

    /// The first line of a report: which root it is about.
    func announce(root: String) {
        if !options.json, !options.quiet { Console.output.line("root \(root.printable)") }
    }

    /// A sentence about something that is not as it should be and does not end the run.
    func note(_ text: String) {
        if !options.quiet { Console.error.line("mirror: note: \(text.printable)") }
    }

    /// Lets a command fail before its run begins; under `--json` there is a summary all the same.
    func reportingFailure(
        opening open: () throws -> MirrorSession, _ body: (MirrorSession) async throws -> Void
    ) async throws {
        var root = ""
        do {
            let session = try open()
            root = session.root
            Interruption.setLastWords { [options, root] in
                RunOutput(options: options).breakOff(exit: $0, root: root)
            }
            try await body(session)
            Interruption.setLastWords(nil)
        } catch {
            Interruption.setLastWords(nil)
            if options.json, !(error is ExitCode) {
                print(json: .failure(CommandFailure(error).error, root: root))
            }
            throw error
        }
    }

    private func read(_ run: Run) async throws -> Summary {
        var summary: Summary?
        do {
            try await read(run, into: &summary)
        } catch {
            // What ended the run is in its summary; it is thrown only where there is none.
            guard let summary else { throw error }
            Console.error.line(CommandFailure(error).text)
            return summary
        }
        return summary ?? Summary()
    }

    private func read(_ run: Run, into summary: inout Summary?) async throws {
        guard options.json else { return try await report(run, into: &summary) }
        for try await event in run {
            print(json: event)
            if case .summary(let last) = event.body { summary = last }
        }
    }

    /// The process ends before the run has: a summary without numbers is the last line.
    private func breakOff(exit: Int32, root: String) {
        let error = MirrorError(
            .cancelled, "Interrupted while a step took its time. Run again to go on.")
        guard options.json else {
            return Console.error.write(last: Array("mirror: \(error.message)\n".utf8))
        }
        Console.output.write(last: RunOutput.line(.failure(error, root: root, exit: exit)))
    }

    private func print(json event: Event) {
        if case .summary = event.body { Interruption.setLastWords(nil) }
        Console.output.write(bytes: RunOutput.line(event))
    }

    private static func line(_ event: Event) -> [UInt8] {
        var json = JSONWriter()
        event.write(to: &json)
        json.newline()
        return json.bytes
    }

    private func report(_ run: Run, into summary: inout Summary?) async throws {
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
        var failures = 0
        for try await event in run {
            display.apply(event)
            if case .failed = event.body { failures += 1 }
            if case .summary = event.body, failures > RunOutput.mostFailures {
                let more = failures - RunOutput.mostFailures
                display.print("and \(more) more failed; --json names them all", on: .error)
            }
            if case .failed = event.body, failures > RunOutput.mostFailures { continue }
            if let line = report.line(for: event) {
                display.print(line.text, on: line.isResult ? .output : .error)
            }
            if case .summary(let last) = event.body { summary = last }
        }
    }
}
