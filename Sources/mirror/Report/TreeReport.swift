import MirrorKit
import Synchronization

/// What is known of a tree at one moment: its files, their sources, and what runs did.
///
/// The report has a bounded size. Each long list keeps its first entries, and a number counts the
/// rest.
struct TreeReport: Sendable {
    /// The greatest number of files that the report lists.
    static let mostFiles = 1000
    /// The greatest number of files that the report lists for one reason for attention, or for one
    /// cause of failures.
    static let mostListed = 100
    /// The greatest number of runs that the report lists.
    static let mostRuns = 30

    /// The root's path.
    var root: String
    /// When the report was made.
    var madeAt: Instant
    /// The manifests that the root remembers.
    var manifests: [RememberedManifest] = []
    /// The counts of all files.
    private(set) var totals: TreeTotals
    /// How the files divide by area, freshness and proof.
    private(set) var shares = FileShares()
    /// The hosts from which the files came.
    private(set) var hosts = HostBook()
    /// The first files, in the order of their paths' bytes.
    private(set) var files: [StoredFile] = []
    /// The number of files that are not in `files`.
    private(set) var moreFiles = 0
    /// The last runs that had something to do, the newest first.
    var runs: [PastRun] = []
    /// The last run that has a log, with the contents of the log. `nil` means that no run has one.
    private(set) var lastRun: LoggedRun?

    /// Creates a report without files and runs.
    init(root: String, madeAt: Instant, paused: PausedTargets = PausedTargets()) {
        (self.root, self.madeAt) = (root, madeAt)
        totals = TreeTotals(listing: TreeReport.mostListed, paused: paused)
    }

    /// A run with the contents of its log.
    struct LoggedRun: Sendable {
        /// The run.
        let run: PastRun
        /// The failures of the run, by their causes.
        fileprivate(set) var failures = FailureCauses(listing: mostListed)
        /// Failed requests of decisions that did not fail in the end, by their causes.
        fileprivate(set) var passing = FailureCauses(listing: mostListed)
        /// The transfers of the run.
        fileprivate(set) var transfers = TransferLog()
        /// The number of decisions in the run's log.
        fileprivate(set) var decisions = 0

        /// The milliseconds that the run took. 0 means that the run has no recorded end.
        var length: Int64 {
            guard let seconds = run.summary?.seconds, seconds.isFinite, seconds > 0 else {
                return 0
            }
            return Int64(min(seconds, 1e12) * 1000)
        }
    }

    /// Whether the report has no files and no runs.
    var isEmpty: Bool { totals.counts.isEmpty && runs.isEmpty }

    /// Adds a file. The caller adds files in the order of their paths.
    ///
    /// - Parameter outcome: how the last run ended for the file, if that is a reason for attention.
    mutating func add(_ file: StoredFile, ended outcome: Outcome? = nil) {
        totals.add(file, ended: outcome)
        shares.add(file)
        hosts.add(file)
        if files.count < TreeReport.mostFiles { files.append(file) } else { moreFiles += 1 }
    }

    /// Begins the log of a run, the newest run first. A run that only removed files is not `lastRun`.
    mutating func begin(_ run: PastRun) {
        if lastRun == nil, !run.onlyRemoved { lastRun = LoggedRun(run: run) }
    }

    /// Adds a decision from the log of a run.
    mutating func add(_ decision: PastDecision, of run: PastRun) {
        hosts.add(decision)
        guard lastRun?.run.id == run.id else { return }
        lastRun?.decisions += 1
        lastRun?.transfers.add(decision)
        if let error = decision.error {
            lastRun?.failures.add(error, of: decision.target, isOptional: decision.isOptional)
        }
        // The failed requests of a failed decision belong to the failure above.
        guard decision.error == nil else { return }
        for failure in decision.failures {
            var error = MirrorError(failure.code, failure.message)
            error.source = decision.source
            error.status = failure.status
            lastRun?.passing.add(error, of: decision.target, isOptional: true)
        }
    }
}

/// The counts of a tree's files, and the files that need attention.
struct TreeTotals: Sendable, Hashable {
    /// Why files need attention, in the order of importance.
    enum Attention: String, Sendable, Hashable, CaseIterable {
        /// The last run failed to bring the file up to date.
        case failed
        /// The last run found no room for the file on the disk.
        case noRoom
        case conflict, obstructed, changed, untracked = "stranger", missing
        /// The last run could not confirm the file.
        case stale
        /// The file is awaited, and `pause --sticky` holds it back.
        case paused
        case orphan
    }

    /// The files that need attention for one reason.
    struct Group: Sendable, Hashable {
        /// The number of files that need attention for this reason.
        var count = 0
        /// The targets of the first of these files.
        var targets: [Target] = []
        /// The number of these files whose targets are not in `targets`.
        var more: Int { count - targets.count }

        /// Counts a file, whose target is listed if there are fewer than `most`.
        mutating func add(_ target: Target, listing most: Int) {
            count += 1
            if targets.count < most { targets.append(target) }
        }
    }

