/// What is known of a tree at one moment: its files, their sources, and what runs did.
///
/// Its size is bounded: of many files, hosts, runs and transfers it has the first, and numbers.
public struct TreeReport: Sendable {
    /// How many files are listed.
    public static let mostFiles = 1000
    /// How many files that need attention for one reason are listed, and how many of one cause.
    public static let mostListed = 100
    /// How many runs are listed.
    public static let mostRuns = 30

    /// The root's path.
    public var root: String
    /// When it was made.
    public var madeAt: Instant
    /// The manifests that the root remembers.
    public var manifests: [RememberedManifest] = []
    /// What was counted.
    public private(set) var totals = TreeTotals(listing: mostListed)
    /// How the files divide.
    public private(set) var shares = FileShares()
    /// Where they came from.
    public private(set) var hosts = HostBook()
    /// The first files, in the order of their paths' bytes.
    public private(set) var files: [StoredFile] = []
    /// How many files are not among them.
    public private(set) var moreFiles = 0
    /// The last runs that had something to do, the newest first.
    public var runs: [PastRun] = []
    /// The last run that has a log, and what its log says; nil where there is none.
    public private(set) var lastRun: LoggedRun?

    /// A run with what its log says.
    public struct LoggedRun: Sendable {
        /// The run.
        public let run: PastRun
        /// Failures by their causes.
        public fileprivate(set) var failures = FailureCauses(listing: mostListed)
        /// Requests that failed in passing, by their causes.
        public fileprivate(set) var passing = FailureCauses(listing: mostListed)
        /// Its transfers.
        public fileprivate(set) var transfers = TransferLog()
        /// How many decisions its log has.
        public fileprivate(set) var decisions = 0

        /// The milliseconds that the run took; 0 where it has no end.
        public var length: Int64 {
            guard let seconds = run.summary?.seconds, seconds.isFinite, seconds > 0 else {
                return 0
            }
            return Int64(min(seconds, 1e12) * 1000)
        }
    }

    /// A report of an empty tree.
    public init(root: String, madeAt: Instant) {
        self.root = root
        self.madeAt = madeAt
    }

    /// Whether there is nothing: no file, no run.
    public var isEmpty: Bool { totals.counts.isEmpty && runs.isEmpty }

    /// Adds a file; the caller adds files in the order of their paths.
    public mutating func add(_ file: StoredFile) {
        totals.add(file)
        shares.add(file)
        hosts.add(file)
        if files.count < TreeReport.mostFiles { files.append(file) } else { moreFiles += 1 }
    }

    /// Begins a run's log; the first one, which is the newest, is told in detail.
    public mutating func begin(_ run: PastRun) {
        if lastRun == nil { lastRun = LoggedRun(run: run) }
    }

    /// Adds a decision of the log of a run.
    public mutating func add(_ decision: PastDecision, of run: PastRun) {
        hosts.add(decision)
        guard lastRun?.run.id == run.id else { return }
        lastRun?.decisions += 1
        lastRun?.transfers.add(decision)
        if let error = decision.error {
            lastRun?.failures.add(error, of: decision.target, isOptional: decision.isOptional)
        }
        // What was tried again in vain is the failure above.
        guard decision.error == nil else { return }
        for failure in decision.failures {
            var error = MirrorError(failure.code, failure.message)
            error.source = decision.source
            error.status = failure.status
            lastRun?.passing.add(error, of: decision.target, isOptional: true)
        }
    }
}

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

/// How the files that are there divide: by area, by freshness, and by what vouches for them.
public struct FileShares: Sendable, Hashable {
    /// A number of files and their bytes.
    public struct Share: Sendable, Hashable {
        /// How many.
        public var files = 0
        /// Their bytes.
        public var bytes: Int64 = 0

        /// Counts a file.
        mutating func add(_ size: Int64) {
            files += 1
            bytes = bytes.addingSaturated(size)
        }
    }

    /// How fresh files are, the freshest first.
    public enum Age: String, Sendable, Hashable, CaseIterable {
        /// No server needs to be asked: pinned, or never refreshed.
        case settled
        /// Fresh until a known time.
        case fresh
        /// The next sync asks about it.
        case due
        /// Unknown, because no manifest at hand wants it.
        case unjudged
    }

    /// By area.
    public private(set) var areas: [Area: Share] = [:]
    /// By freshness.
    public private(set) var ages: [Age: Share] = [:]
    /// By what vouches for the bytes that mirror put there.
    public private(set) var proofs: [Verification: Share] = [:]
    /// When the next file ceases to be fresh; nil where none does at a known time.
    public private(set) var nextDue: Instant?
    /// When the file was confirmed whose source was asked longest ago, among those that are asked.
    public private(set) var oldestConfirmation: Instant?

    /// Nothing counted.
    public init() {}

    /// Counts a file; one that is not there, and a conflict copy, belong to no share.
    public mutating func add(_ file: StoredFile) {
        guard let size = file.size, file.state != .conflict else { return }
        areas[file.target.area, default: Share()].add(size)
        if let proof = file.verified { proofs[proof, default: Share()].add(size) }
        ages[Age(file.freshness), default: Share()].add(size)
        switch file.freshness {
        case .fresh(let until?):
            nextDue = min(nextDue ?? until, until)
            note(file.confirmedAt)
        case .due: note(file.confirmedAt)
        case .fresh(nil), nil: break
        }
    }

    private mutating func note(_ confirmed: Instant?) {
        guard let confirmed else { return }
        oldestConfirmation = min(oldestConfirmation ?? confirmed, confirmed)
    }
}

extension FileShares.Age {
    fileprivate init(_ freshness: Freshness?) {
        self =
            switch freshness {
            case .fresh(nil): .settled
            case .fresh: .fresh
            case .due: .due
            case nil: .unjudged
            }
    }
}
