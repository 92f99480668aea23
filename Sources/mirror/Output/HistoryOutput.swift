import MirrorKit
import MirrorModel

/// Shows past runs: a JSON document for scripts, or a line a run for people.
struct HistoryOutput {
    let options: any OutputChoices
    let root: String

    /// Prints the runs to standard output.
    func show(_ runs: [PastRun]) {
        guard !options.json else {
            var json = JSONWriter()
            json.object { json in
                json.member("v", 1)
                json.key("runs")
                json.array { json in for run in runs { run.write(to: &json) } }
            }
            json.newline()
            return Console.output.write(bytes: json.take())
        }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        let clock = LocalClock.ofThisProcess(now: .now)
        var lines = LineBuffer()
        defer { lines.flush() }
        lines.line("root \(root.printable)")
        for run in runs where !options.quiet || run.summary?.exit != 0 {
            lines.line(line(run, style, clock))
        }
        if runs.isEmpty, !options.quiet {
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
        var text = label + time + "  " + facts.joined(separator: ", ")
        if let error = summary.error { text += style.faint("  (\(error.message.printable))") }
        return text
    }
}

extension Summary {
    /// What a run did, each with its number; files that were kept are no deed.
    var deeds: [String] {
        var deeds = Outcome.allCases.compactMap { outcome in
            self[outcome] > 0 && outcome != .kept ? "\(self[outcome]) \(outcome.word)" : nil
        }
        if removed > 0 { deeds.append("\(removed) removed") }
        return deeds
    }
}

/// Shows what runs decided about a target: a JSON document for scripts, or lines for people.
struct WhyOutput {
    let options: any OutputChoices
    let root: String
    let now: Instant
    /// Why a run now would not fetch what its step fetches; nil where it would.
    let deferral: Deferral?

    /// Prints the decisions, the newest first, after what a run now would do.
    func show(
        _ target: Target, _ decisions: [(run: PastRun, decision: PastDecision)], _ step: Step?
    ) {
        guard !options.json else { return document(target, decisions, step) }
        let style = TextStyle(isColored: options.usesColor(on: .output))
        let clock = LocalClock.ofThisProcess(now: now)
        var lines = LineBuffer()
        defer { lines.flush() }
        lines.line("root \(root.printable)")
        lines.line(target.path.printable)
        if let step {
            let because = step.reason.because(on: clock).printable
            lines.line("  now: \(step.kind.rawValue), because: \(because)")
            if let deferral {
                let because = Reason.deferred(deferral).because(on: clock)
                lines.line("  but deferred, because: \(because.printable)")
            }
        } else {
            lines.line("  now: no manifest wants it")
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
        _ target: Target, _ decisions: [(run: PastRun, decision: PastDecision)], _ step: Step?
    ) {
        var json = JSONWriter()
        json.object { json in
            json.member("v", 1)
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
            json.key("decisions")
            json.array { json in
                for (run, decision) in decisions {
                    json.object { json in
                        json.member("run", run.id)
                        json.member("started", run.startedAt.rfc3339)
                        json.member("exit", run.summary?.exit)
                        decision.writeMembers(to: &json)
                    }
                }
            }
        }
        json.newline()
        Console.output.write(bytes: json.take())
    }
}
