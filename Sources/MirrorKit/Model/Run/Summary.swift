/// How a resource ended; every resource of a run has exactly one outcome.
public enum Outcome: String, Sendable, Hashable, CaseIterable {
    case fetched, resumed, updated, notModified, unchanged, copied, moved, adopted, kept, repaired
    case edited, conflict, stale
    /// Missing or due, and not fetched now: hours, network, budget or a pause forbid it.
    case deferred
    /// Removed from Caches or tmp, or not fetched, because there is no room for the file now.
    case evicted
    /// Not fetched, because there is no room for the file on the disk.
    case noRoom
    /// Left out by a tag, or not begun when the run ended early.
    case skipped
    /// Begun, and not finished when the run ended early.
    case interrupted
    case failed
}

extension Outcome {
    /// The outcome's position in `allCases`.
    var number: Int {
        switch self {
        case .fetched: 0
        case .resumed: 1
        case .updated: 2
        case .notModified: 3
        case .unchanged: 4
        case .copied: 5
        case .moved: 6
        case .adopted: 7
        case .kept: 8
        case .repaired: 9
        case .edited: 10
        case .conflict: 11
        case .stale: 12
        case .deferred: 13
        case .evicted: 14
        case .noRoom: 15
        case .skipped: 16
        case .interrupted: 17
        case .failed: 18
        }
    }
}

/// The totals of a run. They are the run's last event.
public struct Summary: Sendable, Hashable {
    /// How many resources the manifests have. This is the sum over all outcomes.
    public var resources = 0
    /// The number of resources with each outcome.
    public var outcomes: [Outcome: Int] = [:]
    /// How many of the failed resources are optional.
    public var failedOptional = 0
    /// How many of the skipped resources the caller's tags left out.
    public var deselected = 0
    /// How many orphans were removed.
    public var removed = 0
    /// How many orphans stayed.
    public var orphans = 0
    /// How many sets were left as they were, because not all of their files could be promoted.
    public var setsLeft = 0
    /// How many promoted files have bytes that no size or digest could verify.
    public var unverified = 0
    /// Body bytes that arrived.
    public var bytesReceived: Int64 = 0
    /// Bytes of parts that were not fetched again.
    public var bytesReused: Int64 = 0
    /// How many of the interrupted resources have a part that a later run can continue.
    public var parts = 0
    /// The bytes that these resources' parts have.
    public var partBytes: Int64 = 0
    /// How many requests were made.
    public var requests = 0
    /// How many files were put into a store that lacked them.
    public var pushed = 0
    /// How many files could not be put into a store.
    public var unpushed = 0
    /// The duration of the run in seconds, counted from the moment that the run's options name.
    public var seconds: Double = 0
    /// The error that ended the run early.
    ///
    /// `nil` means that the run completed, or that the first failure of a resource ended it.
    public var error: MirrorError?
    /// The errors of the resources that failed, the first 20 of them. Each names its target.
    public var failures: [MirrorError] = []
    /// The resulting exit code.
    public var exit: Int32 = 0
    /// The root's path.
    public var root = ""
    /// The part of all targets that the run had, such as `3/8`. `nil` means all of them.
    public var shard: String?

    /// A run in which nothing happened.
    public init() {}

    /// Records a failure that occurred after the last resource had ended, while the run was closed.
    ///
    /// An error that had already ended the run stays, and so does the exit code of a signal.
    public mutating func enter(late failure: MirrorError) {
        guard error == nil else { return }
        error = failure
        let code = failure.exitCode
        // Running again helps only if no other resource failed for good.
        if exit < 128, !(exit == 1 && code == 69) { exit = code }
    }

    /// The number of resources with this outcome.
    public subscript(outcome: Outcome) -> Int {
        get { outcomes[outcome, default: 0] }
        set { outcomes[outcome] = newValue }
    }
}

