import ArgumentParser
import MirrorKit
import Synchronization

/// Shows a run under way: JSON lines for scripts, or a report with live progress for people.
struct RunOutput {
    /// The most failures that are shown to people one by one.
    static let mostFailures = 50

    let options: any OutputChoices
    /// The log, the metrics and the hooks. `nil` means that none was requested.
    var operations: RunOperations?
    /// Lets other processes follow and steer the run. `nil` means that they cannot.
    var responder: ControlResponder?
    /// Whether standard output has results other than the report.
    var hasOtherResults = false
    /// Receives every event. `nil` means that there is no receiver.
    var observer: (@Sendable (Event) -> Void)?
    private let held = HeldSummary()

    /// Shows every event of a run except the summary, which `concluding` shows.
    ///
    /// A signal ends the run early.
    func show(_ run: Run) async throws {
        held.await(run)
        // A cancelled task would stop reading before the summary, so another task reads the run.
        let reader = Task { try await read(run) }
        try await withTaskCancellationHandler {
            try await reader.value
        } onCancel: {
            // At the deadline, the run ends by itself and reports this.
            if Interruption.deadlineError == nil {
                run.cancel(exit: Interruption.exitCode ?? 130)
            }
        }
    }

    /// Calls `body`, which shows a run, then prints the summary and throws the exit code.
    ///
    /// `body` also closes the index and frees the lock. The summary comes after `body` and includes
    /// its failures.
    ///
    /// - Parameter due: how many files the next run asks about, for the metrics.
    func concluding(
        due: () async throws -> Int = { 0 }, _ body: () async throws -> Void
    ) async throws {
        var late: (any Error)?
        do { try await body() } catch { late = error }
        guard var end = held.take() else {
            if let late { throw late }
            return
        }
        if let late { end.enter(late: late) }
        if let code = Interruption.exitCode { end.summary.exit = code }
        LiveDisplay.shared.end()
        // If the process ends while the programs work, its final lines have the run's numbers too.
        held.keep(end)
        if startPrograms(end.summary) { end.enter(late: CancellationError()) }
        guard held.take() != nil else { return }
        if let code = Interruption.exitCode { end.summary.exit = code }
        end.summary.seconds = MirrorCommand.seconds
        Interruption.setLastWords(nil)
        if options.json {
            Console.output.write(bytes: RunOutput.line(end.event))
        } else if let line = textReport.line(for: end.event) {
            Console.output.wrappedLine(line.text)
            if Console.output.isTerminal, let saved = end.summary.saved {
                Console.output.line(saved)
            }
            if let next = end.summary.wayOutOfConflicts { Console.output.line(next) }
        }
        if let line = lastLine(of: end) { Console.error.wrappedLine(line) }
        operations?.note(end.event)
        // The summary has reported the exit code, so the deadline no longer counts. Only metrics
        // follow.
        if Interruption.deadlineError == nil { Interruption.setDeadline(seconds: nil) }
        await conclude(end.summary, due: due)
        if end.summary.exit != 0 { throw ExitCode(end.summary.exit) }
    }

    /// Plans under the lock, executes the plan and concludes, for each verb that makes a run.
    ///
    /// - Parameters:
    ///   - due: how many files the next run asks about, for the metrics.
    ///   - announce: prints the first line of the report, once the lock is held. `nil` means that
    ///     the report has no such line, and no notes about the root.
    ///   - execute: shows the run of the plan.
    func carryOut(
        _ manifests: [Manifest], _ planning: PlanOptions, waiting: DurationText?,
        in session: MirrorSession, due: () async throws -> Int = { 0 },
        announce: (() -> Void)? = nil, _ execute: (Plan) async throws -> Void
    ) async throws {
        try await concluding(due: due) {
            CommandStage.enter(.waitingForLock)
            LiveDisplay.shared.note(isRateLimited: session.configuration.limitRate != nil)
            var announce = announce
            try await session.withPlan(
                of: manifests, options: planning, waitingSeconds: waiting?.seconds ?? 0
            ) {
                CommandStage.enter(.lookingAtTree)
                guard let first = announce else { return }
                for notice in await session.notices() { note(notice) }
                first()
                // The lock is taken again for a damaged index.
                announce = {}
            } _: { plan in
                try await execute(plan)
            }
        }
    }

