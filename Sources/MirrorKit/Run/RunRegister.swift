internal import MirrorModel
internal import MirrorSystem
internal import MirrorTransfer
internal import Synchronization

/// The runs of an engine; passes each event of the transfer loop to the run that it belongs to.
final class RunRegister: TransferObserver {
    private struct State {
        var last = -1
        var mailboxes: [Serial: Mailbox<RunMessage>] = [:]
        /// Runs that have not yet processed a failure which may end them.
        var deciding: [Mailbox<RunMessage>] = []
    }

    private let state = Mutex(State())
    private let bytes = Atomic(0)

    /// Adds a run, and returns its number.
    func add(_ mailbox: Mailbox<RunMessage>) -> Int {
        state.withLock { state in
            state.last += 1
            state.mailboxes[state.last] = mailbox
            return state.last
        }
    }

    /// The number by which the loop knows a step's transfer.
    static func job(of run: Int, position: Int) -> Int { run << 32 | position }

    /// Forgets a run that is over.
    func remove(_ run: Int) { state.withLock { _ = $0.mailboxes.removeValue(forKey: run) } }

    /// Passes a transfer event to the run of its job.
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
        if size > 0 { bytes.add(size, ordering: .relaxed) }
        if mailbox?.post(message) != true { bytes.subtract(size, ordering: .relaxed) }
    }

    /// Has the runs take their messages at once.
    func rested() {
        let mailboxes = state.withLock { Array($0.mailboxes.values) }
        for mailbox in mailboxes { mailbox.hurry() }
    }

    /// Notes that a run has taken a message.
    func noteTaken(_ message: RunMessage) {
        let size = message.bytesInMemory
        if size > 0 { bytes.subtract(size, ordering: .relaxed) }
    }

    /// The number of bytes in memory that wait to be taken.
    var bytesWaiting: Int { bytes.load(ordering: .relaxed) }

    /// Waits until failures that may end a run are processed; false if there are none.
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
