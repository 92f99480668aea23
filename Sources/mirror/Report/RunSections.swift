import MirrorKit

// The sections of a report about the last run.

extension ReportPage {
    /// Writes the last run: its numbers, its transfers over time, its throughput.
    func lastRun(_ html: inout HTMLWriter) {
        guard let run = report.lastRun?.run ?? report.runs.first else {
            return html.element("p", text: "No run had anything to do here yet.")
        }
        facts(of: run, &html)
        guard let last = report.lastRun else {
            let words = run.summary == nil ? "Its log is not there yet" : "Its log is gone"
            return html.element("p", text: "\(words), so nothing is known of its transfers.")
        }
        if run.id != report.runs.first?.id {
            html.element(
                "p", ["class": "small faint"],
                text: "This is the newest run that has a log. Newer ones are in the history.")
        }
        guard !last.transfers.isEmpty else {
            let words =
                last.transfers.untimed > 0
                ? "No times were kept: an older mirror made this run."
                : "It needed no transfer."
            return html.element("p", text: words)
        }
        html.timeline(of: last)
        html.throughput(of: last)
        longest(last, &html)
    }

    private func longest(_ run: TreeReport.LoggedRun, _ html: inout HTMLWriter) {
        let longest = run.transfers.longest(10)
        html.element("details") { html in
            html.element("summary", text: "The longest transfers")
            html.element("table", ["class": "cards dense"]) { html in
                html.element("caption", text: "The longest transfers of the run")
                html.heads(
                    [("Path", false), ("Began", true), ("Took", true), ("Received", true)])
                html.element("tbody") { html in
                    for (host, bar) in longest {
                        html.element("tr") { html in
                            html.element("th", ["scope": "row"]) { html in
                                html.element("span", ["class": "path"], text: bar.target.path)
                                let remarks = [
                                    "from \(host)", bar.failed > 0 ? "failed" : nil,
                                    bar.waitRemark,
                                ].compactMap { $0 }
                                html.element("small", text: remarks.joined(separator: ", "))
                            }
                            html.cell("Began", isNumber: true) { html in
                                html.text(
                                    "at \(TextReport.seconds(Double(bar.began) / 1000))")
                            }
                            html.cell("Took", isNumber: true) { html in
                                html.text(
                                    TextReport.seconds(Double(bar.ended - bar.began) / 1000))
                            }
                            html.cell("Received", isNumber: true) { html in
                                html.text("\(ByteCount(bar.bytes))")
                            }
                        }
                    }
                }
            }
        }
    }

    private func facts(of run: PastRun, _ html: inout HTMLWriter) {
        html.element("dl", ["class": "facts"]) { html in
            let fact = { (term: String, value: String, html: inout HTMLWriter) in
                html.element("div") { html in
                    html.element("dt", text: term)
                    html.element("dd", text: value)
                }
            }
            fact("Began", clock.dateAndTime(of: run.startedAt), &html)
            guard let summary = run.summary else {
                return fact("Ended", "not yet, or it was killed", &html)
            }
            fact("Took", ReportPage.duration(summary.seconds), &html)
            let words = ExitWords.words(for: summary.exit).map { ": \($0)" } ?? ""
            fact("Ended with", "exit \(summary.exit)\(words)", &html)
            if !summary.deeds.isEmpty { fact("Did", summary.deeds.joined(separator: ", "), &html) }
            fact("Received", "\(ByteCount(summary.bytesReceived))", &html)
            if summary.bytesReused > 0 {
                fact("Reused", "\(ByteCount(summary.bytesReused))", &html)
            }
            fact("Requests", summary.requests.grouped, &html)
        }
    }
}

extension ReportPage {
    /// Writes the runs that the index remembers, the newest first.
    func history(_ html: inout HTMLWriter) {
        let runs = report.runs
        guard !runs.isEmpty else {
            return html.element("p", text: "No run had anything to do here yet.")
        }
        let received = runs.compactMap { $0.summary?.bytesReceived }
        let most = received.max() ?? 0
        // Bars that are all as long as each other say nothing.
        let hasBars = received.contains { $0 != most }
        html.element("table", ["class": "cards"]) { html in
            html.element(
                "caption",
                text: "Runs that had something to do, the newest first")
            let columns = [
                ("Began", false), ("End", false), ("Did", false), ("Took", true),
                ("Received", true), ("Of the most", false),
            ]
            html.heads(hasBars ? columns : columns.dropLast())
            html.element("tbody") { html in
                for run in runs {
                    html.markup("\n")
                    html.element("tr") { row(run, ofMost: hasBars ? most : nil, &$0) }
                }
            }
        }
    }

    /// Writes the row of a run, with a bar if `most` has the most bytes that a run received.
    private func row(_ run: PastRun, ofMost most: Int64?, _ html: inout HTMLWriter) {
        html.element("th", ["scope": "row"]) { $0.time(run.startedAt, clock) }
        guard let summary = run.summary else {
            let columns = most == nil ? "4" : "5"
            return html.element("td", ["data-label": "End", "colspan": columns]) { html in
                html.element("div", text: "none: under way, or killed")
            }
        }
        html.cell("End") { html in
            let isGood = summary.exit == 0
            html.element(
                "span", ["class": isGood ? "good" : "bad", "aria-hidden": "true"],
                text: isGood ? "✓ " : "✕ ")
            html.text("exit \(summary.exit)")
            if let words = ExitWords.words(for: summary.exit) {
                html.element("small", text: words)
            }
        }
        html.cell("Did") { html in
            html.text(summary.deeds.isEmpty ? "nothing" : summary.deeds.joined(separator: ", "))
            if let error = summary.error { html.element("small", text: error.message) }
        }
        html.cell("Took", isNumber: true) { $0.text(ReportPage.duration(summary.seconds)) }
        html.cell("Received", isNumber: true) { $0.text("\(ByteCount(summary.bytesReceived))") }
        guard let most else { return }
        html.element("td", ["class": "bar"]) { $0.track(summary.bytesReceived, of: most) }
    }
}

