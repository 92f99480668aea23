import MirrorModel

/// What the report of a run on a terminal leaves out while the run goes on, and says at its end: the
/// terminal shows the progress, and a line for each of many files would only push it away.
struct TerminalReport {
    /// The most files that ended well with a line each.
    static let mostSuccesses = 20

    /// Whether failures wait for the end, where they stand by their causes.
    let groupsFailures: Bool
    /// Whether many successes are counted, and not listed.
    let countsSuccess: Bool
    private var failures = FailureCauses()
    private var isMuch = false
    private var successes = 0

    init(groupsFailures: Bool, countsSuccess: Bool) {
        (self.groupsFailures, self.countsSuccess) = (groupsFailures, countsSuccess)
    }

    /// Takes in an event; true where it gets no line of its own.
    mutating func absorbs(_ event: Event) -> Bool {
        switch event.body {
        case .plan(let plan): isMuch = plan.changes > Self.mostSuccesses
        case .failed(let failed) where groupsFailures:
            failures.add(failed)
            return true
        default: break
        }
        guard countsSuccess, event.isPlainSuccess else { return false }
        successes += 1
        return isMuch || successes > Self.mostSuccesses
    }

    /// The failures, at the end of the run.
    func end(_ style: TextStyle) -> [String] { failures.lines(style) }
}

extension PlanTotals {
    /// Steps that will change the tree, as far as the plan knows.
    fileprivate var changes: Int {
        steps.reduce(0) { sum, step in
            [.keep, .edited, .conflict].contains(step.key) ? sum : sum + step.value
        }
    }
}

extension Event {
    /// Whether something ended as it should, and nobody has to do anything about it.
    fileprivate var isPlainSuccess: Bool {
        switch body {
        case .removed: true
        case .done(let done):
            ![.conflict, .edited, .stale, .kept, .notModified, .deferred].contains(done.outcome)
                && done.conflict == nil && done.verified != .none
        default: false
        }
    }
}

extension Summary {
    /// What did not have to be fetched or asked for, as a line; nil where everything had to be.
    var saved: String? {
        var parts: [String] = []
        if bytesReused > 0 {
            parts.append(
                "\(ByteCount(bytesReused)) \(Counted.verb(bytesReused, "was", "were")) there already"
            )
        }
        let spared = [Outcome.kept, .adopted, .copied, .moved].reduce(0) { $0 + self[$1] }
        if spared > 0 {
            parts.append(
                "\(Counted(spared, "file")) needed no request")
        }
        return parts.isEmpty ? nil : "Saved: " + parts.joined(separator: ", ") + "."
    }
}
