internal import Synchronization

/// Counts work other than transfers, so that a caller can show its progress.
///
/// Bind a meter around calls of a session; the calls report to the meter while they work:
///
///     let meter = ActivityMeter()
///     try await ActivityMeter.$current.withValue(meter) { try await session.verify(manifests) }
///
/// Another task may read `activity` at any time.
package final class ActivityMeter: Sendable {
    /// The meter that calls of this task report to.
    @TaskLocal package static var current: ActivityMeter?

    private let state = Mutex(Activity())

    /// Makes a meter without any counted work.
    package init() {}

    /// The kind of work that is under way now, and its progress.
    package var activity: Activity { state.withLock { $0 } }

    func begin(_ kind: Activity.Kind, total: Int? = nil, totalBytes: Int64? = nil) {
        state.withLock { activity in
            let number = activity.number + 1
            activity = Activity()
            (activity.kind, activity.number) = (kind, number)
            (activity.total, activity.totalBytes) = (total, totalBytes)
        }
    }

    func add(files: Int = 0, bytes: Int64 = 0) {
        state.withLock { activity in
            activity.done += files
            activity.bytes += bytes
        }
    }

    /// Sets how many bytes were read in total.
    func set(bytes: Int64) { state.withLock { $0.bytes = bytes } }

    /// Sets the file that is being read.
    func name(_ target: Target) { state.withLock { $0.name = target.path } }

    func end() {
        state.withLock { activity in
            let number = activity.number
            activity = Activity()
            activity.number = number
        }
    }

    /// Returns a function that adds bytes to the meter as they are read.
    static func reading(_ meter: ActivityMeter?) -> (Int64) -> Void {
        guard let meter else { return { _ in } }
        return { meter.add(bytes: $0) }
    }
}

extension MirrorError {
    /// Converts any error to the error type of the library. An error of an unknown type is a bug.
    public init(wrapping error: any Error) {
        switch error {
        case let error as MirrorError: self = error
        case let refusal as ManifestError:
            self.init(
                .manifestInvalid,
                refusal.diagnostics.first?.description ?? "The manifest is invalid.",
                remedy: refusal.diagnostics.first?.remedy)
        case is CancellationError: self.init(.cancelled, "Interrupted.")
        default:
            self.init(
                .internalError,
                "A bug in mirror: an unexpected error: \(error). Report it with the command that was run."
            )
        }
    }

    /// The error for a call without a manifest on a root that remembers none.
    static func noManifest(_ root: String, of shard: Shard?) -> MirrorError {
        let who = shard.flatMap(\.name).map { "shard \($0)" } ?? "this root"
        return MirrorError(
            .usage,
            "\(root): no manifest was given, and \(who) remembers none. Name one: a path, a URL, or - for standard input."
        )
    }
}

extension Instant {
    /// The time of the wall clock (clock_gettime(2), CLOCK_REALTIME), which determines freshness.
    public static var now: Instant { SystemClock.now() }
}

extension LocalClock {
    /// A time with the offset of this process's zone, which TZ or the system sets (localtime_r(3)).
    package static func ofThisProcess(now: Instant) -> LocalClock {
        LocalClock(now: now, offset: SystemClock.localOffset)
    }
}

extension PermissionStatus {
    /// Whether transfers may run at the moment. Returns nil if they always may.
    ///
    /// The call asks NetworkManager only if the permission depends on the network. Throws
    /// `MirrorError` with `usage`, `inputOutput` or `indexNewer`.
    ///
    /// - Parameter session: a session of the root whose transfers count against a budget.
    package init?(of permission: TransferPermission, in session: MirrorSession) async throws {
        try permission.validate()
        if permission.isUnconditional { return nil }
        var permission = permission
        permission.budget = permission.budget?.share(of: session.shard)
        self = try await session.engine.look { [permission] view in
            PermissionStatus(
                of: permission, at: SystemClock.now(), SystemClock.localOffset,
                isMetered: permission.needsUnmeteredNetwork && NetworkMetering.read() == .metered,
                account: try view.index?.budgetAccount())
        }
    }

    /// Why it is unknown whether the network is metered. Returns nil if NetworkManager gives an
    /// answer.
    ///
    /// Blocks for three seconds at most.
    package static func reasonMeteringIsUnknown() -> String? {
        if case .unknown(let reason) = NetworkMetering.read() { return reason }
        return nil
    }
}
