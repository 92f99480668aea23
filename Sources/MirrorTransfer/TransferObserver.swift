package import MirrorModel

/// Hears what the transfer thread has to tell, on that thread: it passes things on, and is quick. Of a
/// loop that could not be made it hears where that was asked for.
package protocol TransferObserver: Sendable {
    /// A job tells something; the last of it is `ended`.
    func tell(_ job: TransferJob, _ event: TransferEvent)
    /// The bytes in memory that were told of and nobody has taken.
    var bytesWaiting: Int { get }
    /// Waits until failures that may end everything were acted on; false when there are none. No job
    /// is begun meanwhile.
    func settleFailures() -> Bool
}

extension TransferObserver {
    /// Nothing waits where everything is taken at once.
    package var bytesWaiting: Int { 0 }

    /// Nothing is to be settled where failures end nothing.
    package func settleFailures() -> Bool { false }
}
