public import MirrorModel
internal import Synchronization

/// Counts work that is no transfer, for whoever shows how far it is.
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
