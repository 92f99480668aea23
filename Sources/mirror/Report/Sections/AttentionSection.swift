import MirrorKit
import MirrorModel

/// The files that somebody should look at, by the reasons why.
struct AttentionSection: ReportSection {
    let id = "attention"
    let title = "Needs attention"
    let report: TreeReport

    func write(_ html: inout HTMLWriter) {
        let groups = TreeTotals.Attention.allCases.compactMap { attention in
            report.totals.groups[attention].map { (attention, $0) }
        }
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
}
