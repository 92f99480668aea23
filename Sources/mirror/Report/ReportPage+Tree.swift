import MirrorKit
import MirrorModel

// The files: what needs attention, how they divide, and the list.

extension ReportPage {
    /// Files by the reasons why they need attention.
    func attention(_ html: inout HTMLWriter) {
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
            list(
                group.targets, more: group.more, attention.heading(group.count),
                allBy: "mirror status --json", &html)
        }
    }

    /// How the files divide.
    func tree(_ html: inout HTMLWriter) {
        let shares = report.shares
        guard report.totals.files > 0 else {
            return html.element(
                "p", text: "No file is here. mirror sync MANIFEST fetches what a manifest wants.")
        }
        html.element("div", ["class": "pair"]) { html in
            html.element("div") { html in
                table(
                    "By area", Area.allCases.map { ($0.rawValue, $0.promise, shares.areas[$0]) },
                    &html)
            }
            html.element("div") { html in
                table(
                    "By freshness",
                    FileShares.Age.allCases.map { ($0.title, $0.meaning, shares.ages[$0]) }, &html)
            }
            html.element("div") { html in
                table(
                    "By what vouches for the bytes",
                    [Verification.digest, .size, .none].map {
                        ($0.title, $0.meaning, shares.proofs[$0])
                    }, &html)
            }
            html.element("div") { html in notes(&html) }
        }
    }

    private func table(
        _ caption: String, _ rows: [(String, String, FileShares.Share?)], _ html: inout HTMLWriter
    ) {
        let all = rows.reduce(Int64(0)) { $0.addingSaturated($1.2?.bytes ?? 0) }
        html.element("table", ["class": "shares"]) { html in
            html.element("caption", text: caption)
            heads([("Kind", false), ("Share", false), ("Files", true), ("Size", true)], &html)
            html.element("tbody") { html in
                for (name, meaning, share) in rows {
                    guard let share, share.files > 0 else { continue }
                    html.element("tr") { html in
                        html.element("th", ["scope": "row"]) { html in
                            html.text(name)
                            html.element("small", text: meaning)
                        }
                        html.element("td", ["class": "bar"]) { track(share.bytes, of: all, &$0) }
                        html.element("td", ["class": "num"], text: share.files.grouped)
                        html.element("td", ["class": "num"], text: "\(ByteCount(share.bytes))")
                    }
                }
            }
        }
    }

    /// A bar for a part of a whole; the numbers beside it say the same.
    func track(_ part: Int64, of whole: Int64, _ html: inout HTMLWriter) {
        let share = whole > 0 ? Double(part) / Double(whole) : 0
        let tenths = part > 0 ? max(10, Int((min(share, 1) * 1000).rounded())) : 0
        html.element("span", ["class": "track", "aria-hidden": "true"]) { html in
            html.element("i", ["style": "width:\(tenths / 10).\(tenths % 10)%"], text: "")
        }
    }

    private func notes(_ html: inout HTMLWriter) {
        let totals = report.totals
        var notes: [String] = []
        if let next = report.shares.nextDue {
            notes.append("The next file becomes due \(clock.dateAndTime(of: next)).")
        }
        if let oldest = report.shares.oldestConfirmation {
            notes.append(
                "Of the files that are asked about, each was confirmed \(clock.dateAndTime(of: oldest)) or later."
            )
        }
        if totals.parts > 0 {
            notes.append(
                "\(Counted(totals.parts, "unfinished download")) of \(ByteCount(totals.partBytes)): the next sync goes on with what still fits."
            )
        }
        if let evicted = totals.counts[.evicted] {
            notes.append(
                "\(Counted(evicted, "file")) left out for lack of room; mirror get TARGET brings one back."
            )
        }
        if let stale = lastEnded?.summary?[.stale], stale > 0 {
            notes.append("The last run could not confirm \(Counted(stale, "file")), and kept them.")
        }
        guard !notes.isEmpty else { return }
        html.element("ul", ["class": "plain small faint"]) { html in
            for note in notes { html.element("li", text: note) }
        }
    }

    /// The first files.
    func files(_ html: inout HTMLWriter) {
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
                heads(
                    [
                        ("Path", false), ("Size", true), ("State", false), ("Fresh", false),
                        ("Vouched for by", false),
                    ], &html)
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
            cell("Size", isNumber: true, &html) { html in
                html.text(file.size.map { "\(ByteCount($0))" } ?? "–")
            }
            cell("State", &html) { html in
                let (mark, look) = file.state.mark
                html.element("span", ["class": look, "aria-hidden": "true"], text: mark + " ")
                html.text(file.state == .intact && file.isOrphan ? "orphan" : file.state.title)
                if file.partBytes > 0 {
                    html.element("small", text: "\(ByteCount(file.partBytes)) of it fetched")
                }
            }
            cell("Fresh", &html) { html in
                switch file.freshness {
                case .due: html.text("due")
                case .fresh(let until?): html.text("until \(clock.dateAndTime(of: until))")
                case .fresh(nil): html.text("settled")
                case nil: html.text("–")
                }
            }
            cell("Vouched for", &html) { $0.text(file.verified?.title.lowercased() ?? "–") }
        }
    }

    /// The manifests that the root remembers.
    func manifests(_ html: inout HTMLWriter) {
        html.element("table", ["class": "cards"]) { html in
            html.element("caption", text: "Manifests that this root remembers")
            heads(
                [("Name", false), ("Resources", true), ("Last synced", false), ("Copy of", false)],
                &html)
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
                        cell("Resources", isNumber: true, &html) { html in
                            html.text(manifest.resources.map { $0.grouped } ?? "–")
                        }
                        for (label, instant) in [
                            ("Synced", manifest.syncedAt), ("Copy of", manifest.copiedAt),
                        ] {
                            cell(label, &html) { html in
                                if let instant { time(instant, &html) } else { html.text("–") }
                            }
                        }
                    }
                }
            }
        }
    }
}

extension Area {
    fileprivate var promise: String {
        switch self {
        case .documents: "never evicted, edits are kept"
        case .caches: "evicted under a quota, fetched again"
        case .tmp: "thrown away at will"
        }
    }
}

extension FileShares.Age {
    fileprivate var title: String {
        switch self {
        case .settled: "Settled"
        case .fresh: "Fresh"
        case .due: "Due"
        case .unjudged: "Not judged"
        }
    }

    fileprivate var meaning: String {
        switch self {
        case .settled: "pinned, or never refreshed"
        case .fresh: "for a known time"
        case .due: "the next sync asks about it"
        case .unjudged: "no manifest at hand wants it"
        }
    }
}

extension Verification {
    fileprivate var title: String {
        switch self {
        case .digest: "Digest"
        case .size: "Size only"
        case .none: "Nothing"
        }
    }

    fileprivate var meaning: String {
        switch self {
        case .digest: "a declared digest proves the bytes"
        case .size: "the length was the promised one"
        case .none: "the connection's end was the file's"
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
