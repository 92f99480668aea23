internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem
internal import Synchronization

/// A message to the transfer thread, from callers and from workers.
enum TransferMessage: Sendable {
    /// Some of the jobs may be paused before they begin.
    case submit([TransferJob], pausing: [Int] = [])
    case pause(Int)
    case resume(Int)
    case pauseAll
    case resumeAll
    case cancel([Int], discardingPart: Bool)
    case cancelAll
    case stop
    /// The verified length of an earlier part; no file when nothing of the part can be used.
    case established(Int, PartFile?, length: Int64, rangesBeyond: [Range<Int64>])
    /// The digests of a transfer's bytes; `piecesHold` is nil when no pieces had to be checked.
    case hashed(Int, [Digest], piecesHold: Bool?)
    /// The bytes of a further connection were read back from the part.
    case segmentHeld(Int)
    /// The last milestone of a transfer that ends was logged.
    case settled(Int)
    /// The program was asked for other credentials for a source of a transfer.
    case renewed(Int, source: Int, RenewedHeaders)
    /// A worker failed.
    case broken(Int, MirrorError)
    /// A thread that reads a source file got further.
    case file(FileReading, FileNews)
}

/// Messages on their way to the transfer thread, in order.
final class TransferInbox: Sendable {
    /// Raised with every message.
    let signal: WakeSignal
    private let messages = Mutex<[TransferMessage]>([])

    /// Throws where the process has as many descriptors as it may.
    init() throws(Errno) { signal = try WakeSignal() }

    /// Leaves a message; any thread may call this.
    func post(_ message: TransferMessage) {
        messages.withLock { $0.append(message) }
        signal.raise()
    }

    /// Takes all messages so far.
    func take() -> [TransferMessage] {
        signal.clear()
        return messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
    }
}
