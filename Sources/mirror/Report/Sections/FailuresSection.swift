import MirrorKit
import MirrorModel

/// Failures of the last run by their causes, and what helps.
struct FailuresSection: ReportSection {
    let id = "failures"
    let title = "Failures"
    let report: TreeReport

    func write(_ html: inout HTMLWriter) {
        guard let last = report.lastRun else {
            let failed = report.lastEnded?.summary?[.failed] ?? 0
            let words =
                failed > 0
                ? "The last run had \(Counted(failed, "failure")), and its log is gone."
                : report.runs.isEmpty
                    ? "There was no run." : "No run has a log yet, so none is known."
            return html.element("p", text: words)
        }
        if let error = report.lastEnded?.summary?.error {
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
                html.list(
                    group.targets, more: group.more,
                    "\(Counted(group.count, "request")): \(group.cause.words)",
                    allBy: "mirror why TARGET")
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
                html.list(
                    group.targets, more: group.more, "The files", allBy: "mirror report --json")
            }
        }
    }
}
