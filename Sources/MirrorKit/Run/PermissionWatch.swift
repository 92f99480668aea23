internal import MirrorModel
internal import MirrorSystem

/// Watches, for one run, whether its transfers may go on: the clock, the network, the budget.
///
/// It belongs to the thread of the run.
final class PermissionWatch {
    /// How often NetworkManager is asked, in milliseconds.
    private static let networkInterval: Int64 = 30_000
    /// How often the account is written, in milliseconds.
    private static let accountInterval: Int64 = 5_000

    /// What the transfers of the run may spend; nil where there is no budget.
    let allowance: ByteAllowance?
    private let permission: TransferPermission
    private let index: Index
    private let offset: LocalOffset
    private var isMetered = false
    private var networkIsDue: Int64? = 0
    private var account = BudgetAccount(start: Instant(milliseconds: .min), spent: 0)
    /// Bytes of the run that the account has.
    private var counted: Int64 = 0
    /// Those of them that the index lacks.
    private var unwritten: Int64 = 0
    private var accountIsDue: Int64 = 0

    /// Reads the account; nil where transfers may always run.
    ///
    /// - Parameter spent: called by another thread when the transfers have spent the budget.
    init?(
        _ permission: TransferPermission, _ index: Index,
        offset: LocalOffset = SystemClock.localOffset, spent: @escaping @Sendable () -> Void
    ) throws(MirrorError) {
        if permission.isUnconditional { return nil }
        allowance = permission.budget.map { _ in ByteAllowance(reached: spent) }
        self.permission = permission
        self.index = index
        self.offset = offset
        if permission.budget != nil, let account = try index.budgetAccount() {
            self.account = account
        }
    }

    /// Why nothing may be fetched now; nil where it may.
    func deferral(at moment: RunMoment) -> Deferral? {
        askNetwork(at: moment.elapsed)
        count(at: moment)
        return permission.deferral(
            at: moment.time, offset, isMetered: isMetered, spent: account.spent)
    }

    /// For how many milliseconds that holds at least, unless bytes arrive.
    func wait(at moment: RunMoment) -> Int64 {
        let change = permission.change(after: moment.time, offset)
        let times = [
            // A change of the wall clock is noticed within a minute.
            60_000, change.map { max(1, $0.milliseconds - moment.time.milliseconds) },
            permission.needsUnmeteredNetwork ? networkIsDue.map { $0 - moment.elapsed } : nil,
        ]
        return max(1, times.compactMap { $0 }.min() ?? 60_000)
    }

    /// Writes the account.
    func close(at moment: RunMoment) {
        accountIsDue = 0
        count(at: moment)
    }

    private func askNetwork(at elapsed: Int64) {
        guard permission.needsUnmeteredNetwork, let due = networkIsDue, elapsed >= due else {
            return
        }
        switch NetworkMetering.read() {
        case .metered: isMetered = true
        case .unmetered: isMetered = false
        case .unknown:
            // NetworkManager is not asked again in this run.
            isMetered = false
            networkIsDue = nil
            return
        }
        networkIsDue = elapsed + PermissionWatch.networkInterval
    }

    private func count(at moment: RunMoment) {
        guard let budget = permission.budget, let allowance else { return }
        defer { allowance.allow((budget.bytes - account.spent).addingSaturated(counted)) }
        account = account.current(budget, at: moment.time, offset)
        let more = allowance.taken - counted
        if more > 0 {
            account.spent = account.spent.addingSaturated(more)
            counted += more
            unwritten = unwritten.addingSaturated(more)
        }
        guard unwritten > 0, moment.elapsed >= accountIsDue else { return }
        accountIsDue = moment.elapsed + PermissionWatch.accountInterval
        // An account that cannot be written is written later, or the index is beyond use anyway.
        do {
            account = try index.charge(unwritten, since: account.start)
            unwritten = 0
        } catch {}
    }
}
