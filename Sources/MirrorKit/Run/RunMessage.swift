internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// A message to the thread of a run.
enum RunMessage: Sendable {
    /// An input for the run's state machine.
    case input(RunInput)
    /// The results of landings, confirmations and removals.
    case promoted([PromotionEnd])
    /// A file has no reader any more, and is this run's; the number is that of the work in the
    /// `LandingQueue` that waits for it.
    case isFree(Int, Target)
    /// A thread waits until all messages before this one are processed.
    case mark(Semaphore)

    /// The length of a body in memory that the message brings, in bytes.
    var bytesInMemory: Int {
        if case .input(.transfer(_, .ended(.received(let body)))) = self {
            return body.bytesInMemory
        }
        return 0
    }
}
