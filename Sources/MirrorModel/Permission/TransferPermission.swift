/// When transfers may run: hours of the day, networks, a budget of bytes.
///
/// Urgent resources ignore it.
public struct TransferPermission: Sendable, Hashable {
    /// The hours in which transfers may run; nil is all day.
    public var windows: DailyWindows?
    /// Whether transfers wait for a network that is not metered.
    public var needsUnmeteredNetwork = false
    /// How many bytes may arrive in a period; nil is no limit.
    public var budget: TransferBudget?

    /// Transfers may always run.
    public init() {}

    /// Whether transfers may always run.
    public var isUnconditional: Bool { self == TransferPermission() }

    /// Why nothing may be fetched at an instant; nil where it may.
    ///
    /// - Parameters:
    ///   - isMetered: whether the network is metered.
    ///   - spent: bytes of the budget that have been spent in its period.
    package func deferral(
        at now: Instant, _ offset: LocalOffset, isMetered: Bool, spent: Int64
    ) -> Deferral? {
        if let windows, !windows.contains(minute: offset.minute(of: now)) {
            return .outsideWindow(opens: windows.opening(after: now, offset))
        }
        if needsUnmeteredNetwork, isMetered { return .meteredNetwork }
        if let budget, spent >= budget.bytes {
            return .budgetSpent(renews: budget.renewal(after: now, offset))
        }
        return nil
    }

    /// The next instant at which the clock alone may change that; nil where it never does.
    package func change(after now: Instant, _ offset: LocalOffset) -> Instant? {
        let changes = [
            windows?.change(after: now, offset), budget?.renewal(after: now, offset),
        ]
        return changes.compactMap { $0 }.min()
    }
}
