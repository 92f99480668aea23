/// A run's knowledge of a step under way.
///
/// It belongs to one run. It is a class, because the run reads it with every message about the
/// step, and reading must not copy it.
final class StepWork {
    let step: Step
    /// The action that follows once the row is there.
    let purpose: Purpose
    /// The row of the target, or of the file that is copied or moved.
    var row: IndexRecord?
    /// How the step will have ended when the disk has it.
    var done: Event.Done?
    /// What it would change once its set is complete; nil for one that waits for no set.
    var holding: Holding?
    /// The bytes in memory that are on their way to the final name.
    var bytesInMemory = 0
    /// The bytes that its transfer has brought; nil until it begins.
    var count: TransferCount?
    /// When its transfer began and ended; nil until it begins.
    var trace: TransferTrace?

    enum Purpose: Sendable {
        /// The step needs no server.
        case local
        /// The step is a transfer.
        case transfer
        /// Another step fetched bytes that are for this one too.
        case sharesBytes(IndexRecord, Landing.Content)
        /// Another step's answer is about this one too.
        case sharesAnswer(Answer)
        /// Another run of the process brought the target to this end.
        case sharesEnd(Event.Done)
        /// Nothing may be asked for now.
        case deferred(Deferral)
        /// No source could be asked, or none could give the bytes.
        case failed(MirrorError)
    }

    /// What a step would change.
    enum Holding: Sendable {
        case land(Landing)
        case confirm(Confirmed)
    }

    init(_ step: Step, _ purpose: Purpose) {
        self.step = step
        self.purpose = purpose
    }

    /// Notes when the step's transfer began and ended.
    func note(_ event: TransferEvent, at elapsed: Int64) {
        switch event {
        case .started: trace = TransferTrace(began: elapsed, ended: elapsed)
        case .ended(let result): trace?.end(result, at: elapsed)
        case .progress, .verifying, .retry, .restart: break
        }
    }

    /// Whether the step is one of those that need no server.
    var isLocal: Bool { if case .local = purpose { true } else { false } }

    /// Whether the bytes come from another file of the tree, and may be fetched instead.
    var isCopy: Bool {
        switch purpose {
        case .local, .sharesBytes: true
        case .transfer, .sharesAnswer, .sharesEnd, .deferred, .failed: false
        }
    }
}

/// Steps that wait for their turn, and how many of those whose turn came have not ended.
///
/// A step under way takes a kilobyte or more, and a plan may have a million steps.
struct StepQueue: Sendable {
    static let mostUnderWay = 8192
    private static let together = 512

    private let positions: [Int]
    private var next = 0

    init(_ positions: [Int] = []) { self.positions = positions }

    /// Whether every step's turn has come.
    var isEmpty: Bool { next == positions.count }

    /// How many wait.
    var count: Int { positions.count - next }

    /// The steps to begin next, a few at a time; empty while enough steps are under way.
    mutating func take(underWay: Int) -> ArraySlice<Int> {
        let room = min(StepQueue.mostUnderWay - underWay, StepQueue.together)
        let end = min(positions.count, next + max(0, room))
        defer { next = end }
        return positions[next..<end]
    }

    /// Takes all that are left, because none will begin.
    mutating func takeRest() -> ArraySlice<Int> {
        defer { next = positions.count }
        return positions[next...]
    }
}