    /// Starts the programs for the end of a run.
    ///
    /// Returns true if a signal or the deadline ended the command while they worked.
    private func startPrograms(_ summary: Summary) -> Bool {
        guard let operations else { return false }
        let wasEnding = Interruption.endsCommand
        CommandStage.enter(.startingPrograms)
        for text in operations.startPrograms(summary, root: summary.root) {
            Console.error.line("mirror: note: \(text.printable)")
        }
        return !wasEnding && Interruption.endsCommand
    }

    /// Writes the metrics and closes the log. Prints notes about what failed.
    private func conclude(_ summary: Summary, due: () async throws -> Int) async {
        guard let operations else { return }
        for text in await operations.conclude(summary, root: summary.root, due: due) {
            Console.error.line("mirror: note: \(text.printable)")
        }
    }

    /// Returns the line after the report: the error that ended the run.
    ///
    /// Returns nil if no error ended the run, or if the line of a resource reported the error.
    private func lastLine(of end: HeldSummary.End) -> String? {
        guard let failure = end.failure else { return nil }
        guard let error = failure as? MirrorError else { return CommandError(failure).text }
        if error.code == .cancelled, Interruption.exitCode != nil { return error.message }
        if held.hasTold(error) { return nil }
        return "mirror: error: \(error.sentence.printable)"
    }

    /// Shows a plan without work, for a root in which no run can begin.
    func show(kept plan: Plan) {
        var summary = Summary()
        summary.root = plan.root
        summary.resources = plan.steps.count
        summary[.kept] = plan.steps.count
        summary.seconds = MirrorCommand.seconds
        let event = Event.standingAlone(summary)
        observer?(event)
        if options.json { Console.output.write(bytes: RunOutput.line(event)) }
    }

    /// Prints the first line of a report, which names the root and the shard.
    func announce(_ session: MirrorSession) {
        if options.json || options.quiet { return }
        Console.output.line(TextReport.title(root: session.root, shard: session.shardName))
    }

    /// Prints a note about a problem that does not end the run.
    func note(_ text: String) {
        if !options.quiet { Console.error.line("mirror: note: \(text.printable)") }
    }

    /// Reports that the settings or the environment make a command line invalid.
    ///
    /// Returns the exit code.
    static func refuse(_ words: [String], because error: any Error) -> Int32 {
        let failure = CommandError(error)
        return refuse(words, failure.error, text: failure.text)
    }

    /// Reports the error of a command line before its options are known. Returns the exit code.
    ///
    /// With `--json`, a summary has the error. `text` is for people.
    static func refuse(_ words: [String], _ error: MirrorError, text: String) -> Int32 {
        let options = words.prefix { $0 != "--" }
        if options.contains("--json"), let verb = words.first, verbsWithEvents.contains(verb) {
            let event = Event.failure(
                error, root: EffectiveWords.root(in: words) ?? "", exit: nil,
                seconds: MirrorCommand.seconds)
            Console.output.write(bytes: line(event))
        }
        Console.error.line(text)
        return CommandError(error).exitCode
    }

    private static let verbsWithEvents: Set<String> = ["sync", "get", "prune", "watch"]

    /// Opens the log and the other operations that the options ask for.
    ///
    /// A file that cannot be opened is reported like every failure before the run begins. A log
    /// without `needsLog` is no such failure. Returns nil if the options ask for none.
    func operations(
        of options: OperationOptions, root: RootOptions, needsLog: Bool = true
    ) async throws -> RunOperations? {
        var operations: RunOperations?
        var failure: (any Error)?
        do {
            operations = try RunOperations(options, root: root.root, needsLog: needsLog)
        } catch { failure = error }
        if let failure { try await reportingFailure(opening: { throw failure }, { _ in }) }
        return operations
    }

