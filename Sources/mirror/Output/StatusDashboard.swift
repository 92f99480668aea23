import MirrorKit
import MirrorModel

// What `mirror status` says of the totals, and of the files that need attention.

extension TreeTotals {
    /// The line of totals; `good` is the last run that ended well, `last` the last that ended.
    func line(good: PastRun?, last: PastRun?, clock: LocalClock) -> String {
        var text = "\(Counted(files, "file")), \(ByteCount(bytes)): "
        text += facts(last: last).joined(separator: ", ") + "."
        if let good { text += " Last good run: \(clock.description(of: good.startedAt))." }
        return text
    }

    /// What there is to say about the files, each with its number.
    func facts(last: PastRun?) -> [String] {
        var facts = ["\(due) due"]
        let stale = stale(last)
        if stale > 0 { facts.append("\(stale) stale") }
        for (state, word) in [
            (StoredFile.State.changed, "edited"), (.missing, "missing"),
            (.evicted, "evicted"), (.untracked, "not mirror's"), (.obstructed, "obstructed"),
        ] {
            if let count = counts[state], count > 0 { facts.append("\(count) \(word)") }
        }
        if let count = counts[.conflict] { facts.append("\(Counted(count, "conflict"))") }
        if orphans > 0 { facts.append("\(Counted(orphans, "orphan"))") }
        if parts > 0 { facts.append("\(Counted(parts, "part")) (\(ByteCount(partBytes)))") }
        return facts
    }

    /// How many files are stale; a run without a log has told their number, but not their names.
    func stale(_ last: PastRun?) -> Int {
        max(last?.summary?[.stale] ?? 0, groups[.stale]?.count ?? 0)
    }

    /// A heading and a list for each reason why files need attention.
    var attention: [(heading: String, targets: [Target], more: Int)] {
        Attention.allCases.compactMap { attention in
            groups[attention].map { (attention.heading($0.count), $0.targets, $0.more) }
        }
    }
}

extension TreeTotals.Attention {
    /// What the files are, and what helps.
    func heading(_ count: Int) -> String {
        switch self {
        case .failed: "\(count) failed in the last run; mirror why TARGET says what was tried"
        case .stale:
            "\(count) stale: the last run could not confirm them; mirror why TARGET says why"
        case .conflict:
            "\(Counted(count, "conflict copy", plural: "conflict copies")), "
                + "until mirror resolve ends the conflict"
        case .obstructed: "\(count) obstructed: something that is no file is in the way"
        case .changed: "\(count) edited: changed since mirror put them there"
        case .untracked:
            "\(count) that mirror did not put there; sync adopts those with the right bytes"
        case .missing: "\(count) missing; mirror sync fetches them"
        case .orphan:
            "\(Counted(count, "orphan")) that no manifest wants; mirror prune removes them"
        }
    }
}
