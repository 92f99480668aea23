import MirrorKit
import MirrorModel

/// A report as one page of HTML: it loads nothing, runs nothing, and can be read on a phone.
///
/// Each section is a `ReportPage+….swift`. The page is a function of the report and the clock.
struct ReportPage {
    let report: TreeReport
    let clock: LocalClock

    /// The page.
    func html() -> [UInt8] {
        var html = HTMLWriter()
        html.markup("<!DOCTYPE html>\n")
        html.element("html", ["lang": "en"]) { html in
            html.element("head") { head(&$0) }
            html.markup("\n")
            html.element("body") { body(&$0) }
        }
        html.markup("\n")
        return html.bytes
    }

    private func head(_ html: inout HTMLWriter) {
        html.void("meta", ["charset": "utf-8"])
        // Nothing is loaded and nothing runs, even if a text were taken for markup.
        html.void(
            "meta",
            [
                "http-equiv": "Content-Security-Policy",
                "content":
                    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
            ])
        html.void("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
        html.void("meta", ["name": "color-scheme", "content": "light dark"])
        html.void("meta", ["name": "referrer", "content": "no-referrer"])
        html.element("title", text: "\(name) – mirror report")
        html.element("style") { $0.markup(ReportStyle.sheet) }
    }

    private func body(_ html: inout HTMLWriter) {
        html.element("header") { html in
            html.element("p", ["class": "over"], text: "mirror report")
            html.element("h1", text: name)
            html.element("div", ["class": "faint"]) { html in
                html.element("span", ["class": "path"], text: report.root)
            }
            html.element("p", ["class": "small faint"]) { html in
                html.text("As of ")
                time(report.madeAt, &html)
                html.text(". All times are \(clock.zone).")
            }
            verdict(&html)
            figures(&html)
        }
        let sections = sections
        html.element("nav", ["aria-label": "Sections"]) { html in
            html.element("ul") { html in
                for section in sections {
                    html.element("li") { html in
                        html.element("a", ["href": "#\(section.id)"], text: section.title)
                    }
                }
            }
        }
        html.element("main") { html in
            for section in sections {
                let heading = "\(section.id)-heading"
                html.markup("\n")
                html.element("section", ["id": section.id, "aria-labelledby": heading]) { html in
                    html.element("h2", ["id": heading], text: section.title)
                    section.write(&html)
                }
            }
        }
        html.element("footer") { html in
            html.text("Made by mirror \(MirrorVersion.current). This page loads nothing. ")
            html.text("URLs are shown without user names, passwords and queries.")
        }
    }

    /// A part of the page with a heading.
    struct Section {
        let id: String
        let title: String
        let write: (inout HTMLWriter) -> Void
    }

    private var sections: [Section] {
        var sections = [
            Section(id: "attention", title: "Needs attention", write: attention),
            Section(id: "tree", title: "In the tree", write: tree),
            Section(id: "sources", title: "Sources", write: sources),
            Section(id: "failures", title: "Failures", write: failures),
            Section(id: "run", title: "The last run", write: lastRun),
            Section(id: "history", title: "History", write: history),
            Section(id: "files", title: "Files", write: files),
        ]
        // One sentence is enough about nothing.
        if report.isEmpty { sections.removeAll { $0.id != "tree" } }
        if !report.manifests.isEmpty {
            sections.append(Section(id: "manifests", title: "Manifests", write: manifests))
        }
        return sections
    }

    /// The last component of the root's path, or all of it.
    var name: String {
        report.root.split(separator: "/").last.map(String.init) ?? report.root
    }
}

// MARK: The first screen

extension ReportPage {
    /// The last run that has an end.
    var lastEnded: PastRun? { report.runs.first { $0.summary != nil } }

    /// Whether the newest run has no end.
    var hasOpenRun: Bool { report.runs.first.map { $0.summary == nil } ?? false }

    /// Files that somebody should look at.
    var troubled: Int {
        TreeTotals.Attention.allCases.reduce(0) { sum, attention in
            sum + (attention == .orphan ? 0 : report.totals.groups[attention]?.count ?? 0)
        }
    }

    private func verdict(_ html: inout HTMLWriter) {
        let exit = lastEnded?.summary?.exit ?? 0
        var sentences: [String] = []
        if report.isEmpty {
            sentences.append("Nothing is here yet: no file, and no run.")
        } else if troubled > 0 {
            let verb = Counted.verb(troubled, "needs", "need")
            sentences.append(
                "\(troubled.grouped) \(troubled == 1 ? "file" : "files") \(verb) attention.")
        } else if report.totals.files == 0 {
            sentences.append("No file is here.")
        } else {
            sentences.append("Every file is as mirror put it there.")
        }
        if let run = lastEnded {
            let end = exit == 0 ? "ended well" : "ended with exit \(exit)"
            sentences.append("The last run \(end), \(clock.dateAndTime(of: run.startedAt)).")
        }
        if hasOpenRun { sentences.append("The newest run is under way, or was killed.") }
        let isBad = exit != 0 || report.totals.groups[.missing] != nil
        let (mark, look) =
            report.isEmpty
            ? ("○", "faint")
            : isBad ? ("✕", "bad") : troubled > 0 || hasOpenRun ? ("!", "warn") : ("✓", "good")
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
                time(next, &html)
            }
            let good = report.runs.first { $0.summary?.exit == 0 }?.startedAt
            figure("Last good run", good.map(age) ?? "none", &html) { html in
                if let good { time(good, &html) } else { html.text("of the runs remembered") }
            }
            let summary = lastEnded?.summary
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

// MARK: What sections share

extension ReportPage {
    /// A point of time that machines can read too.
    func time(_ instant: Instant, _ html: inout HTMLWriter) {
        html.element(
            "time", ["datetime": instant.rfc3339], text: clock.dateAndTime(of: instant))
    }

    /// A cell of a table that becomes a card on a phone, where the label stands beside it.
    func cell(
        _ label: String, isNumber: Bool = false, _ html: inout HTMLWriter,
        _ body: (inout HTMLWriter) -> Void
    ) {
        html.element("td", ["data-label": label, "class": isNumber ? "num" : ""]) { html in
            html.element("div") { body(&$0) }
        }
    }

    /// The head of a table.
    func heads(_ names: [(name: String, isNumber: Bool)], _ html: inout HTMLWriter) {
        html.element("thead") { html in
            html.element("tr") { html in
                for (name, isNumber) in names {
                    html.element(
                        "th", ["scope": "col", "class": isNumber ? "num" : ""], text: name)
                }
            }
        }
    }

    /// The first targets of many, behind a line that opens.
    func list(
        _ targets: [Target], more: Int, _ heading: String, allBy command: String,
        _ html: inout HTMLWriter
    ) {
        // Few need no click.
        html.element("details", ["open": targets.count <= 10 ? "open" : ""]) { html in
            html.element("summary", text: heading)
            html.element("ul", ["class": "plain"]) { html in
                for target in targets {
                    html.element("li") { $0.element("span", ["class": "path"], text: target.path) }
                }
                if more > 0 {
                    html.element("li", ["class": "faint"]) { html in
                        html.text("and \(more.grouped) more: ")
                        html.element("code", text: command)
                        html.text(" lists them")
                    }
                }
            }
        }
    }
}

extension BinaryInteger {
    /// The whole number as people read it: `1,204`.
    var grouped: String {
        var digits = Array(String(self))
        var at = digits.count - 3
        while at > (self < 0 ? 1 : 0) {
            digits.insert(",", at: at)
            at -= 3
        }
        return String(digits)
    }
}
