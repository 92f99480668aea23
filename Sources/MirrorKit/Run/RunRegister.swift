internal import MirrorModel
internal import MirrorSystem
internal import MirrorTransfer
internal import Synchronization

/// The runs of an engine, and the way of what the transfer loop tells to the one that it is for.
final class RunRegister: TransferObserver {
    private struct State {
        var last = -1
        var mailboxes: [Int: Mailbox<RunMessage>] = [:]
        /// Runs that have still to hear of a failure which may end them.
        var deciding: [Mailbox<RunMessage>] = []
    }

    private let state = Mutex(State())
    private let bytes = Atomic(0)

    /// Gives a run its number.
    func add(_ mailbox: Mailbox<RunMessage>) -> Int {
        state.withLock { state in
            state.last += 1
            state.mailboxes[state.last] = mailbox
            return state.last
        }
    }

    /// The loop's number of a step's transfer.
    static func job(of run: Int, position: Int) -> Int { run << 32 | position }

    /// Forgets a run that is over.
    func remove(_ run: Int) { state.withLock { _ = $0.mailboxes.removeValue(forKey: run) } }

    /// Has a run told.
    func tell(_ job: TransferJob, _ event: TransferEvent) {
        var endsAll = false
        if case .ended(.failed(let error, _)) = event {
            endsAll = job.isDecisive || error.code.endsRun
        }
        let mailbox = state.withLock { state in
            let mailbox = state.mailboxes[job.id >> 32]
            if endsAll, let mailbox { state.deciding.append(mailbox) }
            return mailbox
        }
        let message = RunMessage.input(.transfer(job.id & 0xFFFF_FFFF, event))
        let size = message.bytesInMemory
        bytes.add(size, ordering: .relaxed)
        if mailbox?.post(message) != true { bytes.subtract(size, ordering: .relaxed) }
    }

    /// Notes that a run has taken a message.
    func noteTaken(_ message: RunMessage) {
        bytes.subtract(message.bytesInMemory, ordering: .relaxed)
    }

    /// The bytes in memory that wait to be taken.
    var bytesWaiting: Int { bytes.load(ordering: .relaxed) }

    /// Waits until failures that may end everything were acted on; false when there are none.
    func settleFailures() -> Bool {
        let deciding = state.withLock { state in
            defer { state.deciding = [] }
            return state.deciding
        }
        for mailbox in deciding {
            let done = Semaphore()
            if mailbox.post(.mark(done), isUrgent: true) { done.wait() }
        }
        return !deciding.isEmpty
    }
}
