internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// A message to the thread of a run.
enum RunMessage: Sendable {
    /// An input for the run's state machine.
    case input(RunInput)
    /// The results of landings, confirmations and removals.
    case promoted([PromotionEnd])
    /// The file at a step's target has no reader any more, so its landing may begin.
    case isFree(Int, Target)
    /// A file of a set has no reader any more, so the landings of the set may begin.
    case mayLandSet(Int, Target)
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