    /// Calls `body`, and reports a failure before the run begins.
    ///
    /// With `--json`, the report is a summary.
    func reportingFailure(
        opening open: () throws -> MirrorSession, _ body: (MirrorSession) async throws -> Void
    ) async throws {
        var root = ""
        var shard: String?
        do {
            let session = try open()
            (root, shard) = (session.root, session.shardName)
            Interruption.setLastWords { [root, shard] in
                breakOff($0, exit: $1, root: root, shard: shard)
            }
            try await body(session)
            Interruption.setLastWords(nil)
        } catch {
            if error is ExitCode {
                Interruption.setLastWords(nil)
                throw error
            }
            let first = RunOutput.summary(of: CommandError(error), root: root)
            let end: any Error = startPrograms(first) ? CancellationError() : error
            Interruption.setLastWords(nil)
            let failure = CommandError(end)
            // A signal's exit code takes precedence over the error's.
            let event = Event.failure(
                failure.error, root: root, shard: shard, exit: Interruption.exitCode,
                seconds: MirrorCommand.seconds)
            if options.json { Console.output.write(bytes: RunOutput.line(event)) }
            operations?.note(event)
            await conclude(RunOutput.summary(of: failure, root: root)) { throw end }
            throw end
        }
    }

    private static func summary(of failure: CommandError, root: String) -> Summary {
        var summary = Summary()
        (summary.root, summary.error) = (root, failure.error)
        (summary.exit, summary.seconds) = (failure.exitCode, MirrorCommand.seconds)
        return summary
    }

    private func read(_ run: Run) async throws {
        do {
            if options.json { try await tell(run) } else { try await report(run) }
        } catch {
            // The summary has the error, so it is rethrown only if there is no summary.
            if !held.keep(error) { throw error }
        }
    }

    private func tell(_ run: Run) async throws {
        var reader = run.makeAsyncIterator()
        var progress = ProgressLimit()
        while let events = try await reader.nextEvents() {
            for event in events {
                note(event)
                if held.keep(event) { continue }
                if case .progress = event.body {
                    if options.noProgress || !progress.admits(eventAt: event.time) { continue }
                }
                Console.output.write(bytes: RunOutput.line(event))
            }
        }
    }

    /// Passes an event to the log, to the processes that follow the run, and to the observer.
    ///
    /// The log gets the summary later, when the summary is complete.
    private func note(_ event: Event) {
        if case .summary = event.body {} else { operations?.note(event) }
        responder?.note(event)
        observer?(event)
    }

    /// Prints the final lines of a process that ends before its run has been concluded.
    ///
    /// The summary is the last line. It has no numbers if the run has none yet.
    private func breakOff(_ error: MirrorError, exit: Int32, root: String, shard: String?) {
        var end = held.takeEarly()
        let error = end?.summary.error ?? error
        let isInterrupted = error.code == .cancelled
        if isInterrupted || !options.json {
            let prefix = isInterrupted ? "" : "mirror: error: "
            Console.error.write(last: Array("\(prefix)\(error.sentence)\n".utf8))
        }
        end?.summary.exit = exit
        end?.summary.seconds = MirrorCommand.seconds
        let event =
            end?.event
            ?? .failure(
                error, root: root, shard: shard, exit: exit, seconds: MirrorCommand.seconds)
        operations?.note(last: event)
        if options.json { Console.output.write(last: RunOutput.line(event)) }
    }

    private static func line(_ event: Event) -> [UInt8] {
        var json = JSONWriter()
        event.worded.write(to: &json)
        json.newline()
        return json.bytes
    }

    private var textReport: TextReport {
        let isQuiet = options.quiet || hasOtherResults
        return TextReport(
            isQuiet: isQuiet, isVerbose: options.verbose && !isQuiet,
            style: TextStyle(isColored: options.usesColor(on: .output)),
            errorStyle: TextStyle(isColored: options.usesColor(on: .error)),
            clock: .ofThisProcess(now: .now))
    }

    private func report(_ run: Run) async throws {
        let report = textReport
        let isLive = LiveDisplay.shared.isShowing
        var terminal = TerminalReport(
            groupsFailures: isLive,
            countsSuccess: isLive && Console.output.isTerminal && !options.verbose)
        // The error of a run may be thrown before its summary comes, so failures are printed here.
        defer { for line in terminal.end(report.errorStyle) { Console.error.wrappedLine(line) } }
        var reader = run.makeAsyncIterator()
        while let events = try await reader.nextEvents() {
            for event in events {
                note(event)
                LiveDisplay.shared.apply(event)
                show(event, in: report, &terminal, isLive: isLive)
            }
        }
    }