extension ReportPage {
    /// Writes the failures of the last run by their causes, and what helps.
    func failures(_ html: inout HTMLWriter) {
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
        if !last.passing.groups.isEmpty { overcome(last.passing.groups, &html) }
    }

    /// Writes the table of the failed requests after which another one succeeded.
    private func overcome(_ groups: [FailureCauses.Group], _ html: inout HTMLWriter) {
        html.element("h3", text: "Overcome by trying again")
        html.element("table", ["class": "cards"]) { html in
            html.element("caption", text: "Requests that failed in passing, by cause and host")
            html.heads([("Cause", false), ("Host", false), ("Requests", true), ("Files", false)])
            html.element("tbody") { html in
                for group in groups {
                    html.element("tr") { html in
                        html.element("th", ["scope": "row"], text: group.cause.what)
                        html.cell("Host") { html in
                            html.text(group.cause.host.isEmpty ? "–" : group.cause.host)
                        }
                        html.cell("Requests", isNumber: true) { $0.text(group.count.grouped) }
                        html.cell("Files") { html in
                            html.text(group.files.grouped)
                            let names = group.targets.prefix(3).map(\.path)
                            let more = group.files - names.count
                            html.element("small") { html in
                                html.text(names.joined(separator: ", "))
                                if more > 0 { html.text(" and \(more.grouped) more") }
                            }
                        }
                    }
                }
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

extension ReportPage {
    /// The most hosts that have a row.
    private static let mostHosts = 50

    /// Writes a table of the hosts: what came from them, and which requests they honour.
    func sources(_ html: inout HTMLWriter) {
        let listed = report.hosts.hosts
        guard !listed.isEmpty else {
            return html.element("p", text: "No file came from a server, and no run asked one.")
        }
        html.element("table", ["class": "cards"]) { html in
            html.element(
                "caption",
                text:
                    "Files in the tree by the host they came from. Ranges, HTTP and transfers are those of the last runs' logs."
            )
            html.heads(
                [
                    ("Host", false), ("Files", true), ("Ranges", false), ("Validators", false),
                    ("HTTP", false), ("Transfers", false),
                ])
            html.element("tbody") { html in
                for host in listed.prefix(Self.mostHosts) { row(host, &html) }
            }
        }
        let more = listed.count - Self.mostHosts
        if more > 0 || report.hosts.beyond > 0 {
            html.element("p", ["class": "small faint"]) { html in
                if more > 0 { html.text("And \(Counted(more, "host")) with fewer bytes: ") }
                html.element("code", text: "mirror report --json")
                html.text(" lists up to \(HostBook.mostHosts).")
            }
        }
    }

    private func row(_ host: HostFacts, _ html: inout HTMLWriter) {
        html.element("tr") { html in
            html.element("th", ["scope": "row"], text: host.host)
            html.cell("Files", isNumber: true) { html in
                html.text(host.files.grouped)
                html.element("small", text: "\(ByteCount(host.bytes))")
            }
            html.cell("Ranges") { html in
                html.text(host.rangeWords)
                html.element("small", text: host.resumption)
            }
            html.cell("Validators") { $0.text(host.validatorWords) }
            html.cell("HTTP") { html in
                let versions = host.versions.keys.map(\.rawValue).sorted()
                html.text(versions.isEmpty ? "–" : versions.joined(separator: ", "))
            }
            html.cell("Transfers") { html in
                html.text(host.transfers == 0 ? "–" : host.transfers.grouped)
                let facts = host.troubles
                if !facts.isEmpty { html.element("small", text: facts.joined(separator: ", ")) }
            }
        }
    }
}

extension HostFacts {
    /// Words for how the host answers requests for ranges.
    fileprivate var rangeWords: String {
        if isDivided { return "honoured for some files" }
        return switch rangeSupport {
        case .honoured: "✓ honoured"
        case .offered: "offered"
        case .refused: "✕ refused"
        case .unknown: host.hasPrefix("file:") ? "–" : "not known"
        }
    }

    /// Words for what happens to a download that breaks off.
    fileprivate var resumption: String {
        let weak = validators[.weak, default: 0] + validators[.none, default: 0]
        switch rangeSupport {
        case .refused where !isDivided: return "a broken download starts over"
        case .refused, .honoured, .offered:
            if weak == 0 { return "a broken download goes on" }
            return validators[.strong, default: 0] == 0
                ? "goes on under a digest only" : "goes on where pinned, or the tag is strong"
        case .unknown: return ""
        }
    }

    fileprivate var validatorWords: String {
        let counts = ValidatorStrength.allCases.filter { validators[$0, default: 0] > 0 }
        if counts.isEmpty { return "–" }
        if counts.count == 1, let only = counts.first {
            return only == .none ? "none sent" : "all \(only.rawValue)"
        }
        return counts.map { strength in
            let count = validators[strength, default: 0].grouped
            return strength == .none ? "\(count) without" : "\(count) \(strength.rawValue)"
        }.joined(separator: ", ")
    }

    fileprivate var troubles: [String] {
        var facts: [String] = []
        if received > 0 { facts.append("\(ByteCount(received)) received") }
        if resumed > 0 { facts.append("\(resumed.grouped) resumed") }
        if retries > 0 { facts.append("\(retries.grouped) tried again") }
        if failed > 0 { facts.append("\(failed.grouped) failed") }
        return facts
    }
}
