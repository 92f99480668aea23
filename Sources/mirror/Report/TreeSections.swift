import MirrorKit

// The sections of a report about the files.

extension ReportPage {
    /// Writes how the files divide: by area, by freshness, and by what proves their bytes.
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
        let kinds = rows.filter { $0.2 != nil }
        guard kinds.count > 1 else {
            // One bar would always be full.
            guard case (let name, let meaning, let share?)? = kinds.first else { return }
            html.element("p", ["class": "small faint"], text: caption)
            let size = "\(Counted(share.files, "file")), \(ByteCount(share.bytes))"
            return html.element("p", text: "\(name): \(size); \(meaning).")
        }
        html.element("table", ["class": "shares"]) { html in
            html.element("caption", text: caption)
            html.heads([("Kind", false), ("Share", false), ("Files", true), ("Size", true)])
            html.element("tbody") { html in
                for (name, meaning, share) in rows {
                    guard let share, share.files > 0 else { continue }
                    html.element("tr") { html in
                        html.element("th", ["scope": "row"]) { html in
                            html.text(name)
                            html.element("small", text: meaning)
                        }
                        html.element("td", ["class": "bar"]) { $0.track(share.bytes, of: all) }
                        html.element("td", ["class": "num"], text: share.files.grouped)
                        html.element("td", ["class": "num"], text: "\(ByteCount(share.bytes))")
                    }
                }
            }
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
        if let stale = report.lastEnded?.summary?[.stale], stale > 0 {
            notes.append("The last run could not confirm \(Counted(stale, "file")), and kept them.")
        }
        guard !notes.isEmpty else { return }
        html.element("ul", ["class": "plain small faint"]) { html in
            for note in notes { html.element("li", text: note) }
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
    /// The name of what proves the bytes of a file.
    var title: String {
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

extension ReportPage {
    /// Writes the files by path, as many as a page can list.
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

    /// The state's sign and the class of its colour.
    ///
    /// The sign shows the state also without colours.
    fileprivate var mark: (String, String) {
        switch self {
        case .intact: ("✓", "good")
        case .evicted: ("○", "faint")
        case .changed, .untracked, .conflict: ("!", "warn")
        case .missing, .obstructed: ("✕", "bad")
        }
    }
}
