import MirrorKit
import MirrorModel

/// A report as one page of HTML: it loads nothing, runs nothing, and can be read on a phone.
///
/// The page has a summary and sections, each a `ReportSection`. It is a function of the report and
/// the clock.
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
                html.time(report.madeAt, clock)
                html.text(". All times are \(clock.zone).")
            }
            ReportSummary(report: report, clock: clock).write(&html)
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

    private var sections: [any ReportSection] {
        // One sentence is enough about nothing.
        var sections: [any ReportSection] =
            report.isEmpty
            ? [TreeSection(report: report, clock: clock)]
            : [
                AttentionSection(report: report),
                TreeSection(report: report, clock: clock),
                SourcesSection(hosts: report.hosts),
                FailuresSection(report: report),
                LastRunSection(report: report, clock: clock),
                HistorySection(runs: report.runs, clock: clock),
                FilesSection(report: report, clock: clock),
            ]
        if !report.manifests.isEmpty {
            sections.append(ManifestsSection(manifests: report.manifests, clock: clock))
        }
        return sections
    }

    /// The last component of the root's path, or all of it.
    private var name: String {
        report.root.split(separator: "/").last.map(String.init) ?? report.root
    }
}
