internal import MirrorModel
internal import Synchronization

/// Everything that writes, open for as long as a session executes plans: the lock, the index, the
/// promoter and the transfer loop.
///
/// Opening it settles what an interrupted run left. Jobs get numbers that are unique here, and what
/// the loop reports about one goes to whom it was routed to. Two executions that want one target at the
/// same time transfer it once: the second waits for the first one's end.
final class Engine: Sendable {
    let root: RootDirectory
    let index: Index
    let promoter: Promoter
    let parts: TreePartStore
    /// Sentences for people about what was found when it was opened.
    let notices: [String]
    private let lock: Mutex<RootLock?>
    private let configuration: Configuration
    private let loop = Mutex<TransferLoop?>(nil)
    private let routes = Routes()
    private let claims = Mutex(Claims())

    /// How a step ended, for those that waited for it.
    enum End: Sendable {
        case done(Event.Done)
        case failed(MirrorError)
        /// The run that it belonged to ended early; whoever waited goes on without it.
        case abandoned
    }

    /// Who has a target: a step of an execution.
    struct Claimant: Sendable, Hashable {
        let run: String
        let position: Int
    }

    private struct Claims {
        struct Claim {
            let claimant: Claimant
            var waiters: [@Sendable (End) -> Void] = []
        }
        var byTarget: [Target: Claim] = [:]
        /// Targets that were claimed besides a step's own, because a server named them.
        var named: [Claimant: Target] = [:]
    }

    /// Who hears what the loop reports.
    private final class Routes: Sendable {
        private struct State {
            var last = 0
            var receivers: [Int: @Sendable (TransferNews) -> Void] = [:]
        }
        private let state = Mutex(State())

        func add(_ receiver: @escaping @Sendable (TransferNews) -> Void) -> Int {
            state.withLock { state in
                state.last += 1
                state.receivers[state.last] = receiver
                return state.last
            }
        }

        /// Whether nobody waits to hear of a job.
        var isEmpty: Bool { state.withLock { $0.receivers.isEmpty } }

        func deliver(_ news: TransferNews, from job: Int) {
            let receiver = state.withLock { state in
                if case .ended = news { return state.receivers.removeValue(forKey: job) }
                return state.receivers[job]
            }
            receiver?(news)
        }
    }

    /// Opens the index of a root whose lock is held, and settles what an interrupted run left.
    /// Blocks the calling thread.
    init(
        root: RootDirectory, lock: RootLock, configuration: Configuration
    ) throws(MirrorError) {
        self.root = root
        self.lock = Mutex(lock)
        var notices = [lock.warning].compactMap { $0 }
        let opened = try Index.open(root, now: SystemClock.now())
        if let notice = opened.notice { notices.append(notice) }
        index = opened.index
        let settled = try Recovery.settle(root, index, now: SystemClock.now())
        notices += settled.conflicts.map {
            "An interrupted run had found a file that it did not know; it is kept as \($0)."
        }
        if let notice = DescriptorBudget.notice(
            wanted: configuration.jobs, limit: OpenFileLimit.current)
        {
            notices.append(notice)
        }
        self.notices = notices
        parts = TreePartStore(root: root, index: index)
        promoter = try Promoter(root: root, index: index, now: { SystemClock.now() })
        self.configuration = configuration
    }

    /// Ends the loop and the promoter, closes the index, and lets the lock go.
    func close() async throws {
        defer { lock.withLock { $0?.release() } }
        let loop = loop.withLock { $0.take() }
        try await Offload.run { loop?.stop() }
        await promoter.stop()
        try await Offload.run { [index] in try index.close(now: SystemClock.now()) }
    }

    /// A number for a job whose news go to this receiver.
    func route(_ receiver: @escaping @Sendable (TransferNews) -> Void) -> Int {
        routes.add(receiver)
    }

    /// Hands jobs to the loop, which is made for the first of them: a run that asks nobody has none.
    func submit(_ jobs: [TransferJob]) {
        guard !jobs.isEmpty else { return }
        do throws(MirrorError) {
            try startedLoop().submit(jobs)
        } catch {
            // Not from here: whoever submits may hold what the receivers lock.
            Task { [routes] in
                for job in jobs {
                    routes.deliver(.ended(.failed(error, TransferCost())), from: job.id)
                }
            }
        }
    }

    private func startedLoop() throws(MirrorError) -> TransferLoop {
        try loop.withLock { (loop) throws(MirrorError) in
            if let loop { return loop }
            var hooks = TransferLoop.Hooks { [routes] job, news in routes.deliver(news, from: job) }
            // Where jobs are still to be heard of, more may follow from them.
            hooks.onIdle = { [promoter, routes] in if routes.isEmpty { promoter.hurry() } }
            let gate = SpaceGate(root, leastFreeSpace: configuration.leastFreeSpace)
            hooks.admit = { gate.admit($0, for: $1) }
            var configuration = configuration
            configuration.jobs = DescriptorBudget.transfers(
                wanted: configuration.jobs, limit: OpenFileLimit.current)
            let made = try TransferLoop(configuration: configuration, parts: parts, hooks: hooks)
            loop = made
            return made
        }
    }

    /// Cancels jobs; their parts stay.
    func cancel(_ jobs: [Int], discardingParts: Bool = false) {
        withLoop { for job in jobs { $0.cancel(job, discardingPart: discardingParts) } }
    }

    /// Stops asking for bytes until `resume`.
    func pause(_ jobs: [Int]) { withLoop { for job in jobs { $0.pause(job) } } }

    /// Goes on asking for bytes.
    func resume(_ jobs: [Int]) { withLoop { for job in jobs { $0.resume(job) } } }

    private func withLoop(_ body: (TransferLoop) -> Void) {
        if let loop = loop.withLock({ $0 }) { body(loop) }
    }

    /// Takes a target for a step; false when another has it, and then `waiter` hears its end.
    func claim(
        _ target: Target, by claimant: Claimant, waiter: @escaping @Sendable (End) -> Void
    ) -> Bool {
        claims.withLock { claims in
            guard let claim = claims.byTarget[target] else {
                claims.byTarget[target] = Claims.Claim(claimant: claimant)
                return true
            }
            if claim.claimant == claimant { return true }
            claims.byTarget[target]?.waiters.append(waiter)
            return false
        }
    }

    /// Takes a target whose name a server gave; throws `nameTaken` when it is not free.
    func reserve(
        _ target: Target, for provisional: Target, by claimant: Claimant
    ) throws(MirrorError) {
        if target == provisional { return }
        let isFree = claims.withLock { claims in
            if let claim = claims.byTarget[target] { return claim.claimant == claimant }
            claims.byTarget[target] = Claims.Claim(claimant: claimant)
            claims.named[claimant] = target
            return true
        }
        var scan = TreeScan(root)
        guard isFree, try scan.look(at: target) == .absent else {
            throw MirrorError(
                .nameTaken,
                "\(target): the server suggests this name for the resource in \(provisional.folder)/, and it is taken. Give the resource a path with a name.",
                target: provisional)
        }
    }

    /// Lets go what a step has claimed, and tells those that wait for it how it ended.
    func release(_ target: Target, by claimant: Claimant, _ end: End) {
        let waiters = claims.withLock { claims in
            [target, claims.named.removeValue(forKey: claimant)].flatMap { target in
                guard let target, claims.byTarget[target]?.claimant == claimant else {
                    return [@Sendable (End) -> Void]()
                }
                return claims.byTarget.removeValue(forKey: target)?.waiters ?? []
            }
        }
        for waiter in waiters { waiter(end) }
    }
}
