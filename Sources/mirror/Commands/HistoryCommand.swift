import ArgumentParser
import MirrorKit

/// `mirror history`: lists the last runs.
struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List the last runs.",
        discussion: """
            The index remembers the last 100 runs that had something to do; a run that finds \
            everything in place leaves no trace. A run without an end is under way, or was killed. \
            `mirror why TARGET` says what those runs decided about one file.

            EXAMPLES:
              mirror history
              mirror history --last 5
              mirror history --json | jq -r '.runs[] | select(.exit != 0) | .started'
            """)

    @Option(help: ArgumentHelp("How many runs.", valueName: "n")) var last = 30

    @OptionGroup var root: RootOptions
    @OptionGroup var shard: ShardOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func validate() throws {
        guard last > 0 else { throw ValidationError("--last takes a whole number of at least 1.") }
    }

    func run() async throws {
        var configuration = Configuration()
        try shard.apply(to: &configuration)
        let session = try root.session(configuration)
        let runs = try await session.history.runs(limit: last)
        show(runs, of: session)
    }
}

/// `mirror why`: what the last runs decided about a target, and what a run now would do.
struct WhyCommand: AsyncParsableCommand, ShowsProgress {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Say why a file is as it is.",
        discussion: """
            Asks no server. The last 30 runs that had something to do keep what they decided, in \
            .mirror/runs. A run that kept the file as it was decided nothing about it.

            EXAMPLES:
              mirror why Documents/world.pmtiles
              mirror why Caches/tiles.bin --json | jq .now
            """)

    @Argument(help: ArgumentHelp("The file's path in the tree.", valueName: "target"))
    var target: Target

    @OptionGroup var root: RootOptions
    @OptionGroup(title: "When a run may fetch") var when: PermissionOptions
    @OptionGroup(title: "What is kept") var storage: StorageOptions
    @Option(help: .minFree) var minFree = ByteCount(64 << 20)
    @OptionGroup var network: NoNetworkOptions
    @OptionGroup(title: "Output") var output: ListOptions

    func run() async throws {
        var configuration = Configuration()
        configuration.minFree = minFree.bytes
        let session = try root.session(configuration)
        let decisions = try await session.history.decisions(about: target)
        let manifests = try await ManifestArguments(locations: []).look(in: session)
        var options = PlanOptions()
        storage.apply(to: &options)
        CommandStage.enter(.lookingAtTree)
        let plan = try await session.plan(manifests, options: options)
        LiveDisplay.shared.end()
        let now = plan.steps.position(of: target).map(plan.shownStep)
        if now == nil, let manifest = manifests.first(where: { $0.leavesOut(target) }) {
            throw MirrorError(
                .usage,
                "\(target): the selection of \(manifest.owner) leaves it out: \(manifest.selection). mirror get \(target) brings it; mirror sync --all ends the selection."
            )
        }
        if now == nil, decisions.isEmpty {
            throw MirrorError(
                .usage,
                NearestName.sentence(
                    target: target, among: plan.steps.indices.lazy.map(plan.steps.target(at:))))
        }
        let paused = try session.pausedTargets()
        let permission = try await PermissionStatus(of: when.permission, in: session)
        let mayWait = now.map { $0.needsNetwork && plan.resource(of: $0)?.isUrgent != true }
        let deferral =
            now?.needsNetwork == true && paused.contains(target)
            ? .paused : mayWait == true ? permission?.deferral : nil
        if output.json {
            document(decisions, now, deferral)
        } else {
            show(
                decisions, now, deferral, paused, root: session.root,
                clock: .ofThisProcess(now: plan.now))
        }
    }
}

extension HistoryCommand {
    /// Prints the runs: a JSON document for scripts, or a line a run for people.
    private func show(_ runs: [PastRun], of session: MirrorSession) {
        guard !output.json else {
            return Console.output.document { json in
                json.array("runs", runs) { run, json in run.write(to: &json) }
            }
        }
        let style = TextStyle(isColored: output.usesColor(on: .output))
        let clock = LocalClock.ofThisProcess(now: .now)
        var lines = LineBuffer()
        defer { lines.flush() }
        lines.line(TextReport.title(root: session.root, shard: session.shardName))
        for run in runs where !output.quiet || run.summary?.exit != 0 {
            lines.line(line(run, style, clock))
        }
        if runs.isEmpty, !output.quiet {
            lines.line("No run had anything to do here yet.")
        }
    }

