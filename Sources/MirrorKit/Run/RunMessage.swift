internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem

/// What the thread of a run is sent.
enum RunMessage: Sendable {
    /// Something for the run's state machine.
    case input(RunInput)
    /// What became of files on their way to their final names and away from them.
    case promoted([PromotionEnd])
    /// Nobody reads the file at a step's target any more: its landing may begin.
    case isFree(Int, Target)
    /// Somebody waits until all messages before this one were acted on.
    case mark(Semaphore)

    /// The bytes of a body in memory that the message brings.
    var bytesInMemory: Int {
        if case .input(.transfer(_, .ended(.received(let body)))) = self {
            return body.bytesInMemory
        }
        return 0
    }
}
