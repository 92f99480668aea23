import ArgumentParser
import MirrorKit
import Synchronization

/// `mirror verify`: reads every file again and compares its bytes.
struct VerifyCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Read every file and compare.",
        discussion: """
            Exits 1 when a file is missing or has other bytes. With --repair such files are \
            fetched again; a file in Documents that was edited is kept beside the restored one \
            under a conflict name. What no manifest names cannot be restored: then it exits 1, too.

            EXAMPLES:
              mirror verify
              mirror verify --repair manifest.json
            """)

    @Argument(help: ManifestArguments.help, completion: .file()) var manifests: [String] = []

    @Flag(help: "Fetch again what differs.") var repair = false

    @OptionGroup var root: RootOptions
    @OptionGroup var shard: ShardOptions
    @OptionGroup(title: "How a list is read") var lists: ImportOptions
    @OptionGroup(title: "How servers are talked to") var network: NetworkOptions
    @OptionGroup(title: "Limits") var running: RunningOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        running.ending.watchDeadline()
        var configuration = running.configuration(network)
        try shard.apply(to: &configuration)
        let session = try root.session(configuration)
        let manifests = try await ManifestArguments(
            locations: manifests, isOffline: network.offline, lists: lists,
            isStrict: network.strict
        ).loadKnown(in: session)
        guard repair else {
            CommandStage.enter(.reading)
            return try show(try await session.verify(manifests))
        }
        let ends = Mutex(RepairEnds())
        // The lock comes first, so that the leftovers of an interrupted run are settled before the
        // files are read.
        var run = RunOutput(options: output)
        run.observer = { event in ends.withLock { $0.note(event) } }
        try await run.concluding { [run] in
            CommandStage.enter(.waitingForLock)
            try await session.withLock(
                waitingSeconds: running.ending.wait?.seconds ?? 0
            ) {
                CommandStage.enter(.reading)
                let report = try await session.verify(manifests)
                describe(report)
                guard !report.discrepancies.isEmpty else { return }
                try await restore(report, manifests, in: session, showing: run)
                let left = ends.withLock { $0.refusal(of: report.discrepancies) }
                if let left { throw left }
            }
        }
    }

    private func show(_ report: VerifyReport) throws {
        describe(report)
        if !report.discrepancies.isEmpty { throw ExitCode(1) }
    }

    private func restore(
        _ report: VerifyReport, _ manifests: [Manifest], in session: MirrorSession,
        showing run: RunOutput
    ) async throws {
        let differing = Set(report.discrepancies.map(\.target))
        var planning = PlanOptions()
        // Only files that differ are asked for: no other file is due, comes back or is removed. An
        // atomic manifest changes as a whole, so all its files are asked for.
        planning.asked = differing
        for manifest in manifests where manifest.isAtomic {
            let targets = manifest.resources.indices.map(manifest.resources.target)
            if !differing.isDisjoint(with: targets) { planning.asked.formUnion(targets) }
        }
        planning.refetch = Set(
            report.discrepancies.lazy.filter { $0.kind == .changed }.map(\.target))
        var options = try running.runOptions(network)
        options.followsPlanning = false
        options.reportsKept = false
        let plan = try await session.plan(manifests, options: planning)
        CommandStage.enter(.running)
        try await run.show(session.execute(plan, options: options))
    }
}

/// The files that a repair has restored.
private struct RepairEnds {
    private var repaired: Set<Target> = []
    private var isGood = false

    mutating func note(_ event: Event) {
        switch event.body {
        case .done(let done) where RepairEnds.isRepair(done.outcome): repaired.insert(done.target)
        case .summary(let summary): isGood = summary.exit == 0
        default: break
        }
    }

    private static func isRepair(_ outcome: Outcome) -> Bool {
        switch outcome {
        case .stale, .deferred, .evicted, .edited: false
        default: true
        }
    }

    /// Returns the error about files that still differ though the run ended well.
    ///
    /// Returns nil if there are no such files.
    func refusal(of discrepancies: [Discrepancy]) -> MirrorError? {
        let left = isGood ? discrepancies.filter { !repaired.contains($0.target) } : []
        guard let first = left.first else { return nil }
        let others = left.count > 1 ? ", and so do \(left.count - 1) more" : ""
        let cause =
            first.kind == .unreadable
            ? "it cannot be read" : "no given manifest names it, or it may not be fetched now"
        return MirrorError(
            .notRepaired,
            "\(first.target): still differs\(others): \(cause). mirror verify lists what differs.",
            target: first.target)
    }
}

extension VerifyCommand {
    /// Prints the report to standard output.
    private func describe(_ report: VerifyReport) {
        guard !output.json else {
            return Console.output.json { report.write(to: &$0) }
        }
        let style = TextStyle(isColored: output.usesColor(on: .output))
        var lines = LineBuffer()
        defer { lines.flush() }
        lines.line(TextReport.title(root: report.root, shard: report.shard))
        for difference in report.discrepancies {
            var text = style.label(difference.kind.rawValue, .failure)
            text += difference.target.path.printable
            if let expected = difference.expected, let actual = difference.actual {
                text += "  \(actual.algorithm.rawValue) is \(actual.hex), expected \(expected.hex)"
            }
            lines.line(text)
        }
        guard !output.quiet else { return }
        for conflict in report.conflicts {
            lines.line(
                style.label("conflict", .warning) + conflict.copy.path.printable
                    + style.faint("  (made room for \(conflict.target.path.printable))"))
        }
        let count = report.discrepancies.count
        let verdict =
            count == 0 ? "all as expected" : Counted(count, "difference").description
        lines.line(
            "\(Counted(report.files, "file")) read, \(ByteCount(report.bytes)): \(verdict).\(evicted(report))\(conflicts(report))"
        )
    }

    private func evicted(_ report: VerifyReport) -> String {
        report.evicted == 0 ? "" : " \(Counted(report.evicted, "file")) left out for lack of room."
    }

    private func conflicts(_ report: VerifyReport) -> String {
        let count = report.conflicts.count
        if count == 0 { return "" }
        return count == 1
            ? " 1 conflict copy waits for mirror resolve."
            : " \(count) conflict copies wait for mirror resolve."
    }
}