    /// The number of files that are there, without conflict copies.
    private(set) var files = 0
    /// The bytes of the files that are there.
    private(set) var bytes: Int64 = 0
    /// The number of files that the next sync asks about.
    private(set) var due = 0
    /// The number of unfinished downloads.
    private(set) var parts = 0
    /// The number of bytes in unfinished downloads.
    private(set) var partBytes: Int64 = 0
    /// The number of files in each state.
    private(set) var counts: [StoredFile.State: Int] = [:]
    /// The number of files that no manifest wants any more.
    private(set) var orphans = 0
    /// The files that need attention, by reason.
    private(set) var groups: [Attention: Group] = [:]
    /// The greatest number of files that a group lists.
    private let mostListed: Int
    /// The targets that no run fetches until a user resumes them.
    let paused: PausedTargets

    /// Creates totals of no files. Each group lists at most `mostListed` files.
    init(listing mostListed: Int = 10, paused: PausedTargets = PausedTargets()) {
        (self.mostListed, self.paused) = (mostListed, paused)
    }

    /// Counts a file.
    ///
    /// - Parameter outcome: how the last run ended for the file, if that is a reason for attention.
    mutating func add(_ file: StoredFile, ended outcome: Outcome? = nil) {
        counts[file.state, default: 0] += 1
        // A conflict copy is not at a target.
        if let size = file.size, file.state != .conflict {
            files += 1
            bytes = bytes.addingSaturated(size)
        }
        if case .due = file.freshness, file.state != .missing { due += 1 }
        if file.partBytes > 0 {
            parts += 1
            partBytes = partBytes.addingSaturated(file.partBytes)
        }
        if file.isOrphan { orphans += 1 }
        let isHeldBack = file.isAwaited && paused.contains(file.target)
        if let attention = isHeldBack ? .paused : Attention(outcome) ?? Attention(file) {
            groups[attention, default: Group()].add(file.target, listing: mostListed)
        }
    }
}

extension StoredFile {
    /// Whether the next sync would fetch the file or ask about it.
    fileprivate var isAwaited: Bool {
        switch state {
        case .missing: !isOrphan
        case .intact: isDue == true
        case .changed, .evicted, .untracked, .obstructed, .conflict: false
        }
    }
}

extension TreeTotals.Attention {
    /// The reason for attention that an outcome gives. Returns nil if the outcome gives none.
    fileprivate init?(_ outcome: Outcome?) {
        switch outcome {
        case .failed: self = .failed
        case .noRoom: self = .noRoom
        case .stale: self = .stale
        default: return nil
        }
    }

    /// The reason why a file needs attention. Returns nil if the file needs none.
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
struct FileShares: Sendable, Hashable {
    /// A number of files and their bytes.
    struct Share: Sendable, Hashable {
        /// The number of files.
        var files = 0
        /// The bytes of the files.
        var bytes: Int64 = 0

        /// Counts a file.
        mutating func add(_ size: Int64) {
            files += 1
            bytes = bytes.addingSaturated(size)
        }
    }

    /// How fresh files are, the freshest first.
    enum Age: String, Sendable, Hashable, CaseIterable {
        /// No server needs to be asked, because the file is pinned or never refreshed.
        case settled
        /// Fresh until a known time.
        case fresh
        /// The next sync asks a server about the file.
        case due
        /// The freshness is unknown, because no available manifest wants the file.
        case unjudged
    }

    /// The files of each area.
    private(set) var areas: [Area: Share] = [:]
    /// The files of each freshness.
    private(set) var ages: [Age: Share] = [:]
    /// The files by what proves the bytes that mirror put there.
    private(set) var proofs: [Verification: Share] = [:]
    /// When the next file ceases to be fresh. `nil` means that none does at a known time.
    private(set) var nextDue: Instant?
    /// The oldest of the last confirmations, among files that mirror asks for again.
    private(set) var oldestConfirmation: Instant?

    /// Creates shares of no files.
    init() {}

    /// Counts a file. A missing file and a conflict copy belong to no share.
    mutating func add(_ file: StoredFile) {
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

extension TreeReport {
    /// The most bytes of logs that a report reads; the newest run's log is read first.
    private static let mostLogBytes: Int64 = 64 << 20

    /// Makes a report of what is in the tree, where it came from, and what runs did.
    ///
    /// The report makes no request, and reads only files in doubt. It takes no lock, so a run can
    /// go on at the same time. Its memory does not grow with the number of files. Throws
    /// `MirrorError` with `inputOutput` or `indexNewer`.
    init(of session: MirrorSession, on manifests: [Manifest]) async throws {
        var empty = TreeReport(
            root: session.root, madeAt: .now, paused: try session.pausedTargets())
        empty.manifests = try await session.manifests.remembered()
        empty.runs = try await session.history.runs(limit: TreeReport.mostRuns)
        let troubles = try await session.history.troubles(of: empty.runs)
        let report = Mutex(empty)
        let last = Mutex<String?>(nil)
        try await session.history.forEachDecision(
            of: empty.runs, atMost: TreeReport.mostLogBytes
        ) { run, decision in
            let isFirst = last.withLock { last in
                defer { last = run.id }
                return last != run.id
            }
            report.withLock { report in
                if isFirst { report.begin(run) }
                report.add(decision, of: run)
            }
        }
        try await session.forEachFile(of: manifests) { file in
            report.withLock { $0.add(file, ended: troubles[file.target]) }
        }
        self = report.withLock { $0 }
    }
}
