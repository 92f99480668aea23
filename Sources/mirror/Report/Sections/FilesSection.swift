import MirrorKit
import MirrorModel

/// The files by path, as many as a page can list.
struct FilesSection: ReportSection {
    let id = "files"
    let title = "Files"
    let report: TreeReport
    let clock: LocalClock

    func write(_ html: inout HTMLWriter) {
        guard !report.files.isEmpty else { return html.element("p", text: "There are none.") }
        let count = report.files.count
        html.element("p", ["class": "faint"]) { html in
            if report.moreFiles > 0 {
                html.text("The first \(count.grouped) of \((count + report.moreFiles).grouped); ")
                html.element("code", text: "mirror status -v")
                html.text(" lists all.")
            } else {
                html.text("All \(count.grouped).")
            }
        }
        html.element("details") { html in
            html.element(
                "summary", text: "Show \(count == 1 ? "the file" : "\(count.grouped) files")")
            html.element("table", ["class": "cards dense"]) { html in
                html.element("caption", text: "Files by path")
                html.heads(
                    [
                        ("Path", false), ("Size", true), ("State", false), ("Fresh", false),
                        ("Vouched for by", false),
                    ])
                html.element("tbody") { html in for file in report.files { row(file, &html) } }
            }
        }
    }

    private func row(_ file: StoredFile, _ html: inout HTMLWriter) {
        html.markup("\n")
        html.element("tr") { html in
            html.element("th", ["scope": "row"]) { html in
                html.element("span", ["class": "path"], text: file.target.path)
                if let source = file.source {
                    html.element("small", text: "from \(SourceKey.host(of: source))")
                }
            }
            html.cell("Size", isNumber: true) { html in
                html.text(file.size.map { "\(ByteCount($0))" } ?? "–")
            }
            html.cell("State") { html in
                let (mark, look) = file.state.mark
                html.element("span", ["class": look, "aria-hidden": "true"], text: mark + " ")
                html.text(file.state == .intact && file.isOrphan ? "orphan" : file.state.title)
                if file.partBytes > 0 {
                    html.element("small", text: "\(ByteCount(file.partBytes)) of it fetched")
                }
            }
            html.cell("Fresh") { html in
                switch file.freshness {
                case .due: html.text("due")
                case .fresh(let until?): html.text("until \(clock.dateAndTime(of: until))")
                case .fresh(nil): html.text("settled")
                case nil: html.text("–")
                }
            }
            html.cell("Vouched for") { $0.text(file.verified?.title.lowercased() ?? "–") }
        }
    }
}

extension StoredFile.State {
    fileprivate var title: String {
        switch self {
        case .intact: "intact"
        case .changed: "edited"
        case .missing: "missing"
        case .evicted: "evicted"
        case .untracked: "not mirror's"
        case .obstructed: "obstructed"
        case .conflict: "conflict copy"
        }
    }

    /// A sign and its look: the sign says it too where colours do not.
    fileprivate var mark: (String, String) {
        switch self {
        case .intact: ("✓", "good")
        case .evicted: ("○", "faint")
        case .changed, .untracked, .conflict: ("!", "warn")
        case .missing, .obstructed: ("✕", "bad")
        }
    }
}