/// Counts how the resources of a run ended.
///
/// Every resource is entered once. A second entry would be a bug in mirror: the summary's numbers
/// would no longer add up to its resources.
struct SummaryCounts: Sendable {
    /// All numbers so far, except those of the outcomes.
    private var others = Summary()
    /// How many resources ended in each way. A dictionary would be hashed with each resource.
    private var outcomes = [Int](repeating: 0, count: Outcome.allCases.count)
    private var healing = 0
    private var lasting = 0
    private var staleBeyondLimit = 0
    /// How many resources that are not optional found no room on the disk.
    private var withoutRoom = 0
    /// How many resources that are not optional failed because the disk was full.
    private var ofFullDisk = 0

    /// Makes the counts of a run over a number of resources.
    init(resources: Int, skipped: Int, orphans: Int, root: String) {
        others.resources = resources
        others.deselected = skipped
        others.orphans = orphans
        others.root = root
        count(.skipped, skipped)
    }

    /// The numbers so far.
    var summary: Summary {
        var summary = others
        for outcome in Outcome.allCases where outcomes[outcome.number] > 0 {
            summary[outcome] = outcomes[outcome.number]
        }
        return summary
    }

    private mutating func count(_ outcome: Outcome, _ count: Int = 1) {
        outcomes[outcome.number] += count
    }

    /// Enters a resource that ended without a failure.
    mutating func enter(
        _ done: Event.Done, isAcceptedStale: Bool = true, isOptional: Bool = false
    ) {
        let outcome = done.outcome
        count(outcome)
        let isPromotion: Bool
        switch outcome {
        case .fetched, .resumed, .updated, .repaired, .conflict: isPromotion = true
        default: isPromotion = false
        }
        if isPromotion, done.verified == .none { others.unverified += 1 }
        if outcome == .stale, !isAcceptedStale { staleBeyondLimit += 1 }
        if outcome == .noRoom, !isOptional { withoutRoom += 1 }
    }

    /// Enters resources that were kept as they are.
    mutating func enterKept(_ count: Int) { self.count(.kept, count) }

    /// Enters a resource that had begun, and was not finished when the run ended.
    mutating func enterInterrupted() { count(.interrupted) }

    /// Enters how many bytes of each interrupted resource's part a later run can use.
    mutating func enterParts(_ bytes: some Sequence<Int64>) {
        for bytes in bytes where bytes > 0 {
            others.parts += 1
            others.partBytes = others.partBytes.addingSaturated(bytes)
        }
    }

    /// Enters resources that were not begun when the run ended.
    mutating func enterLeftOut(_ count: Int) { self.count(.skipped, count) }

    /// Enters a resource that failed.
    mutating func enter(_ failed: Event.Failed) {
        count(.failed)
        if others.failures.count < 20 { others.failures.append(failed.error) }
        if failed.isOptional {
            others.failedOptional += 1
        } else if failed.error.code == .noSpace {
            ofFullDisk += 1
        } else if failed.error.isRetryable {
            healing += 1
        } else {
            lasting += 1
        }
    }

    /// Enters the cost of a transfer, whether or not the transfer succeeded.
    mutating func enter(_ cost: TransferCost) {
        others.requests += cost.requests
        others.bytesReceived += cost.bytesReceived
        others.bytesReused += cost.bytesReused
    }

    /// Enters the removal of a file without a resource, or the failure to remove it.
    mutating func enterRemoval(of step: Step, succeeded: Bool) {
        if succeeded {
            others.removed += 1
        } else {
            if step.kind == .remove { others.orphans += 1 }
            lasting += 1
        }
    }

    /// Enters the failure to remove a set's orphan, which is counted as an orphan with its set.
    mutating func enterFailedOrphan() { lasting += 1 }

    /// Enters a file whose removal was not begun when the run ended.
    mutating func enterRemovalLeft(of step: Step) {
        if step.resource != nil {
            count(.skipped)
        } else if step.kind == .remove {
            others.orphans += 1
        }
    }

