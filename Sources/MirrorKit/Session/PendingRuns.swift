internal import MirrorModel
internal import Synchronization

/// The runs that a session was asked for and that have not begun: what is said to all runs reaches them.
final class PendingRuns: Sendable {
    private let controls = Mutex<[ObjectIdentifier: RunControl]>([:])

    /// Adds a run that was asked for.
    func add(_ run: RunControl) { controls.withLock { $0[ObjectIdentifier(run)] = run } }

    /// Forgets a run that has begun, or that could not.
    func remove(_ run: RunControl) { controls.withLock { $0[ObjectIdentifier(run)] = nil } }

    /// Sends an input to all of them; they take it as soon as they begin.
    func steer(_ input: RunInput) {
        for run in controls.withLock({ Array($0.values) }) { run.steer(input) }
    }
}
