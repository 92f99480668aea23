internal import MirrorModel
internal import Synchronization

/// One reading of a source file, as its thread and the transfer thread see it.
final class FileReading: Sendable {
    /// Tells it from other readings for the same job.
    let number: Int
    /// The id of the job.
    let id: Int
    /// How many bytes to ask for at once, so that a file which is fast enough brings some of them
    /// before it counts as stalled.
    let piece: Int
    private let asks = Atomic(false)
    private let arrived = Atomic(0)
    private let givenUp = Atomic(false)

    /// - Parameter stallTimeout: seconds.
    init(number: Int, id: Int, stallTimeout: Int64) {
        self.number = number
        self.id = id
        piece = Int(min(64, max(4, stallTimeout))) << 10
    }

    /// Whether nobody waits for it any more; then it ends soon, if the system lets it.
    var isGivenUp: Bool { givenUp.load(ordering: .relaxed) }

    func giveUp() { givenUp.store(true, ordering: .relaxed) }

    /// Whether it waits for the file at this moment, and for no disk of mirror's own.
    var isAsking: Bool { asks.load(ordering: .relaxed) }

    /// Does what may wait for the file.
    func asking<Value, Failure>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        asks.store(true, ordering: .relaxed)
        defer { asks.store(false, ordering: .relaxed) }
        return try body()
    }

    /// Counts bytes of the file.
    func received(_ bytes: Int) { arrived.add(bytes, ordering: .relaxed) }

    /// The number of bytes since this was asked last.
    func takeReceived() -> Int { arrived.exchange(0, ordering: .relaxed) }
}

/// What a thread found out about a source file.
enum FileNews: Sendable {
    /// It was looked at.
    case found(FileSource)
    /// Its bytes were copied: into memory, or into the part.
    case copied(CopiedBytes)
    /// It cannot be used.
    case refused(Refusal)
    /// It changed while it was read, could not be read to its end, or no thread can read it now.
    case failed(TransportFailure)
    /// The bytes could not be written.
    case broken(MirrorError)
}
