import MirrorKit
import MirrorModel

/// What `mirror status` counts, and the files that need attention, from one walk over the files.
struct StatusDashboard {
    /// Why files need attention, in the order of the groups.
    enum Group: CaseIterable {
        case conflict, obstructed, changed, untracked, missing, orphan

        /// What the files are, and what helps.
        func heading(_ count: Int) -> String {
            switch self {
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

    /// How many files of a group are listed.
    static let mostListed = 10

    private(set) var files = 0
    private(set) var bytes: Int64 = 0
    private(set) var due = 0
    private(set) var parts = 0
    private(set) var partBytes: Int64 = 0
    private(set) var counts: [StoredFile.State: Int] = [:]
    private(set) var orphans = 0
    private(set) var listed: [Group: [Target]] = [:]
    private var groups: [Group: Int] = [:]

    /// Counts a file.
    mutating func add(_ file: StoredFile) {
        counts[file.state, default: 0] += 1
        if file.size != nil, file.state != .conflict { files += 1 }
        bytes = bytes.addingSaturated(file.size ?? 0)
        if case .due = file.freshness { due += 1 }
        if file.partBytes > 0 {
            parts += 1
            partBytes = partBytes.addingSaturated(file.partBytes)
        }
        if file.isOrphan { orphans += 1 }
        guard let group = Group(file) else { return }
        groups[group, default: 0] += 1
        if listed[group, default: []].count < Self.mostListed {
            listed[group, default: []].append(file.target)
        }
    }

    /// Counts files about which there is nothing to say.
    mutating func add(_ kept: KeptFiles) {
        if kept.count == 0 { return }
        counts[.intact, default: 0] += kept.count
        files += kept.count
        bytes = bytes.addingSaturated(kept.bytes)
    }

    /// The line of totals; `good` is the last run that ended well, `last` the last that ended.
    func totals(good: PastRun?, last: PastRun?, clock: LocalClock) -> String {
        var facts = ["\(due) due"]
        let stale = last?.summary?[.stale] ?? 0
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
        var text = "\(Counted(files, "file")), \(ByteCount(bytes)): "
        text += facts.joined(separator: ", ") + "."
        if let good { text += " Last good run: \(clock.description(of: good.startedAt))." }
        return text
    }

    /// A heading and a list for each group that has files.
    var attention: [(heading: String, targets: [Target], more: Int)] {
        Group.allCases.compactMap { group in
            guard let count = groups[group], let targets = listed[group] else { return nil }
            return (group.heading(count), targets, count - targets.count)
        }
    }
}

extension StatusDashboard.Group {
    /// The group of a file; nil for one that needs no attention.
    fileprivate init?(_ file: StoredFile) {
        switch file.state {
        case .conflict: self = .conflict
        case .obstructed: self = .obstructed
        case .untracked: self = .untracked
        case .missing where file.isOrphan: return nil
        case .missing: self = .missing
        case .changed: self = .changed
        case .intact where file.isOrphan: self = .orphan
        case .intact, .evicted: return nil
        }
    }
}
