import MirrorKit

/// The report of a run for people: a line for each resource with news, and the totals.
struct TextReport {
    /// Whether only failures are reported.
    let isQuiet: Bool
    /// Whether kept files are reported too; false in a quiet report.
    let isVerbose: Bool
    let style: TextStyle
    let errorStyle: TextStyle
    let clock: LocalClock

    /// Returns the line for an event, and whether it is a result.
    ///
    /// Returns nil if there is nothing to say about the event.
    func line(for event: Event) -> (text: String, isResult: Bool)? {
        switch event.body {
        case .done(let done): return line(for: done).map { ($0, true) }
        case .failed(let failed): return (line(for: failed), false)
        case .removed(let removed): return isQuiet ? nil : (line(for: removed), true)
        case .set(let end): return line(for: end)
        case .retry(let again) where isVerbose: return (line(for: again, "retry"), false)
        case .restart(let again) where !isQuiet:
            return (line(for: again, "starting over"), false)
        case .warning(let text): return ("mirror: warning: " + text.printable, false)
        case .summary(let summary):
            // A run that did not begin has nothing to count, and its error is printed. An
            // interrupted run has one line, which `RunOutput` prints.
            let hasBegun = summary.error == nil || summary.resources > 0
            if summary.error?.code == .cancelled { return nil }
            return isQuiet || !hasBegun ? nil : (self.summary(summary), true)
        case .plan, .start, .progress, .paused, .resumed, .retry, .restart: return nil
        }
    }

    /// Whether a file is only counted: mirror found it as it should be, or the quota has no room.
    func counts(_ done: Event.Done) -> Bool {
        if isVerbose { return false }
        if case .overQuota = done.reason { return done.outcome == .evicted }
        return done.outcome == .adopted
    }

    /// Returns the lines for the files that were only counted. A quiet report has none.
    func lines(counted report: TerminalReport) -> [String] {
        if isQuiet { return [] }
        var lines: [String] = []
        if report.adopted > 0 {
            lines.append(
                style.outcome(.adopted) + Counted(report.adopted, "file").description
                    + style.faint("  (there already; -v names them)"))
        }
        if let text = words(report.evicted) { lines.append(style.outcome(.evicted) + text) }
        if let text = words(report.leftOut) {
            lines.append(style.label("left out", .neutral) + text)
        }
        return lines
    }

    private func words(_ files: FilesOverQuota) -> String? {
        guard files.group.count > 0 else { return nil }
        var text = "\(Counted(files.group.count, "file")), \(ByteCount(files.bytes))"
        if files.unknownSizes > 0 { text += " + \(files.unknownSizes) of unknown size" }
        return text + ": \(files.group.names)"
            + style.faint(
                "  (no room within the quota of \(ByteCount(files.quota)); mirror get TARGET brings one)"
            )
    }

    /// Returns in a few words why a transfer was deferred.
    ///
    /// Returns nil for other events, for a paused file, and in a quiet report.
    func deferral(in event: Event) -> String? {
        guard case .done(let done) = event.body, done.outcome == .deferred, !isQuiet,
            done.reason != .deferred(.paused)
        else { return nil }
        return done.reason.because(on: clock).printable
    }

    /// Returns the target of a file that was deferred because it is paused.
    ///
    /// Returns nil for other events, and in a quiet report.
    func paused(in event: Event) -> Target? {
        guard case .done(let done) = event.body, done.outcome == .deferred, !isQuiet,
            done.reason == .deferred(.paused)
        else { return nil }
        return done.target
    }

    /// Returns what helps against a lack of room on the disk.
    ///
    /// Returns nil for other events, and in a quiet report.
    func roomAdvice(in event: Event) -> String? {
        guard case .done(let done) = event.body, case .noRoom(let shortage) = done.reason, !isQuiet
        else { return nil }
        return shortage.remedy.sentence
    }

    private func line(for done: Event.Done) -> String? {
        // Files that every run leaves out have no line; they are counted.
        let isLeftOut = done.outcome == .evicted && done.bytesFreed == 0
        let isNews = !isLeftOut && ![.kept, .notModified, .deferred].contains(done.outcome)
        guard isVerbose || !isQuiet && isNews else { return nil }
        var words = style.outcome(done.outcome) + done.target.path.printable
        switch done.outcome {
        case .edited, .stale, .deferred, .evicted, .noRoom, .kept, .adopted, .moved, .copied,
            .updated,
            .unchanged,
            .repaired:
            words += style.faint("  (\(done.reason.because(on: clock).printable))")
        default: break
        }
        if done.bytesReused > 0 {
            words += style.faint(
                "  (\(ByteCount(done.bytesReceived)) more, \(ByteCount(done.bytesReused)) \(Counted.verb(done.bytesReused, "was", "were")) there)"
            )
        }
        if let conflict = done.conflict {
            words += "\n" + style.label("kept as", .warning) + conflict.path.printable
        }
        if done.verified == .none, ![.kept, .deferred, .evicted, .noRoom].contains(done.outcome) {
            words += style.faint("  unverified: the server gave neither size nor digest")
        }
        return words
    }

