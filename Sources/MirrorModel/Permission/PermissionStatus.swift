/// Whether transfers may run at the moment, and what is left of a budget.
public struct PermissionStatus: Sendable, Hashable {
    /// What is left of a budget.
    public struct Budget: Sendable, Hashable {
        /// The greatest number of bytes in one period.
        public var bytes: Int64
        /// Those that have arrived in this one.
        public var spent: Int64
        /// When the next period begins.
        public var renews: Instant

        /// Bytes that may still arrive.
        public var left: Int64 { max(0, bytes - spent) }
    }

    /// Why nothing may be fetched; nil where it may.
    public var deferral: Deferral?
    /// When the window ends that the deferral waits for; nil where it waits for something else.
    package var windowCloses: Instant?
    /// The budget; nil where there is none.
    public var budget: Budget?

    /// The status of a permission at an instant.
    package init(
        of permission: TransferPermission, at now: Instant, _ offset: LocalOffset,
        isMetered: Bool, account: BudgetAccount?
    ) {
        let spent =
            permission.budget.map {
                account?.current($0, at: now, offset).spent ?? 0
            } ?? 0
        deferral = permission.deferral(at: now, offset, isMetered: isMetered, spent: spent)
        if case .outsideWindow(let opens) = deferral {
            windowCloses = permission.windows?.change(after: opens, offset)
        }
        budget = permission.budget.map {
            Budget(bytes: $0.bytes, spent: spent, renews: $0.renewal(after: now, offset))
        }
    }

    /// Sentences for people.
    public func sentences(on clock: LocalClock) -> [String] {
        var sentences: [String] = []
        if let deferral {
            let because = Reason.deferred(deferral).because(on: clock)
            sentences.append("A sync now would defer what is not urgent: \(because).")
        }
        if let budget {
            sentences.append(
                "Budget: \(ByteCount(budget.left)) of \(ByteCount(budget.bytes)) left until \(clock.time(of: budget.renews))."
            )
        }
        return sentences
    }

    /// Writes the members of its JSON object.
    func writeMembers(to json: inout JSONWriter) {
        json.member("deferred", deferral.map { Reason.deferred($0).code })
        json.member("until", deferral?.end?.rfc3339)
        json.member("budgetLeft", budget?.left)
        json.member("budgetRenews", budget?.renews.rfc3339)
    }
}
