internal import Synchronization

/// Tells work that blocks a thread that nobody waits for it any more.
final class CancellationFlag: Sendable {
    private let flag = Atomic<Bool>(false)

    /// Whether the work should stop.
    var isSet: Bool { flag.load(ordering: .relaxed) }

    /// Asks the work to stop.
    func set() { flag.store(true, ordering: .relaxed) }
}
