import MirrorKit
import MirrorModel

// The runs: failures with what helps, the last one in detail, and all that are remembered.

extension ReportPage {
    /// Failures of the last run by their causes, and what helps.
    func failures(_ html: inout HTMLWriter) {
        guard let last = report.lastRun else {
            let failed = lastEnded?.summary?[.failed] ?? 0
            let words =
                failed > 0
                ? "The last run had \(Counted(failed, "failure")), and its log is gone."
                : report.runs.isEmpty
                    ? "There was no run." : "No run has a log yet, so none is known."
            return html.element("p", text: words)
        }
        if let error = lastEnded?.summary?.error {
            html.element("p") { html in
                html.element("span", ["class": "bad", "aria-hidden": "true"], text: "✕ ")
                html.text("The run ended early: \(error.message)")
            }
        }
        if last.failures.groups.isEmpty {
            html.element("p", text: "The last run with a log had none.")
        }
        for group in last.failures.groups { cause(group, &html) }
        if !last.passing.groups.isEmpty {
            html.element("h3", text: "Overcome by trying again")
            for group in last.passing.groups {
                list(
                    group.targets, more: group.more,
                    "\(Counted(group.count, "request")): \(group.cause.words)",
                    allBy: "mirror why TARGET", &html)
            }
        }
    }

    private func cause(_ group: FailureCauses.Group, _ html: inout HTMLWriter) {
        html.element("div", ["class": "cause"]) { html in
            html.element("h3") { html in
                let isOptional = group.cause.isOptional
                html.element(
                    "span", ["class": isOptional ? "warn" : "bad", "aria-hidden": "true"],
                    text: isOptional ? "! " : "✕ ")
                html.text("\(group.count.grouped) \(group.count == 1 ? "file" : "files"): ")
                html.text(group.cause.words + (isOptional ? " (optional)" : ""))
            }
            html.element("p", text: group.error.message)
            for help in group.allHelp { html.element("p", ["class": "faint"], text: help) }
            if group.count > 1 {
                list(
                    group.targets, more: group.more, "The files", allBy: "mirror report --json",
                    &html)
            }
        }
    }

    /// The last run: its numbers, its transfers over time, its throughput.
    func lastRun(_ html: inout HTMLWriter) {
        guard let run = report.lastRun?.run ?? report.runs.first else {
            return html.element("p", text: "No run had anything to do here yet.")
        }
        facts(of: run, &html)
        guard let last = report.lastRun else {
            let words = run.summary == nil ? "Its log is not there yet" : "Its log is gone"
            return html.element("p", text: "\(words), so nothing is known of its transfers.")
        }
        if run.id != report.runs.first?.id {
            html.element(
                "p", ["class": "small faint"],
                text: "This is the newest run that has a log. Newer ones are in the history.")
        }
        guard !last.transfers.isEmpty else {
            let words =
                last.transfers.untimed > 0
                ? "No times were kept: an older mirror made this run."
                : "It needed no transfer."
            return html.element("p", text: words)
        }
        timeline(last, &html)
        throughput(last, &html)
        longest(last, &html)
    }

    private func longest(_ run: TreeReport.LoggedRun, _ html: inout HTMLWriter) {
        let longest = run.transfers.longest(10)
        html.element("details") { html in
            html.element("summary", text: "The longest transfers")
            html.element("table", ["class": "cards dense"]) { html in
                html.element("caption", text: "The longest transfers of the run")
                heads(
                    [("Path", false), ("Began", true), ("Took", true), ("Received", true)], &html)
                html.element("tbody") { html in
                    for (host, bar) in longest {
                        html.element("tr") { html in
                            html.element("th", ["scope": "row"]) { html in
                                html.element("span", ["class": "path"], text: bar.target.path)
                                html.element(
                                    "small", text: "from \(host)\(bar.failed > 0 ? ", failed" : "")"
                                )
                            }
                            cell("Began", isNumber: true, &html) { html in
                                html.text(
                                    "at \(TextReport.seconds(Double(bar.began) / 1000))")
                            }
                            cell("Took", isNumber: true, &html) { html in
                                html.text(
                                    TextReport.seconds(Double(bar.ended - bar.began) / 1000))
                            }
                            cell("Received", isNumber: true, &html) { html in
                                html.text("\(ByteCount(bar.bytes))")
                            }
                        }
                    }
                }
            }
        }
    }

    private func facts(of run: PastRun, _ html: inout HTMLWriter) {
        html.element("dl", ["class": "facts"]) { html in
            let fact = { (term: String, value: String, html: inout HTMLWriter) in
                html.element("div") { html in
                    html.element("dt", text: term)
                    html.element("dd", text: value)
                }
            }
            fact("Began", clock.dateAndTime(of: run.startedAt), &html)
            guard let summary = run.summary else {
                return fact("Ended", "not yet, or it was killed", &html)
            }
            fact("Took", TextReport.seconds(summary.seconds), &html)
            fact("Ended with", "exit \(summary.exit)", &html)
            if !summary.deeds.isEmpty { fact("Did", summary.deeds.joined(separator: ", "), &html) }
            fact("Received", "\(ByteCount(summary.bytesReceived))", &html)
            if summary.bytesReused > 0 {
                fact("Reused", "\(ByteCount(summary.bytesReused))", &html)
            }
            fact("Requests", summary.requests.grouped, &html)
        }
    }

    /// The runs that are remembered.
    func history(_ html: inout HTMLWriter) {
        guard !report.runs.isEmpty else {
            return html.element("p", text: "No run had anything to do here yet.")
        }
        let most = report.runs.compactMap { $0.summary?.bytesReceived }.max() ?? 0
        html.element("table", ["class": "cards"]) { html in
            html.element(
                "caption",
                text: "Runs that had something to do, the newest first")
            heads(
                [
                    ("Began", false), ("End", false), ("Did", false), ("Took", true),
                    ("Received", true), ("Of the most", false),
                ], &html)
            html.element("tbody") { html in
                for run in report.runs {
                    html.markup("\n")
                    html.element("tr") { row(run, most, &$0) }
                }
            }
        }
    }

    private func row(_ run: PastRun, _ most: Int64, _ html: inout HTMLWriter) {
        html.element("th", ["scope": "row"]) { time(run.startedAt, &$0) }
        guard let summary = run.summary else {
            return html.element("td", ["data-label": "End", "colspan": "5"]) { html in
                html.element("div", text: "none: under way, or killed")
            }
        }
        cell("End", &html) { html in
            let isGood = summary.exit == 0
            html.element(
                "span", ["class": isGood ? "good" : "bad", "aria-hidden": "true"],
                text: isGood ? "✓ " : "✕ ")
            html.text("exit \(summary.exit)")
        }
        cell("Did", &html) { html in
            html.text(summary.deeds.isEmpty ? "nothing" : summary.deeds.joined(separator: ", "))
            if let error = summary.error { html.element("small", text: error.message) }
        }
        cell("Took", isNumber: true, &html) { $0.text(TextReport.seconds(summary.seconds)) }
        cell("Received", isNumber: true, &html) { $0.text("\(ByteCount(summary.bytesReceived))") }
        html.element("td", ["class": "bar"]) { track(summary.bytesReceived, of: most, &$0) }
    }
}
