/// Counts how the resources of a run ended.
///
/// Every resource is entered once. A second entry would be a bug in mirror, and the summary's numbers
/// would no longer add up to its resources.
package struct Ledger: Sendable {
    /// The numbers so far, but for those of the outcomes.
    private var others = Summary()
    /// How many resources ended in each way. A dictionary would be hashed with each resource.
    private var outcomes = [Int](repeating: 0, count: Outcome.allCases.count)
    private var healing = 0
    private var lasting = 0
    private var staleBeyondLimit = 0

    /// A ledger of a run over a number of resources.
    package init(resources: Int, skipped: Int, orphans: Int, root: String) {
        others.resources = resources
        others.deselected = skipped
        others.orphans = orphans
        others.root = root
        count(.skipped, skipped)
    }

    /// The numbers so far.
    package var summary: Summary {
        var summary = others
        for outcome in Outcome.allCases where outcomes[outcome.number] > 0 {
            summary[outcome] = outcomes[outcome.number]
        }
        return summary
    }

    private mutating func count(_ outcome: Outcome, _ count: Int = 1) {
        outcomes[outcome.number] += count
    }

    /// Enters a resource that ended as it should.
    package mutating func enter(_ done: Event.Done, isAcceptedStale: Bool = true) {
        let outcome = done.outcome
        count(outcome)
        let isPromotion: Bool
        switch outcome {
        case .fetched, .resumed, .updated, .repaired, .conflict: isPromotion = true
        default: isPromotion = false
        }
        if isPromotion, done.verified == .none { others.unverified += 1 }
        if outcome == .stale, !isAcceptedStale { staleBeyondLimit += 1 }
    }

    /// Enters resources that were kept as they are.
    package mutating func enterKept(_ count: Int) { self.count(.kept, count) }

    /// Enters a resource that had begun, and was not finished when the run ended.
    package mutating func enterInterrupted() { count(.interrupted) }

    /// Enters the parts of interrupted resources, by how much of each can be continued.
    package mutating func enterParts(_ bytes: some Sequence<Int64>) {
        for bytes in bytes where bytes > 0 {
            others.parts += 1
            others.partBytes = others.partBytes.addingSaturated(bytes)
        }
    }

    /// Enters resources that were not begun when the run ended.
    package mutating func enterLeftOut(_ count: Int) { self.count(.skipped, count) }

    /// Enters a resource that failed.
    package mutating func enter(_ failed: Event.Failed) {
        count(.failed)
        if failed.isOptional {
            others.failedOptional += 1
        } else if failed.error.isRetryable {
            healing += 1
        } else {
            lasting += 1
        }
    }

    /// Enters the cost of a transfer, also of one that failed.
    package mutating func enter(_ cost: TransferCost) {
        others.requests += cost.requests
        others.bytesReceived += cost.bytesReceived
        others.bytesReused += cost.bytesReused
    }

    /// Enters a file without a resource that was removed, or that could not be.
    package mutating func enterRemoval(of step: Step, succeeded: Bool) {
        if succeeded {
            others.removed += 1
        } else {
            if step.kind == .remove { others.orphans += 1 }
            lasting += 1
        }
    }

    /// Enters a failure to remove a file that is counted with the set it is of.
    package mutating func enterHindrance() { lasting += 1 }

    /// Enters a file whose removal was not begun when the run ended.
    package mutating func enterRemovalLeft(of step: Step) {
        if step.resource != nil {
            count(.skipped)
        } else if step.kind == .remove {
            others.orphans += 1
        }
    }

    /// Enters a set that could not be promoted.
    package mutating func enterSetLeft() { others.setsLeft += 1 }

    /// The summary of the run that ends now.
    ///
    /// - Parameters:
    ///   - error: what ended the run before its end.
    ///   - exit: an exit code that stands above all others, as after a signal.
    ///   - seconds: how long it took.
    package func closed(error: MirrorError?, exit: Int32?, seconds: Double) -> Summary {
        var summary = summary
        summary.error = error
        summary.seconds = seconds
        summary.exit =
            exit
            ?? ExitVerdict.code(
                endedBy: error?.code, healing: healing, lasting: lasting, stale: staleBeyondLimit)
        return summary
    }
}
