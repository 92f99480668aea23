import MirrorKit
import MirrorModel

/// The last run: its numbers, its transfers over time, its throughput.
struct LastRunSection: ReportSection {
    let id = "run"
    let title = "The last run"
    let report: TreeReport
    let clock: LocalClock

    func write(_ html: inout HTMLWriter) {
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
        TimelineChart(of: last).write(&html)
        ThroughputChart(of: last)?.write(&html)
        longest(last, &html)
    }

    private func longest(_ run: TreeReport.LoggedRun, _ html: inout HTMLWriter) {
        let longest = run.transfers.longest(10)
        html.element("details") { html in
            html.element("summary", text: "The longest transfers")
            html.element("table", ["class": "cards dense"]) { html in
                html.element("caption", text: "The longest transfers of the run")
                html.heads(
                    [("Path", false), ("Began", true), ("Took", true), ("Received", true)])
                html.element("tbody") { html in
                    for (host, bar) in longest {
                        html.element("tr") { html in
                            html.element("th", ["scope": "row"]) { html in
                                html.element("span", ["class": "path"], text: bar.target.path)
                                html.element(
                                    "small", text: "from \(host)\(bar.failed > 0 ? ", failed" : "")"
                                )
                            }
                            html.cell("Began", isNumber: true) { html in
                                html.text(
                                    "at \(TextReport.seconds(Double(bar.began) / 1000))")
                            }
                            html.cell("Took", isNumber: true) { html in
                                html.text(
                                    TextReport.seconds(Double(bar.ended - bar.began) / 1000))
                            }
                            html.cell("Received", isNumber: true) { html in
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
}