    private func line(for failed: Event.Failed) -> String {
        let label = failed.isOptional ? "optional" : "failed"
        return errorStyle.label(label, failed.isOptional ? .warning : .failure)
            + failed.error.sentence.printable
    }

    private func line(for removed: Event.Removed) -> String {
        let size = removed.size.map { "  \(ByteCount($0))" } ?? ""
        return style.label("removed", .warning) + removed.target.path.printable + size
            + style.faint("  (\(removed.reason.because(on: clock).printable))")
    }

    private func line(for end: Event.SetEnd) -> (text: String, isResult: Bool)? {
        let names = Owners(end.set.owners).description.printable
        guard let obstacle = end.obstacle else {
            guard !isQuiet else { return nil }
            let folder = end.set.folder?.printable ?? ""
            let way =
                end.way == .exchange
                ? "\(folder) was exchanged as a whole" : "one rename after another"
            var counts = Counted(end.files, "file").description + " put in place together"
            if end.removed > 0 { counts += ", \(end.removed) removed" }
            var text = style.label("set", .good) + "\(names): \(counts); \(way)"
            for path in end.kept {
                text += "\n" + errorStyle.label("note", .warning)
                text += "a file that changed meanwhile is kept as \(path.printable)"
            }
            return (text, true)
        }
        var text = errorStyle.label("set", .failure) + names + ": "
        if end.isUnfinished {
            text += "stopped while it was put in place; the next run finishes it"
        } else {
            text += "all or nothing, so nothing was changed"
        }
        var because = obstacle.because(on: clock).printable
        if because.hasSuffix(".") { because.removeLast() }
        text += ": \(because)"
        if end.obstacles > 1 { text += " (and \(end.obstacles - 1) more)" }
        text += "."
        if end.files > 0, !end.isUnfinished {
            text += " \(Counted(end.files, "file")) that could be put in place"
            text += " \(Counted.verb(end.files, "waits", "wait")) for the next run."
        }
        return (text, false)
    }

    private func line(for again: Event.Again, _ word: String) -> String {
        let wait = again.wait > 0 ? " in \(Double(again.wait / 100) / 10) s" : ""
        return errorStyle.label("note", .warning)
            + "\(again.target.path.printable): \(word)\(wait): "
            + again.cause.message(without: again.target).printable
    }

    /// Returns the first line of a report.
    static func title(root: String, shard: String?) -> String {
        "root \(root.printable)" + (shard.map { ", shard \($0)" } ?? "")
    }

    private func summary(_ summary: Summary) -> String {
        var parts: [String] = []
        for outcome in Outcome.allCases where summary[outcome] > 0 {
            parts.append("\(summary[outcome]) \(outcome.word)")
        }
        if summary.removed > 0 { parts.append("\(summary.removed) removed") }
        if summary.orphans > 0 {
            parts.append("\(summary.orphans) no longer wanted (--prune removes)")
        }
        let counts = parts.isEmpty ? "nothing to do" : parts.joined(separator: ", ")
        var text = summary.shard.map { "Shard \($0): " } ?? ""
        text += "\(Counted(summary.resources, "resource")): \(counts)."
        text += " \(ByteCount(summary.bytesReceived)) received"
        if summary.bytesReused > 0 { text += ", \(ByteCount(summary.bytesReused)) reused" }
        text += ", \(Counted(summary.requests, "request"))"
        if summary.pushed > 0 { text += ", \(summary.pushed) put into the store" }
        if summary.unpushed > 0 { text += ", \(summary.unpushed) not put there" }
        text += ", \(TextReport.seconds(summary.seconds))."
        return text
    }

    /// Returns seconds with one decimal, or below a second with three.
    static func seconds(_ value: Double) -> String {
        let scale = value < 1 ? 1000.0 : 10.0
        return "\((value * scale).rounded() / scale) s"
    }
}

extension Outcome {
    /// The word for people.
    var word: String {
        switch self {
        case .notModified: "not modified"
        case .conflict: "in conflict"
        case .noRoom: "no room"
        default: rawValue
        }
    }
}
