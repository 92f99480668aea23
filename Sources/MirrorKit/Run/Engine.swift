internal import MirrorModel
internal import MirrorStore
internal import MirrorSystem
internal import MirrorTransfer
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
        let (opened, settled) = try Engine.openIndex(of: root)
        if let notice = opened.notice { notices.append(notice) }
        index = opened.index
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
        if let notice = DescriptorBudget.notice(
            wanted: configuration.jobs, limit: OpenFileLimit.current)
        {
            notices.append(notice)
        }
        self.notices = notices
        parts = TreePartStore(root: root, index: index, promised: settled.promised)
        promoter = try Promoter(
            root: root, index: index, now: { SystemClock.now() }, unfinished: unfinished)
        self.configuration = configuration
    }

    /// Opens the index, and settles the leftovers. If the index proves to be damaged meanwhile, it
    /// is moved aside, and both are done once more.
    private static func openIndex(
        of root: RootDirectory
    ) throws(MirrorError) -> (OpenedIndex, Recovery.Settled) {
        let opened = try IndexOpening.open(root, now: SystemClock.now())
        do throws(MirrorError) {
            return (opened, try Recovery.settle(root, opened.index, now: SystemClock.now()))
        } catch {
            guard opened.index.hasSeenDamage else { throw error }
            try opened.index.close()
        }
        let anew = try IndexOpening.open(root, now: SystemClock.now())
        return (anew, try Recovery.settle(root, anew.index, now: SystemClock.now()))
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
            let gate = SpaceGate(root, leastFreeSpace: configuration.leastFreeSpace)
            var configuration = configuration
            configuration.jobs = DescriptorBudget.transfers(
                wanted: configuration.jobs, limit: OpenFileLimit.current)
            // If the learned limits cannot be read, the run learns them anew.
            let made = try TransferLoop(
                configuration: configuration, parts: parts, observer: runs,
                remembered: (try? index.learnedLimits()) ?? [:],
                remember: { [index] in try? index.remember(learnedLimits: $0) },
                admit: { gate.admit($0, for: $1) })
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