    private func line(_ run: PastRun, _ style: TextStyle, _ clock: LocalClock) -> String {
        let time = clock.time(of: run.startedAt)
        guard let summary = run.summary else {
            return style.label("no end", .warning) + time
                + style.faint("  (under way, or killed)")
        }
        let label =
            summary.exit == 0
            ? style.label("exit 0", .good) : style.label("exit \(summary.exit)", .failure)
        var facts = summary.deeds
        let received = summary.bytesReceived
        if received > 0 { facts.append("\(ByteCount(received)) received") }
        facts.append(TextReport.seconds(summary.seconds))
        if let shard = summary.shard { facts.insert("shard \(shard)", at: 0) }
        var text = label + time + "  " + facts.joined(separator: ", ")
        if let error = summary.error { text += style.faint("  (\(error.message.printable))") }
        return text
    }
}

extension Summary {
    /// The outcomes of a run with their numbers, such as `3 fetched`. Kept files are left out.
    var deeds: [String] {
        var deeds = Outcome.allCases.compactMap { outcome in
            self[outcome] > 0 && outcome != .kept ? "\(self[outcome]) \(outcome.word)" : nil
        }
        if removed > 0 { deeds.append("\(removed) removed") }
        return deeds
    }
}

/// What runs decided about a target, and what a run now would do with it.
extension WhyCommand {
    /// Prints the decisions for people, the newest first, after what a run now would do.
    ///
    /// - Parameter deferral: why a run now would defer the fetch of the step. `nil` means that it
    ///   would fetch.
    private func show(
        _ decisions: [(run: PastRun, decision: PastDecision)], _ step: Step?,
        _ deferral: Deferral?, _ paused: PausedTargets, root: String, clock: LocalClock
    ) {
        let style = TextStyle(isColored: output.usesColor(on: .output))
        var lines = LineBuffer()
        defer { lines.flush() }
        lines.line("root \(root.printable)")
        lines.line(target.path.printable)
        if let step {
            let because = step.reason.because(on: clock).printable
            let word = step.reason.isNoRoom ? Outcome.noRoom.word : step.kind.rawValue
            lines.line("  now: \(word), because: \(because)")
            if let deferral, deferral != .paused {
                let because = Reason.deferred(deferral).because(on: clock)
                lines.line("  but deferred, because: \(because.printable)")
            }
        } else {
            lines.line("  now: no manifest wants it")
        }
        if paused.all {
            lines.line("  \(TreeTotals.allPaused)")
        } else if paused.contains(target) {
            lines.line("  paused; mirror resume \(target.path.shellWord) lets it come")
        }
        for (run, decision) in decisions {
            for text in paragraph(decision, clock.time(of: run.startedAt), style) {
                lines.line("  " + text)
            }
        }
        if decisions.isEmpty { lines.line("  No run decided anything about it yet.") }
    }

    private func paragraph(
        _ decision: PastDecision, _ time: String, _ style: TextStyle
    ) -> [String] {
        let end = decision.outcome?.word ?? (decision.error == nil ? "removed" : "failed")
        var first = "\(time): \(decision.step.rawValue), \(end)"
        if decision.bytesReceived > 0 { first += ", \(ByteCount(decision.bytesReceived)) received" }
        if decision.bytesReused > 0 { first += ", \(ByteCount(decision.bytesReused)) reused" }
        var lines = [first]
        if !decision.because.isEmpty {
            lines.append(style.faint("  because: \(decision.because.printable)"))
        }
        if let source = decision.source {
            let proof = decision.verified.map { ", verified by \($0.rawValue)" } ?? ""
            lines.append(style.faint("  from \(source.printable)\(proof)"))
        }
        for failure in decision.failures {
            lines.append(style.faint("  tried again: \(failure.message.printable)"))
        }
        if let error = decision.error { lines.append("  \(error.message.printable)") }
        return lines
    }

    private func document(
        _ decisions: [(run: PastRun, decision: PastDecision)], _ step: Step?, _ deferral: Deferral?
    ) {
        Console.output.document { json in
            json.member("target", target.path)
            json.key("now")
            if let step {
                json.object { json in
                    json.member("step", step.kind.rawValue)
                    json.member("reason", step.reason.code)
                    json.member("because", step.reason.because)
                    json.member("size", step.size)
                    json.member("deferred", deferral.map { Reason.deferred($0).code })
                }
            } else {
                json.null()
            }
            json.objects("decisions", decisions) { past, json in
                json.member("run", past.run.id)
                json.member("started", past.run.startedAt.rfc3339)
                json.member("exit", past.run.summary?.exit)
                past.decision.writeMembers(to: &json)
            }
        }
    }
}
