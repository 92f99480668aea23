internal import Synchronization

/// Decides for one run whether its transfers may run now, by the clock, the network and the budget.
///
/// Only the thread of the run uses this type.
final class PermissionWatch {
    /// How often the watch asks NetworkManager, in milliseconds.
    private static let networkInterval: Int64 = 30_000
    /// How often the watch writes the account of the budget, in milliseconds.
    private static let accountInterval: Int64 = 5_000

    /// Counts the bytes that the run's transfers may still receive. `nil` without a budget.
    let allowance: ByteAllowance?
    private let permission: TransferPermission
    private let index: Index
    private let offset: LocalOffset
    /// Wakes the run.
    private let wake: @Sendable () -> Void
    /// What NetworkManager answered, from the thread that asked.
    private let answer = NetworkAnswer()
    private var isMetered = false
    private var hasAskedNetwork = false
    private var networkIsDue: Int64? = 0
    private var account = BudgetAccount(start: Instant(milliseconds: .min), spent: 0)
    /// The run's bytes that `account` includes.
    private var counted: Int64 = 0
    /// The bytes in `counted` that the row in the index lacks.
    private var unwritten: Int64 = 0
    private var accountIsDue: Int64 = 0

    /// Reads the account of the budget. Returns nil if transfers may always run.
    ///
    /// - Parameter spent: another thread calls it when the transfers have used up the budget.
    init?(
        _ permission: TransferPermission, _ index: Index,
        offset: LocalOffset = SystemClock.localOffset, wake: @escaping @Sendable () -> Void
    ) throws(MirrorError) {
        if permission.isUnconditional { return nil }
        allowance = permission.budget.map { _ in ByteAllowance(reached: wake) }
        self.permission = permission
        self.wake = wake
        self.index = index
        self.offset = offset
        if permission.budget != nil, let account = try index.budgetAccount() {
            self.account = account
        }
    }

    /// Why the run may not fetch now. Returns nil if it may.
    func deferral(at moment: RunMoment) -> Deferral? {
        askNetwork(at: moment.elapsed)
        count(at: moment)
        return permission.deferral(
            at: moment.time, offset, isMetered: isMetered, spent: account.spent)
    }

    /// Milliseconds for which the answer of `deferral` holds, unless bytes arrive; 1 to 60,000.
    func wait(at moment: RunMoment) -> Int64 {
        let change = permission.change(after: moment.time, offset)
        let times = [
            // So the watch notices a change of the wall clock within a minute.
            60_000, change.map { max(1, $0.milliseconds - moment.time.milliseconds) },
            permission.needsUnmeteredNetwork ? networkIsDue.map { $0 - moment.elapsed } : nil,
        ]
        return max(1, times.compactMap { $0 }.min() ?? 60_000)
    }

    /// Writes the account of the budget to the index.
    func close(at moment: RunMoment) {
        accountIsDue = 0
        count(at: moment)
    }

    /// Asks NetworkManager when that is due. Only the first question waits for the answer, which may
    /// take three seconds: the thread of transfers asks the others.
    private func askNetwork(at elapsed: Int64) {
        guard permission.needsUnmeteredNetwork else { return }
        if let given = answer.take() { note(given) }
        guard let due = networkIsDue, elapsed >= due else { return }
        networkIsDue = elapsed + PermissionWatch.networkInterval
        if !hasAskedNetwork {
            hasAskedNetwork = true
            return note(NetworkMetering.read())
        }
        do throws(Errno) {
            try NativeThread("network") { [answer, wake] in
                answer.give(NetworkMetering.read())
                wake()
            }.detach()
        } catch {
            // The last answer counts until the next question.
        }
    }

    private func note(_ metering: NetworkMetering) {
        isMetered = metering == .metered
        // NetworkManager is not asked again in this run.
        if case .unknown = metering { networkIsDue = nil }
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
        // If the write fails, the next call tries again, or the index is unusable anyway.
        do {
            account = try index.charge(unwritten, since: account.start)
            unwritten = 0
        } catch {}
    }
}

/// An answer about the network on its way from the thread that asked.
private final class NetworkAnswer: Sendable {
    private let given = Mutex<NetworkMetering?>(nil)

    func give(_ answer: NetworkMetering) { given.withLock { $0 = answer } }

    /// Takes the answer; nil if there is no new one.
    func take() -> NetworkMetering? { given.withLock { $0.take() } }
}
