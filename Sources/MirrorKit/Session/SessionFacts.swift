internal import MirrorManifests
public import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// Counts work that is no transfer, so that a caller can show its progress.
///
/// Bind one around calls of a session; they report to it while they work:
///
///     let meter = ActivityMeter()
///     try await ActivityMeter.$current.withValue(meter) { try await session.verify(manifests) }
///
/// Another task may read `activity` at any time.
public final class ActivityMeter: Sendable {
    /// The meter that calls of this task report to.
    @TaskLocal public static var current: ActivityMeter?

    private let state = Mutex(Activity())

    /// A meter to which nothing was reported.
    public init() {}

    /// What is under way now, and how far it is.
    public var activity: Activity { state.withLock { $0 } }

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

    /// Notes how many bytes were read in all.
    func set(bytes: Int64) { state.withLock { $0.bytes = bytes } }

    /// Notes the file that is read from now on.
    func name(_ target: Target) { state.withLock { $0.name = target.path } }

    func end() {
        state.withLock { activity in
            let number = activity.number
            activity = Activity()
            activity.number = number
        }
    }

    /// Notes that more of a file was read.
    static func reading(_ meter: ActivityMeter?) -> (Int64) -> Void {
        guard let meter else { return { _ in } }
        return { meter.add(bytes: $0) }
    }
}

extension MirrorError {
    /// Any error as callers of the library see it; an error of an unknown type is a bug.
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

    /// The error if no manifest is given and the root remembers none.
    static func noManifest(_ root: String) -> MirrorError {
        MirrorError(
            .usage,
            "\(root): no manifest was given, and this root remembers none. Name one: a path, a URL, or - for standard input."
        )
    }
}

extension Instant {
    /// The wall clock's time (clock_gettime(2), CLOCK_REALTIME), by which freshness is judged.
    public static var now: Instant { SystemClock.now() }
}

extension LocalClock {
    /// The clock of this process: a time, in the zone that TZ or the system names (localtime_r(3)).
    public static func ofThisProcess(now: Instant) -> LocalClock {
        LocalClock(now: now, offset: SystemClock.localOffset)
    }
}

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
