import MirrorKit

/// A report as one page of HTML: it loads nothing, runs nothing, and can be read on a phone.
///
/// The page has a summary and sections, each written by a method. The page depends only on the
/// report and the clock.
struct ReportPage {
    let report: TreeReport
    let clock: LocalClock

    /// Returns the page as HTML.
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
        // The policy forbids loading and scripts, in case a text is ever taken for markup.
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
        html.element("style") { $0.markup(ReportPage.style) }
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
                html.time(report.madeAt, clock)
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

    private typealias Section = (id: String, title: String, write: (inout HTMLWriter) -> Void)

    /// The sections, each with the name for links, its heading, and the function that writes it.
    private var sections: [Section] {
        // For an empty tree, one sentence is enough.
        if report.isEmpty { return [treeSection] + manifestsSection }
        return [
            ("attention", "Needs attention", { attention(&$0) }), treeSection,
            ("sources", "Sources", { sources(&$0) }),
            ("failures", "Failures", { failures(&$0) }),
            ("run", "The last run", { lastRun(&$0) }),
            ("history", "History", { history(&$0) }),
            ("files", "Files", { files(&$0) }),
        ] + manifestsSection
    }

    private var treeSection: Section { ("tree", "In the tree", { tree(&$0) }) }

    private var manifestsSection: [Section] {
        report.manifests.isEmpty ? [] : [("manifests", "Manifests", { manifests(&$0) })]
    }

    /// The last component of the root's path, or all of it.
    private var name: String {
        report.root.split(separator: "/").last.map(String.init) ?? report.root
    }
}

// MARK: The first screen

extension ReportPage {
    /// Writes the state of the tree in a few sentences.
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
            let words = ExitWords.words(for: exit).map { " (\($0))" } ?? ""
            let end = exit == 0 ? "ended well" : "ended with exit \(exit)\(words)"
            sentences.append("The last run \(end), \(clock.dateAndTime(of: run.startedAt)).")
        }
        if report.hasOpenRun { sentences.append("The newest run is under way, or was killed.") }
        let groups = report.totals.groups
        let isBad = exit != 0 || groups[.missing] != nil || groups[.failed] != nil
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

    /// Writes the state of the tree in four figures.
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
            let good = report.runs.lastGood?.startedAt
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

    /// Returns how long a run took: `4.1 s`, from a minute on `1 h 2 min 5 s`.
    static func duration(_ seconds: Double) -> String {
        guard seconds >= 60, seconds < 1e15 else { return TextReport.seconds(seconds) }
        let whole = Int64(seconds.rounded())
        let parts = [(whole / 3600, "h"), (whole / 60 % 60, "min"), (whole % 60, "s")]
        return parts.drop { $0.0 == 0 }.map { "\($0.0.grouped) \($0.1)" }.joined(separator: " ")
    }

    private func age(of instant: Instant) -> String {
        let seconds = max(0, clock.now.seconds(since: instant))
        return "\(DurationText(seconds: seconds < 3600 ? seconds : seconds / 3600 * 3600)) ago"
    }
}

extension TreeReport {
    /// The last run that has an end. `nil` means that no run has one.
    var lastEnded: PastRun? { runs.lastEnded }

    /// Whether the newest run has no end.
    var hasOpenRun: Bool { runs.first.map { $0.summary == nil } ?? false }

    /// The number of files that need attention.
    var troubled: Int {
        TreeTotals.Attention.allCases.reduce(0) { sum, attention in
            sum + (attention == .orphan ? 0 : totals.groups[attention]?.count ?? 0)
        }
    }
}

// MARK: Sections

extension ReportPage {
    /// Writes the files that need attention, by their reasons.
    private func attention(_ html: inout HTMLWriter) {
        let groups = TreeTotals.Attention.allCases.compactMap { attention in
            report.totals.groups[attention].map { (attention, $0) }
        }
        if report.totals.paused.all { html.element("p", text: TreeTotals.allPaused) }
        if groups.isEmpty {
            let nothing =
                report.isEmpty
                ? "There is nothing yet."
                : "Nothing does: no file is missing, edited or in the way."
            return html.element("p", text: nothing)
        }
        for (attention, group) in groups {
            html.list(
                group.targets, more: group.more, attention.heading(group.count),
                allBy: "mirror status --json")
        }
    }

    /// Writes the table of the manifests that the root remembers.
    private func manifests(_ html: inout HTMLWriter) {
        html.element("table", ["class": "cards"]) { html in
            html.element("caption", text: "Manifests that this root remembers")
            html.heads(
                [("Name", false), ("Resources", true), ("Last synced", false), ("Copy of", false)])
            html.element("tbody") { html in
                for manifest in report.manifests {
                    html.element("tr") { html in
                        html.element("th", ["scope": "row"]) { html in
                            html.text(manifest.name)
                            html.element("small") { html in
                                html.element("span", ["class": "path"], text: manifest.place)
                                if manifest.isThere == false { html.text(" (not there now)") }
                            }
                        }
                        html.cell("Resources", isNumber: true) { html in
                            html.text(manifest.resources.map { $0.grouped } ?? "–")
                        }
                        for (label, instant) in [
                            ("Synced", manifest.syncedAt), ("Copy of", manifest.copiedAt),
                        ] {
                            html.cell(label) { html in
                                if let instant { html.time(instant, clock) } else { html.text("–") }
                            }
                        }
                    }
                }
            }
        }
    }
}
