public import MirrorModel
internal import MirrorStore
internal import MirrorSystem

extension PermissionStatus {
    /// Whether transfers may run at the moment; nil where they always may.
    ///
    /// Asks NetworkManager only if the permission depends on the network. Throws `MirrorError` with
    /// `usage`, `inputOutput` or `indexNewer`.
    ///
    /// - Parameter session: a session of the root whose transfers count against a budget.
    public init?(of permission: TransferPermission, in session: MirrorSession) async throws {
        try permission.validate()
        if permission.isUnconditional { return nil }
        self = try await session.engine.look { view in
            PermissionStatus(
                of: permission, at: SystemClock.now(), SystemClock.localOffset,
                isMetered: permission.needsUnmeteredNetwork && NetworkMetering.read() == .metered,
                account: try view.index?.budgetAccount())
        }
    }

    /// Why NetworkManager does not say whether the network is metered; nil where it does.
    ///
    /// Blocks for three seconds at most.
    public static func reasonMeteringIsUnknown() -> String? {
        if case .unknown(let reason) = NetworkMetering.read() { return reason }
        return nil
    }
}
