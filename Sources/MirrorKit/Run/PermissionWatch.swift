internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// Watches, for one run, whether its transfers may go on: the clock, the network, the budget.
///
/// One thread has it at a time, that of its run (`RunDriver`).
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
    /// Wakes the run.
    private let wake: @Sendable () -> Void
    /// What NetworkManager answered, from the thread that asked.
    private let answer = NetworkAnswer()
    private var isMetered = false
    private var hasAskedNetwork = false
    private var networkIsDue: Int64? = 0
    private var account = BudgetAccount(start: Instant(milliseconds: .min), spent: 0)
    /// Bytes of the run that the account has.
    private var counted: Int64 = 0
    /// Those of them that the index lacks.
    private var unwritten: Int64 = 0
    private var accountIsDue: Int64 = 0

    /// Reads the account; nil where transfers may always run.
    ///
    /// - Parameter wake: wakes the run: the transfers have spent the budget, or NetworkManager answered.
    ///   Any thread calls it.
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
        // An account that cannot be written is written later, or the index is beyond use anyway.
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
