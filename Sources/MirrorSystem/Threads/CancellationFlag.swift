internal import Synchronization

/// Tells work that blocks a thread that its result is no longer wanted.
package final class CancellationFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    /// A flag that is not set.
    package init() {}

    /// Whether the work should stop.
    package var isSet: Bool { flag.load(ordering: .relaxed) }

    /// Asks the work to stop.
    package func set() { flag.store(true, ordering: .relaxed) }
}
