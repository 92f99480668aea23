import ArgumentParser
import Glibc
import MirrorKit
import Synchronization

/// Writes the log of a run. When the run has ended, starts programs and writes metrics.
///
/// A failure of this work is a note on standard error, not a failure of the run.
final class RunOperations: Sendable {
    private struct State {
        var log: EventLog?
        var changed: [String] = []
        var failed: [String] = []
        var failures: [FailureCode: Int] = [:]
        var run = ""
        /// Why the log could not be opened, if the run goes on without it; else nil.
        var refusal: String?
    }

    private let options: OperationOptions
    private let state: Mutex<State>

    /// Opens the log. Returns nil if no log, metrics or program is asked for.
    ///
    /// Throws `MirrorError` with `inputOutput`, and with `usage` for a log or metrics among the
    /// files of the root.
    ///
    /// - Parameter root: the root as the command names it.
    /// - Parameter needsLog: whether a log that cannot be opened is an error. A pipe is then waited
    ///   for until a program reads it. If false, the run goes on without the log.
    init?(_ options: OperationOptions, root: String?, needsLog: Bool) throws {
        if options.isEmpty { return nil }
        for path in [options.log, options.metrics].compactMap(\.self) {
            try refuseOwnFile(path, amongFilesOf: root)
        }
        self.options = options
        var state = State()
        if let path = options.log {
            do {
                state.log = EventLog(
                    path, format: options.logFormat,
                    descriptor: try EventLog.open(path, waitsForReader: needsLog))
            } catch {
                if needsLog { throw error }
                state.refusal = "\(CommandError(error).error.message) This sync is not in it."
            }
        }
        self.state = Mutex(state)
    }

    /// Opens the log again, because the file was moved away.
    ///
    /// If this fails, the old log stays in use. The caller does not wait, because the file may be
    /// on a server that is away.
    func reopenLogSoon() {
        guard let path = options.log else { return }
        Task.detached { [format = options.logFormat] in
            guard let opened = try? EventLog.open(path, waitsForReader: false) else { return }
            self.state.withLock { state in
                let log = EventLog(path, format: format, descriptor: opened)
                if state.log != nil { state.log = log }
            }
        }
    }

    /// Records an event of the run, also the summary.
    func note(_ event: Event) {
        state.withLock { state in
            state.run = event.run
            state.log?.note(event)
            switch event.body {
            case .done(let done) where done.outcome.isChange:
                state.changed.append(done.target.path)
            case .removed(let removed): state.changed.append(removed.target.path)
            case .failed(let failed):
                state.failed.append(failed.target.path)
                state.failures[failed.error.code, default: 0] += 1
            default: break
            }
        }
    }

    /// Writes the summary of a command that is cut short to the log.
    ///
    /// Does nothing if another thread is writing to the log, because waiting for a disk could take
    /// long.
    func note(last event: Event) { _ = state.withLockIfAvailable { $0.log?.note(event) } }

    /// Starts the programs that the end of a run calls for, and waits for them.
    ///
    /// Returns sentences about what failed.
    func startPrograms(_ summary: Summary, root: String) -> [String] {
        let state = state.withLock { ($0.changed, $0.failed, $0.run) }
        let (changed, failed, run) = state
        let environment = [
            "MIRROR_ROOT": root, "MIRROR_RUN": run, "MIRROR_EXIT": "\(summary.exit)",
        ]
        var notes: [String?] = []
        if !options.onChange.isEmpty, !changed.isEmpty {
            let hook = Hook(option: "--on-change", words: options.onChange)
            notes.append(hook.run(changed, environment: environment))
        }
        if !options.onFailure.isEmpty, summary.exit != 0 {
            let hook = Hook(option: "--on-failure", words: options.onFailure)
            notes.append(hook.run(failed, environment: environment))
        }
        return notes.compactMap(\.self)
    }

    /// Writes the metrics, and closes the log. Returns sentences about what failed.
    ///
    /// `due` counts the files that the next run asks about. After a signal `due` is not called,
    /// because there is no time.
    func conclude(_ summary: Summary, root: String, due: () async throws -> Int) async -> [String] {
        let state = state.withLock { state in
            defer { state.log = nil }
            return (failures: state.failures, log: state.log?.failure, refusal: state.refusal)
        }
        var notes = [state.refusal].compactMap(\.self)
        if let number = state.log, let path = options.log {
            notes.append("\(path): the log is incomplete: \(String(cString: strerror(number))).")
        }
        if let path = options.metrics {
            do {
                try write(
                    Metrics(
                        summary: summary, endedAt: .now,
                        failures: state.failures,
                        due: Interruption.exitCode == nil ? try? await due() : nil,
                        freeBytes: RunOperations.freeBytes(at: root)), to: path)
            } catch {
                notes.append("The metrics were not written: \(CommandError(error).error.message)")
            }
        }
        return notes
    }

    private func write(_ metrics: Metrics, to path: String) throws {
        var metrics = metrics
        let before = try? ReplacedFile.text(at: path)
        metrics.lastSuccess =
            metrics.summary.exit == 0
            ? metrics.endedAt.seconds : before.flatMap(Metrics.lastSuccess) ?? 0
        try ReplacedFile.write(Array(metrics.text.utf8), to: path)
    }

    private static func freeBytes(at root: String) -> Int64? {
        var status = statvfs()
        guard statvfs(root, &status) == 0 else { return nil }
        return Int64(
            clamping: UInt64(status.f_bavail).multipliedReportingOverflow(
                by: UInt64(status.f_frsize)
            ).partialValue)
    }
}

extension Outcome {
    /// Whether a file has other bytes or another name after this outcome.
    fileprivate var isChange: Bool {
        switch self {
        case .fetched, .resumed, .updated, .repaired, .copied, .moved, .conflict: true
        default: false
        }
    }
}

/// A run's log and metrics, and the programs that it starts at its end.
struct OperationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Append one line an event to this file.", valueName: "file"),
        completion: .file())
    var log: String?

    @Option(help: ArgumentHelp("How the log is written: logfmt or json.", valueName: "format"))
    var logFormat = LogFormat.logfmt

    @Option(
        help: ArgumentHelp(
            "Write the run's numbers for Prometheus's textfile collector to this file.",
            valueName: "file"), completion: .file())
    var metrics: String?

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Start this program when files changed, their paths on its standard input; repeat for its arguments.",
            valueName: "word"))
    var onChange: [String] = []

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Start this program when the exit code is not 0, the failed paths on its standard input; repeat for its arguments.",
            valueName: "word"))
    var onFailure: [String] = []

    /// Whether no log, metrics or program is asked for.
    var isEmpty: Bool { log == nil && metrics == nil && onChange.isEmpty && onFailure.isEmpty }
}

/// How a log's lines are written.
enum LogFormat: String, ExpressibleByArgument, CaseIterable {
    case logfmt, json
}
