internal import Synchronization

/// Everything that writes to a root: the lock, the index, the promoter and the transfer loop.
///
/// A session keeps the engine open while the session executes plans. Opening the engine settles
/// what an interrupted run left. Several runs may use the engine at once.
final class Engine: Sendable {
    let root: RootDirectory
    let index: Index
    let promoter: Promoter
    let parts: TreePartStore
    /// Sentences for people about what the engine found in the root when it was opened.
    let notices: [String]
    /// Sets of an earlier run whose promotion cannot be finished yet.
    let unfinished: [UnfinishedSet]
    private let lock: Mutex<RootLock?>
    private let configuration: Configuration
    private let loop = Mutex<TransferLoop?>(nil)
    let runs: RunRegister
    let locks: TargetLocks

    /// Opens the index of a root whose lock is held, and settles what an interrupted run left.
    ///
    /// Blocks the calling thread.
    init(
        root: RootDirectory, lock: RootLock, configuration: Configuration
    ) throws(MirrorError) {
        self.root = root
        locks = .of(root)
        runs = RunRegister(FreeSpaceCheck(root, least: configuration.minFree))
        self.lock = Mutex(lock)
        var notices = [lock.warning].compactMap { $0 }
        let settled: Recovery.Settled
        let taken: [String]
        (index, taken, settled) = try Engine.openIndex(of: root)
        if let notice = index.notice { notices.append(notice) }
        ResolvedFiles(root).sweep(now: SystemClock.now())
        notices += taken + settled.notices
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

    /// Opens the index, takes over rows of other shards, and settles what an interrupted run left.
    ///
    /// If the recovery finds damage, the second opening moves the index aside and makes a new one.
    private static func openIndex(
        of root: RootDirectory
    ) throws(MirrorError) -> (Index, notices: [String], Recovery.Settled) {
        let opened = try Index.open(root, now: SystemClock.now())
        do throws(MirrorError) {
            let notices = try IndexTakeover.run(root, opened)
            return (opened, notices, try Recovery.settle(root, opened, now: SystemClock.now()))
        } catch {
            guard opened.hasSeenDamage else {
                try? opened.close()
                throw error
            }
            try opened.close()
        }
        let anew = try Index.open(root, now: SystemClock.now())
        let notices = try IndexTakeover.run(root, anew)
        return (anew, notices, try Recovery.settle(root, anew, now: SystemClock.now()))
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

    /// Executes the steps of a run on the thread of transfers, which the first run starts.
    ///
    /// Blocks the calling thread until all steps of the run have ended. Throws if the system
    /// provides no more threads or descriptors.
    func carryOutSteps(of run: RunDriver) throws(MirrorError) {
        try startedLoop().perform { [runs] in runs.begin(run, on: $0) }
        run.waitUntilStepsEnded()
    }

    private func startedLoop() throws(MirrorError) -> TransferLoop {
        try loop.withLock { (loop) throws(MirrorError) in
            if let loop { return loop }
            var configuration = configuration
            configuration.jobs = Descriptor.transfers(
                wanted: configuration.jobs, limit: Descriptor.limit)
            // If the learned limits cannot be read, the run learns them again.
            let made = try TransferLoop(
                configuration: configuration, parts: parts, observer: runs,
                remembered: (try? index.learnedLimits()) ?? [:],
                remember: { [index] in try? index.remember(learnedLimits: $0) })
            loop = made
            return made
        }
    }
}

/// The runs whose steps an engine executes, on the thread of transfers.
///
/// The register collects the events of transfers and passes them to the runs outside of libcurl's
/// callbacks. It does so before another transfer begins, because a failure may end a run.
final class RunRegister: TransferObserver, @unchecked Sendable {
    // Sendable, because other threads use only `last`.
    private let last = Atomic(-1)
    /// The runs by their numbers.
    private var runs: [Int: RunDriver] = [:]
    private var freeSpace: FreeSpaceCheck

    init(_ freeSpace: FreeSpaceCheck) { self.freeSpace = freeSpace }

    /// The number for the next run.
    func nextNumber() -> Int { last.add(1, ordering: .relaxed).newValue }

    /// The id of a step's download: the run's number and the step's position.
    static func id(of run: Int, position: Int) -> Int { run << 32 | position }

    /// The position of a download's step in the plan of its run.
    static func position(of id: Int) -> Int { id & 0xFFFF_FFFF }

    /// Begins the steps of a run, on the thread of transfers.
    func begin(_ run: RunDriver, on engine: TransferEngine) {
        runs[run.number] = run
        run.beginSteps(on: engine)
    }

    func tell(_ download: Download, _ event: TransferEvent) {
        // A run that has ended without waiting for its downloads is not in `runs` any more.
        runs[download.id >> 32]?.note(event, of: RunRegister.position(of: download.id))
    }

    func lackOfRoom(
        for bytes: Int64?, ofFileOf size: Int64?, _ download: Download,
        reserved: () -> [Area: Int64]
    ) -> Reason? {
        let position = RunRegister.position(of: download.id)
        if let size,
            let reason = runs[download.id >> 32]?.lackOfRoom(forFileOf: size, at: position)
        {
            return reason
        }
        let shortage = freeSpace.shortage(
            of: bytes, forFileOf: size, in: download.target.area, reserved: reserved)
        return shortage.map { .noRoom($0) }
    }

    func takeTurn() {
        for run in runs.values {
            run.takeTurn()
            guard run.hasEndedSteps else { continue }
            runs[run.number] = nil
            run.endSteps()
        }
    }

    var timeToWait: Int64? { runs.values.lazy.compactMap(\.timeToWait).min() }
}
