/// What a walk over the files counts, and the files that need attention.
public struct TreeTotals: Sendable, Hashable {
    /// Why files need attention, in the order of importance.
    public enum Attention: String, Sendable, Hashable, CaseIterable {
        /// The last run failed to bring the file up to date.
        case failed
        case conflict, obstructed, changed, untracked = "stranger", missing
        /// The last run could not confirm the file.
        case stale
        case orphan
    }

    /// The files that need attention for one reason.
    public struct Group: Sendable, Hashable {
        /// How many they are.
        public var count = 0
        /// The first of them.
        public var targets: [Target] = []
        /// How many are not among `targets`.
        public var more: Int { count - targets.count }
    }

    /// Files that are there, conflict copies apart.
    public private(set) var files = 0
    /// The bytes of the files that are there.
    public private(set) var bytes: Int64 = 0
    /// Files that the next sync asks about.
    public private(set) var due = 0
    /// Unfinished downloads.
    public private(set) var parts = 0
    /// The bytes in them.
    public private(set) var partBytes: Int64 = 0
    /// Files by their states.
    public private(set) var counts: [StoredFile.State: Int] = [:]
    /// Files that no manifest wants any more.
    public private(set) var orphans = 0
    /// The files that need attention.
    public private(set) var groups: [Attention: Group] = [:]
    /// How many files of a group are listed.
    private let mostListed: Int

    /// Nothing counted; lists so many files of each group.
    public init(listing mostListed: Int = 10) { self.mostListed = mostListed }

    /// Counts a file; the outcome is that of the last run, if it failed the file or left it stale.
    public mutating func add(_ file: StoredFile, ended outcome: Outcome? = nil) {
        counts[file.state, default: 0] += 1
        // A copy that made room is not at a target.
        if let size = file.size, file.state != .conflict {
            files += 1
            bytes = bytes.addingSaturated(size)
        }
        if case .due = file.freshness { due += 1 }
        if file.partBytes > 0 {
            parts += 1
            partBytes = partBytes.addingSaturated(file.partBytes)
        }
        if file.isOrphan { orphans += 1 }
        if let attention = Attention(outcome) ?? Attention(file) { list(file.target, attention) }
    }

    private mutating func list(_ target: Target, _ attention: Attention) {
        groups[attention, default: Group()].count += 1
        if groups[attention, default: Group()].targets.count < mostListed {
            groups[attention, default: Group()].targets.append(target)
        }
    }
}

extension TreeTotals.Attention {
    /// The reason that a run's outcome is; nil for one that is none.
    fileprivate init?(_ outcome: Outcome?) {
        switch outcome {
        case .failed: self = .failed
        case .stale: self = .stale
        default: return nil
        }
    }

    /// The reason why a file needs attention; nil for one that needs none.
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
