package import MirrorModel

/// Receives the events of transfers on the transfer thread, and must return quickly. If the loop
/// cannot be made, the observer receives the failure on the thread that requested the loop.
package protocol TransferObserver: Sendable {
    /// Receives an event of a job; the last one is `ended`.
    func tell(_ job: TransferJob, _ event: TransferEvent)
    /// The number of in-memory bytes that were reported and that no receiver has taken yet.
    var bytesWaiting: Int { get }
    /// Waits until failures that may end everything were handled; false when there are none. No job
    /// begins meanwhile.
    func settleFailures() -> Bool
    /// Learns that no request is under way, so that what was told is not followed by more soon.
    func rested()
}

extension TransferObserver {
    /// No bytes wait where everything is taken at once.
    package var bytesWaiting: Int { 0 }

    /// There is nothing to settle where failures end nothing.
    package func settleFailures() -> Bool { false }

    /// An observer that handles each event at once has nothing to hurry.
    package func rested() {}
}