    /// Enters a set that could not be promoted.
    mutating func enterSetLeft() { others.setsLeft += 1 }

    /// Returns the summary of a run that ends now.
    ///
    /// - Parameters:
    ///   - error: the error that ended the run early. `nil` means that no error ended it.
    ///   - exit: an exit code that overrides all others, as after a signal. `nil` means that there
    ///     is none.
    ///   - seconds: how long the run took.
    func closed(error: MirrorError?, exit: Int32?, seconds: Double) -> Summary {
        var summary = summary
        summary.error = error
        summary.seconds = seconds
        summary.exit =
            exit
            ?? Summary.exitCode(
                endedBy: error?.code, healing: healing, lasting: lasting, stale: staleBeyondLimit,
                withoutRoom: withoutRoom, ofFullDisk: ofFullDisk)
        return summary
    }
}

extension Summary {
    /// Writes the summary as members of an object.
    func writeMembers(to json: inout JSONWriter) {
        json.member("exit", exit)
        json.key("error")
        if let error {
            json.object { error.writeMembers(to: &$0) }
        } else {
            json.null()
        }
        json.member("root", root)
        if let shard { json.member("shard", shard) }
        json.member("resources", resources)
        for outcome in Outcome.allCases {
            json.key(named: outcome.summaryKey)
            json.number(self[outcome])
        }
        json.member("failedOptional", failedOptional)
        json.member("removed", removed)
        json.member("orphans", orphans)
        json.member("unverified", unverified)
        json.member("setsLeft", setsLeft)
        json.member("bytesReceived", bytesReceived)
        json.member("bytesReused", bytesReused)
        json.member("partBytes", partBytes)
        json.member("requests", requests)
        if pushed > 0 || unpushed > 0 {
            json.member("pushed", pushed)
            json.member("unpushed", unpushed)
        }
        json.key("seconds")
        json.number(seconds, decimals: 3)
    }

    /// The summary as a JSON object.
    public var json: String {
        var json = JSONWriter()
        json.object { writeMembers(to: &$0) }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

extension Outcome {
    /// The name of the summary's JSON member that counts this outcome.
    var summaryKey: String {
        switch self {
        case .notModified: "revalidated"
        case .conflict: "conflicts"
        default: rawValue
        }
    }
}

/// How far a run came before its early end.
extension Summary {
    /// How many resources ended as they should.
    public var finished: Int {
        resources - self[.skipped] - self[.interrupted] - self[.deferred] - self[.noRoom]
            - self[.failed]
    }

    /// How many resources a further run still has to do, without those that failed.
    public var unfinished: Int {
        self[.skipped] - deselected + self[.interrupted] + self[.deferred] + self[.noRoom]
    }

    /// The counts of an early end, e.g. `64 done, 736 to go, 3 parts kept (41.0 MiB)`.
    ///
    /// Failures and parts are left out if there are none.
    public var interimCounts: String {
        var words = ["\(finished) done"]
        if self[.failed] > 0 { words.append("\(self[.failed]) failed") }
        words.append("\(unfinished) to go")
        if parts > 0 { words.append("\(Counted(parts, "part")) kept (\(ByteCount(partBytes)))") }
        return words.joined(separator: ", ")
    }

    /// The one line that says what an interruption left.
    public var interruption: String {
        resources == 0
            ? "Interrupted before anything was fetched. Run again to go on."
            : "Interrupted: \(interimCounts). Run again to go on."
    }
}

extension PartRecord {
    /// How many of the part's bytes a later run can use, as far as the index knows.
    ///
    /// 0 for an anonymous part, because it is never resumed.
    var resumableBytes: Int64 {
        if identity == .anonymous { return 0 }
        let front = milestones.last?.length ?? 0
        return extents.reduce(front) { sum, extent in
            let range = extent.range
            return sum.addingSaturated(max(0, range.upperBound - max(range.lowerBound, front)))
        }
    }
}
