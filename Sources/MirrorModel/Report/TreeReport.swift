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

    /// Takes in a file, in the order of the paths.
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

    /// Takes in a decision of the log of a run.
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
