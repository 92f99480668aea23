import MirrorKit
import MirrorModel

/// The first screen of a report: how the tree is, in a few sentences and four figures.
struct ReportSummary {
    let report: TreeReport
    let clock: LocalClock

    /// Writes both.
    func write(_ html: inout HTMLWriter) {
        verdict(&html)
        figures(&html)
    }

    private func verdict(_ html: inout HTMLWriter) {
        let exit = report.lastEnded?.summary?.exit ?? 0
        var sentences: [String] = []
        if report.isEmpty {
            sentences.append("Nothing is here yet: no file, and no run.")
        } else if report.troubled > 0 {
            let verb = Counted.verb(report.troubled, "needs", "need")
            sentences.append(
                "\(report.troubled.grouped) \(report.troubled == 1 ? "file" : "files") \(verb) attention."
            )
        } else if report.totals.files == 0 {
            sentences.append("No file is here.")
        } else {
            sentences.append("Every file is as mirror put it there.")
        }
        if let run = report.lastEnded {
            let end = exit == 0 ? "ended well" : "ended with exit \(exit)"
            sentences.append("The last run \(end), \(clock.dateAndTime(of: run.startedAt)).")
        }
        if report.hasOpenRun { sentences.append("The newest run is under way, or was killed.") }
        let isBad = exit != 0 || report.totals.groups[.missing] != nil
        let (mark, look) =
            report.isEmpty
            ? ("○", "faint")
            : isBad
                ? ("✕", "bad")
                : report.troubled > 0 || report.hasOpenRun ? ("!", "warn") : ("✓", "good")
        html.element("div", ["class": "verdict"]) { html in
            html.element("span", ["class": "mark \(look)", "aria-hidden": "true"], text: mark)
            html.element("p", text: sentences.joined(separator: " "))
        }
    }

    private func figures(_ html: inout HTMLWriter) {
        let totals = report.totals
        html.element("dl", ["class": "figures"]) { html in
            figure("Files", totals.files.grouped, &html) { $0.text("\(ByteCount(totals.bytes))") }
            figure("Due", totals.due.grouped, &html) { html in
                guard let next = report.shares.nextDue else {
                    return html.text("asked about by the next sync")
                }
                html.text("the next from ")
                html.time(next, clock)
            }
            let good = report.runs.first { $0.summary?.exit == 0 }?.startedAt
            figure("Last good run", good.map(age) ?? "none", &html) { html in
                if let good { html.time(good, clock) } else { html.text("of the runs remembered") }
            }
            let summary = report.lastEnded?.summary
            let received = summary.map { "\(ByteCount($0.bytesReceived))" } ?? "–"
            figure("Received last", received, &html) { html in
                let reused = summary?.bytesReused ?? 0
                let none = summary == nil ? "no run has ended" : "by the last run"
                html.text(reused > 0 ? "\(ByteCount(reused)) more was there" : none)
            }
        }
    }

    private func figure(
        _ term: String, _ value: String, _ html: inout HTMLWriter,
        _ remark: (inout HTMLWriter) -> Void
    ) {
        html.element("div") { html in
            html.element("dt", text: term)
            html.element("dd", text: value)
            html.element("dd") { remark(&$0) }
        }
    }

    private func age(of instant: Instant) -> String {
        let seconds = max(0, clock.now.seconds(since: instant))
        return "\(DurationText(seconds: seconds < 3600 ? seconds : seconds / 3600 * 3600)) ago"
    }
}

extension TreeReport {
    /// The last run that has an end.
    var lastEnded: PastRun? { runs.first { $0.summary != nil } }

    /// Whether the newest run has no end.
    var hasOpenRun: Bool { runs.first.map { $0.summary == nil } ?? false }

    /// Files that somebody should look at.
    var troubled: Int {
        TreeTotals.Attention.allCases.reduce(0) { sum, attention in
            sum + (attention == .orphan ? 0 : totals.groups[attention]?.count ?? 0)
        }
    }
}