    private func show(
        _ event: Event, in report: TextReport, _ terminal: inout TerminalReport, isLive: Bool
    ) {
        if let because = report.deferral(in: event), terminal.deferrals.insert(because).inserted {
            Console.error.line("mirror: note: deferred: \(because)")
        }
        if let target = report.paused(in: event) { terminal.hold(target) }
        terminal.roomAdvice = terminal.roomAdvice ?? report.roomAdvice(in: event)
        if held.keep(event) {
            for line in report.lines(counted: terminal) { Console.output.wrappedLine(line) }
            let more = terminal.failed - RunOutput.mostFailures
            if more > 0, !isLive {
                Console.error.line("and \(more) more failed; --json names them all")
            }
            return
        }
        if case .failed(let failed) = event.body {
            terminal.failed += 1
            held.note(told: failed.error)
            if !isLive, terminal.failed > RunOutput.mostFailures { return }
        }
        if case .done(let done) = event.body, report.counts(done) {
            return terminal.count(done)
        }
        if terminal.absorbs(event) { return }
        if let line = report.line(for: event) {
            (line.isResult ? Console.output : .error).wrappedLine(line.text)
        }
    }
}

/// Limits the `progress` events of a JSON report to ten a second, whatever the run's size.
struct ProgressLimit {
    private static let most = 10
    /// The second of the last event, and how many events of it were admitted.
    private var second: Int64 = .min
    private var count = 0

    /// Whether an event of this time is reported.
    mutating func admits(eventAt time: Instant) -> Bool {
        if time.seconds != second { (second, count) = (time.seconds, 0) }
        count += 1
        return count <= Self.most
    }
}

/// The summary of a run until it is shown. Failures after the run are still added to it.
///
/// The summary is taken once. The command takes it at its end, or the final lines of an interrupted
/// command take it.
final class HeldSummary: Sendable {
    /// The last event of a run, and the error that ended the run early.
    struct End: Sendable {
        var event: Event
        var failure: (any Error)?

        /// The run's numbers and its exit code.
        var summary: Summary {
            get { if case .summary(let summary) = event.body { summary } else { Summary() } }
            set { event.body = .summary(newValue) }
        }

        /// Adds an error from after the run; only the first error is reported.
        mutating func enter(late error: any Error) {
            if failure == nil { failure = error }
            summary.enter(late: CommandError(error).error)
        }
    }

    private let end = Mutex<End?>(nil)
    private let told = Mutex<String?>(nil)
    private let run = Mutex<Run?>(nil)

    /// Sets the run from which `takeEarly` reads the summary.
    func await(_ run: Run) { self.run.withLock { $0 = run } }

    /// Returns the known end of the run, for a command that no longer waits for the summary.
    ///
    /// Returns nil if nothing is known of the end.
    func takeEarly() -> End? {
        take() ?? run.withLock { $0 }?.earlySummary.map { End(event: $0) }
    }

    /// Notes that a resource's line reports the error that ended the run.
    func note(told error: MirrorError) {
        if error.code.endsRun { told.withLock { $0 = $0 ?? error.message } }
    }

    /// Whether a resource's line has reported this error.
    func hasTold(_ error: MirrorError) -> Bool { told.withLock { $0 == error.message } }

    /// Keeps a summary. Returns false for any other event.
    func keep(_ event: Event) -> Bool {
        guard case .summary = event.body else { return false }
        end.withLock { $0 = End(event: event) }
        return true
    }

    /// Keeps the end of a run again that was taken.
    func keep(_ end: End) { self.end.withLock { $0 = end } }

    /// Keeps the error that ended the run. Returns false if there is no summary to add it to.
    func keep(_ failure: any Error) -> Bool {
        end.withLock {
            $0?.failure = failure
            return $0 != nil
        }
    }

    /// Returns the end of the run and forgets it. Returns nil if there is none.
    func take() -> End? { end.withLock { $0.take() } }
}
