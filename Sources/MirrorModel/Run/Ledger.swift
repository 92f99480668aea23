/// Counts how the resources of a run ended.
///
/// Every resource is entered once. A second entry would be a bug in mirror, and the summary's numbers
/// would no longer add up to its resources.
package struct Ledger: Sendable {
    /// The numbers so far.
    package private(set) var summary = Summary()
    private var healing = 0
    private var lasting = 0
    private var staleBeyondLimit = 0

    /// A ledger of a run over a number of resources.
    package init(resources: Int, skipped: Int, orphans: Int, root: String) {
        summary.resources = resources
        summary[.skipped] = skipped
        summary.deselected = skipped
        summary.orphans = orphans
        summary.root = root
    }

    /// Enters a resource that ended as it should.
    package mutating func enter(_ done: Event.Done, isAcceptedStale: Bool = true) {
        summary[done.outcome] += 1
        let isPromotion: Bool
        switch done.outcome {
        case .fetched, .resumed, .updated, .repaired, .conflict: isPromotion = true
        default: isPromotion = false
        }
        if isPromotion, done.verified == .none { summary.unverified += 1 }
        if done.outcome == .stale, !isAcceptedStale { staleBeyondLimit += 1 }
    }

    /// Enters resources that were kept as they are.
    package mutating func enterKept(_ count: Int) { summary[.kept] += count }

    /// Enters a resource that had begun, and was not finished when the run ended.
    package mutating func enterInterrupted() { summary[.interrupted] += 1 }

    /// Enters the parts of interrupted resources, by how much of each can be continued.
    package mutating func enterParts(_ bytes: some Sequence<Int64>) {
        for bytes in bytes where bytes > 0 {
            summary.parts += 1
            summary.partBytes = summary.partBytes.addingSaturated(bytes)
        }
    }

    /// Enters resources that were not begun when the run ended.
    package mutating func enterLeftOut(_ count: Int) { summary[.skipped] += count }

    /// Enters a resource that failed.
    package mutating func enter(_ failed: Event.Failed) {
        summary[.failed] += 1
        if failed.isOptional {
            summary.failedOptional += 1
        } else if failed.error.isRetryable {
            healing += 1
        } else {
            lasting += 1
        }
    }

    /// Enters the cost of a transfer, also of one that failed.
    package mutating func enter(_ cost: TransferCost) {
        summary.requests += cost.requests
        summary.bytesReceived += cost.bytesReceived
        summary.bytesReused += cost.bytesReused
    }

    /// Enters a file without a resource that was removed, or that could not be.
    package mutating func enterRemoval(of step: Step, succeeded: Bool) {
        if succeeded {
            summary.removed += 1
        } else {
            if step.kind == .remove { summary.orphans += 1 }
            lasting += 1
        }
    }

    /// Enters a file whose removal was not begun when the run ended.
    package mutating func enterRemovalLeft(of step: Step) {
        if step.resource != nil {
            summary[.skipped] += 1
        } else if step.kind == .remove {
            summary.orphans += 1
        }
    }

    /// Enters a set that could not be promoted.
    package mutating func enterSetLeft() { summary.setsLeft += 1 }

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
