import MirrorKit
import MirrorModel

/// The runs that are remembered, the newest first.
struct HistorySection: ReportSection {
    let id = "history"
    let title = "History"
    let runs: [PastRun]
    let clock: LocalClock

    func write(_ html: inout HTMLWriter) {
        guard !runs.isEmpty else {
            return html.element("p", text: "No run had anything to do here yet.")
        }
        let most = runs.compactMap { $0.summary?.bytesReceived }.max() ?? 0
        html.element("table", ["class": "cards"]) { html in
            html.element(
                "caption",
                text: "Runs that had something to do, the newest first")
            html.heads(
                [
                    ("Began", false), ("End", false), ("Did", false), ("Took", true),
                    ("Received", true), ("Of the most", false),
                ])
            html.element("tbody") { html in
                for run in runs {
                    html.markup("\n")
                    html.element("tr") { row(run, most, &$0) }
                }
            }
        }
    }

    private func row(_ run: PastRun, _ most: Int64, _ html: inout HTMLWriter) {
        html.element("th", ["scope": "row"]) { $0.time(run.startedAt, clock) }
        guard let summary = run.summary else {
            return html.element("td", ["data-label": "End", "colspan": "5"]) { html in
                html.element("div", text: "none: under way, or killed")
            }
        }
        html.cell("End") { html in
            let isGood = summary.exit == 0
            html.element(
                "span", ["class": isGood ? "good" : "bad", "aria-hidden": "true"],
                text: isGood ? "✓ " : "✕ ")
            html.text("exit \(summary.exit)")
        }
        html.cell("Did") { html in
            html.text(summary.deeds.isEmpty ? "nothing" : summary.deeds.joined(separator: ", "))
            if let error = summary.error { html.element("small", text: error.message) }
        }
        html.cell("Took", isNumber: true) { $0.text(TextReport.seconds(summary.seconds)) }
        html.cell("Received", isNumber: true) { $0.text("\(ByteCount(summary.bytesReceived))") }
        html.element("td", ["class": "bar"]) { $0.track(summary.bytesReceived, of: most) }
    }
}
