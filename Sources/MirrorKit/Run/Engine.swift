internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The lock, the index, the promoter and the transfer loop: everything that writes.
///
/// They are open as long as a session executes plans. Opening the engine settles the leftovers of
/// an interrupted run. Several runs may use it at once.
final class Engine: Sendable {
    let root: RootDirectory
    let index: Index
    let promoter: Promoter
    let parts: TreePartStore
    /// Sentences for people about the state in which the root was found.
    let notices: [String]
    /// Sets of an earlier run that something keeps from being finished.
    let unfinished: [UnfinishedSet]
    private let lock: Mutex<RootLock?>
    private let configuration: Configuration
    private let loop = Mutex<TransferLoop?>(nil)
    let runs = RunRegister()
    let claims = TargetClaims()
    let leases: FileLeases

    /// Opens the index of a root whose lock is held, and settles an interrupted run's leftovers.
    ///
    /// Blocks the calling thread.
    init(
        root: RootDirectory, lock: RootLock, configuration: Configuration
    ) throws(MirrorError) {
        self.root = root
        leases = .of(root)
        self.lock = Mutex(lock)
        var notices = [lock.warning].compactMap { $0 }
        let settled: Recovery.Settled
        (index, settled) = try Engine.openIndex(of: root)
        if let notice = index.notice { notices.append(notice) }
        notices += settled.conflicts.map {
            "An interrupted run had found a file that it did not know; it is kept as \($0)."
        }
        notices += settled.finishedSets.map {
            "An interrupted run had begun to put \($0) in place; that was finished."
        }
        notices += settled.lost.map {
            "\($0): an interrupted run could not put it in place with the rest of its manifest."
        }
        notices += settled.kept.map {
            "A file whose name is taken was changed while its folder was put in place; it is kept as \($0)."
        }
        notices += settled.unfinishedSets.map(\.cause.message)
        unfinished = settled.unfinishedSets
        if let notice = Descriptor.limitNotice(
            wanted: configuration.jobs, limit: Descriptor.limit)
        {
            notices.append(notice)
        }
        self.notices = notices
        parts = TreePartStore(root: root, index: index, promised: settled.promised)
        promoter = try Promoter(
            root: root, index: index, now: { SystemClock.now() }, unfinished: unfinished)
        self.configuration = configuration
    }

    /// Opens the index, and settles the leftovers. If the index then proves to be damaged, it
    /// is moved aside, and both are done once more.
    private static func openIndex(
        of root: RootDirectory
    ) throws(MirrorError) -> (Index, Recovery.Settled) {
        let opened = try Index.open(root, now: SystemClock.now())
        do throws(MirrorError) {
            return (opened, try Recovery.settle(root, opened, now: SystemClock.now()))
        } catch {
            guard opened.hasSeenDamage else { throw error }
            try opened.close()
        }
        let anew = try Index.open(root, now: SystemClock.now())
        return (anew, try Recovery.settle(root, anew, now: SystemClock.now()))
    }

    /// Ends the loop and the promoter, closes the index, and releases the lock.
    func close() async throws {
        defer { lock.withLock { $0?.release() } }
        let loop = loop.withLock { $0.take() }
        // The connections close while the last rows are written.
        let ending = try await Offload.run { loop?.finish() }
        await promoter.stop()
        try await Offload.run { [index] in
            defer { ending?.join() }
            try index.close()
        }
    }

    /// Hands jobs to the loop, which is created for the first job.
    ///
    /// Of the jobs that the loop has then, some are paused: they ask for no bytes until `resume`.
    func submit(_ jobs: [TransferJob], pausing paused: [Int] = []) {
        guard !jobs.isEmpty else { return withLoop { for job in paused { $0.pause(job) } } }
        do throws(MirrorError) {
            try startedLoop().submit(jobs, pausing: paused)
        } catch {
            for job in jobs { runs.tell(job, .ended(.failed(error, TransferCost()))) }
        }
    }

    private func startedLoop() throws(MirrorError) -> TransferLoop {
        try loop.withLock { (loop) throws(MirrorError) in
            if let loop { return loop }
            let freeSpace = FreeSpaceCheck(root, leastFreeSpace: configuration.leastFreeSpace)
            var configuration = configuration
            configuration.jobs = Descriptor.transfers(
                wanted: configuration.jobs, limit: Descriptor.limit)
            // If the learned limits cannot be read, the run learns them again.
            let made = try TransferLoop(
                configuration: configuration, parts: parts, observer: runs,
                remembered: (try? index.learnedLimits()) ?? [:],
                remember: { [index] in try? index.remember(learnedLimits: $0) },
                admit: { freeSpace.admit($0, for: $1) })
            loop = made
            return made
        }
    }

    /// Cancels jobs; their parts stay.
    func cancel(_ jobs: [Int], discardingParts: Bool = false) {
        withLoop { $0.cancel(jobs, discardingPart: discardingParts) }
    }

    /// Resumes asking for bytes.
    func resume(_ jobs: [Int]) { withLoop { for job in jobs { $0.resume(job) } } }

    private func withLoop(_ body: (TransferLoop) -> Void) {
        if let loop = loop.withLock({ $0 }) { body(loop) }
    }
}

/// The runs of an engine; passes each event of the transfer loop to the run that it belongs to.
final class RunRegister: TransferObserver {
    /// The number of the last run, the runs that are under way, and those that have not yet processed a
    /// failure which may end them.
    private let state = Mutex<
        (last: Int, mailboxes: [Int: Mailbox<RunMessage>], deciding: [Mailbox<RunMessage>])
    >((-1, [:], []))
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
