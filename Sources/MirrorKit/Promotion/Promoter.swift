internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// The thread that gives verified bytes their final names, many at a time.
///
/// Works come in through a mutex-guarded inbox; their receivers hear of a whole batch at once. A failed
/// flush is final: from then on every work fails with the same error, and nothing is tried again.
final class Promoter: Sendable {
    private let inbox = Mutex(PromotionInbox())
    private let wakeup: WakeSignal
    private let thread = Mutex<NativeThread?>(nil)
    private let environment: PromotionEnvironment
    /// Sets of earlier runs that must be finished before anything of theirs may change.
    private let unfinished: [UnfinishedSet]

    /// `now` names conflicts; `stop` must be called in the end.
    convenience init(
        root: RootDirectory, index: Index, now: @escaping @Sendable () -> Instant,
        unfinished: [UnfinishedSet] = []
    ) throws(MirrorError) {
        try self.init(
            root: root, index: index, now: now, probe: PromotionProbe(), unfinished: unfinished)
    }

    /// As above, with what a test wants to happen.
    init(
        root: RootDirectory, index: Index, now: @escaping @Sendable () -> Instant,
        probe: PromotionProbe, unfinished: [UnfinishedSet] = []
    ) throws(MirrorError) {
        self.unfinished = unfinished
        do throws(Errno) {
            environment = try PromotionEnvironment(
                root: root, index: index, probe: probe, now: now)
            wakeup = try WakeSignal()
        } catch { throw MirrorError(error) }
    }

    /// Carries works out, in this order; their receivers hear how they ended, after everything is on
    /// the disk.
    func submit(_ submitted: [PromotionWork]) {
        let works = unfinished.isEmpty ? submitted : refuseUnfinished(submitted)
        let now = ContinuousClock().now
        let (refusal, isUrgent) = inbox.withLock { inbox in
            if let refusal = inbox.refusal ?? begin(&inbox) {
                return (refusal as MirrorError?, false)
            }
            var isUrgent = false
            for work in works {
                if inbox.add(work, at: now, greatest: environment.flush.greatestBatch) {
                    isUrgent = true
                }
            }
            return (nil, isUrgent)
        }
        if let refusal { tell(works, refusal) } else if isUrgent { wakeup.raise() }
    }

    /// Starts the thread with the first work; returns why it cannot be started.
    ///
    /// Most runs have no work. And while libcurl is loaded, which the way to the first work is long
    /// enough for, the system has a new thread wait.
    private func begin(_ inbox: inout PromotionInbox) -> MirrorError? {
        guard !inbox.hasBegun else { return nil }
        do throws(Errno) {
            let started = try NativeThread("promotions") { self.run() }
            thread.withLock { $0 = started }
            inbox.hasBegun = true
            return nil
        } catch { return MirrorError(error) }
    }

    /// Says that no more works will arrive soon, so that those that wait are promoted now.
    func hurry() {
        inbox.withLock { $0.isHurried = true }
        wakeup.raise()
    }

    /// Has `stop` finish only the batches under way; the next run does the works that wait.
    func abandonAtStop() { inbox.withLock { $0.abandonsAtStop = true } }

    /// Finishes the submitted works and ends the thread; later works fail.
    func stop() async {
        await withCheckedContinuation { continuation in
            let hasEnded = inbox.withLock { inbox in
                inbox.isStopping = true
                let hasEnded = inbox.hasEnded || !inbox.hasBegun
                if !hasEnded { inbox.waiters.append(continuation) }
                return hasEnded
            }
            if hasEnded { continuation.resume() } else { wakeup.raise() }
        }
        // It is at its last instruction: nothing is waited for.
        thread.withLock { $0.take() }?.join()
    }

    /// Refuses what concerns an unfinished set; returns the rest.
    private func refuseUnfinished(_ works: [PromotionWork]) -> [PromotionWork] {
        var (reports, rest) = (PromotionReports(), [PromotionWork]())
        for work in works {
            if let set = unfinished.first(where: { $0.concerns(work) }) {
                reports.add(work.failed(set.cause), for: work)
            } else {
                rest.append(work)
            }
        }
        reports.deliver()
        return rest
    }

    private func tell(_ works: [PromotionWork], _ error: MirrorError) {
        var reports = PromotionReports()
        for work in works { reports.add(work.failed(error), for: work) }
        reports.deliver()
    }

    private func run() {
        while true {
            let decision = inbox.withLock {
                $0.next(at: ContinuousClock().now, greatest: environment.flush.greatestBatch)
            }
            switch decision {
            case .promote(let works):
                if let work = works.first, let set = work.set {
                    promote(set, work)
                } else {
                    promote(works)
                }
            case .wait(let milliseconds):
                wakeup.wait(milliseconds: milliseconds)
                wakeup.clear()
            case .end:
                let (waiters, dropped) = inbox.withLock { $0.end() }
                tell(dropped, MirrorError(.cancelled, "The run has ended."))
                for waiter in waiters { waiter.resume() }
                return
            }
        }
    }

    /// Promotes works of no set. What is thrown ends them and everything later.
    private func promote(_ works: [PromotionWork]) {
        var batch = PromotionBatch(works, in: environment)
        do throws(PromotionError) { try batch.carryOut() } catch {
            return refuseAll(cause(of: error), failing: batch.untold)
        }
    }

    private func promote(_ set: SetContents, _ work: PromotionWork) {
        var promotion = SetPromotion(set, in: environment)
        do throws(PromotionError) {
            let result = try promotion.carryOut()
            work.receiver.promoted([PromotionEnd(work.number, .set(set, result))])
        } catch {
            var cause = cause(of: error)
            let result: SetResult
            if promotion.isCommitted {
                cause = halfway(cause, set)
                result = .unfinished(cause)
            } else {
                result = set.refused(cause)
            }
            work.receiver.promoted([PromotionEnd(work.number, .set(set, result))])
            refuseAll(cause, failing: [])
        }
    }

    /// The error of everything that is under way or comes later.
    private func cause(of fault: PromotionError) -> MirrorError {
        switch fault {
        case .failed(let error): return error
        case .unflushed(let error):
            distrustParts(after: error)
            return unflushed(error)
        case .stopped: return MirrorError(.internalError, "Stopped by a test.")
        }
    }

    /// What stopped a set that had begun to change the tree. It ends the run, so that the next one
    /// goes on with the set before anything else happens.
    private func halfway(_ error: MirrorError, _ set: SetContents) -> MirrorError {
        MirrorError(
            error.code.endsRun ? error.code : .inputOutput,
            """
            \(error.message) That stopped \(Owners(set.set.owners)) while it was put in place \
            together. The next run goes on with it: run again when nothing is in the way.
            """, target: error.target)
    }

    /// What waits for the disk after a failed flush is in the page cache only, and looks sound there:
    /// a later run would read it, trust it, and find the flush to succeed. So all parts go, but for
    /// those that committed sets are made of.
    private func distrustParts(after error: Errno) {
        guard !error.isNoSpace, let folder = try? environment.root.openFolder(Area.tmp.rawValue)
        else { return }
        let intents = try? environment.index.read { (database: inout Database) throws(IndexError) in
            let all = try database.intents()
            return (all: all, committed: try database.committed(of: all))
        }
        // Nothing says which of them a set needs, or may be a person's file.
        guard let intents else { return }
        let promised = Set(intents.committed.map { PathText.name(of: $0.staged) })
        let staged = Dictionary(
            intents.all.map { (PathText.name(of: $0.staged), $0.stagedInode) },
            uniquingKeysWith: { $1 })
        for name in (try? folder.names(path: "tmp")) ?? []
        where PartRecord.isName(name) && !promised.contains(name) {
            // What an exchange brought out under a part's name may be another program's file.
            let entry = DirectoryEntry(
                folder: folder, name: name, path: TreePartStore.path(of: name))
            if let inode = staged[name], (try? entry.status())?.stamp.inode != inode { continue }
            try? TreePartStore.remove(name, from: folder)
        }
    }

    private func unflushed(_ error: Errno) -> MirrorError {
        if error.isNoSpace { return MirrorError(error) }
        return MirrorError(
            .inputOutput,
            """
            \(environment.root.path): \(error.path) did not reach the disk: \(error). Nothing since the last \
            good flush is trusted. Check the disk, then run again.
            """)
    }

    private func refuseAll(_ error: MirrorError, failing works: [PromotionWork]) {
        let waiting = inbox.withLock { $0.refuse(error) }
        tell(works + waiting, error)
    }
}

/// What waits for the promotion thread, and when it has waited long enough.
///
/// A batch closes when it is full, when its bytes in memory are many, 200 ms after its first work, or
/// when the run has no more works. While a batch waits for the disk the next one fills.
struct PromotionInbox {
    /// Bytes in memory that close a batch.
    static let bytesPerBatch = 32 << 20
    /// How long the first work of a batch waits for company.
    static let patience = Duration.milliseconds(200)

    /// What the thread does next.
    enum Decision {
        case promote([PromotionWork])
        /// Sleeps until a wake-up, for at most this many milliseconds; -1 is without a limit.
        case wait(milliseconds: Int32)
        case end
    }

    /// Whether there is a thread.
    var hasBegun = false
    /// Whether what waits need not wait for more.
    var isHurried = false
    /// Whether the thread ends when nothing waits.
    var isStopping = false
    /// Whether what waits is dropped when the thread is to end.
    var abandonsAtStop = false
    /// The tasks that wait for the end.
    var waiters: [CheckedContinuation<Void, Never>] = []
    private(set) var hasEnded = false
    private var poison: MirrorError?
    private var works: [PromotionWork] = []
    private var bytes = 0
    /// How many of the works are sets, which are promoted one by one.
    private var sets = 0
    private var firstAt: ContinuousClock.Instant?

    /// Why new works are refused; nil when they are not.
    var refusal: MirrorError? {
        if let poison { return poison }
        return isStopping ? MirrorError(.cancelled, "The run has ended.") : nil
    }

    /// Takes a work in; says whether there is something new to decide.
    mutating func add(
        _ work: PromotionWork, at now: ContinuousClock.Instant, greatest: Int
    ) -> Bool {
        let isFirst = works.isEmpty
        if isFirst { firstAt = now }
        works.append(work)
        bytes += work.bytesInMemory
        if work.set != nil { sets += 1 }
        return isFirst || isFull(greatest)
    }

    private func isFull(_ greatest: Int) -> Bool {
        works.count >= greatest || bytes >= PromotionInbox.bytesPerBatch || sets > 0
    }

    /// Decides what the thread does next, and hands over a batch that is due.
    mutating func next(at now: ContinuousClock.Instant, greatest: Int) -> Decision {
        if isStopping, abandonsAtStop { return .end }
        guard let firstAt else {
            isHurried = false
            return isStopping ? .end : .wait(milliseconds: -1)
        }
        let left = now.duration(to: firstAt.advanced(by: PromotionInbox.patience))
        let isDue = isFull(greatest) || isHurried || isStopping || left <= .zero
        guard isDue else {
            // Rounded up: to wake a moment too early would spin.
            return .wait(milliseconds: Int32(left / .milliseconds(1)) + 1)
        }
        var batch = Array(works.prefix(greatest))
        if sets > 0, let set = batch.firstIndex(where: { $0.set != nil }) {
            batch = Array(batch.prefix(max(set, 1)))
            if set == 0 { sets -= 1 }
        }
        works.removeFirst(batch.count)
        bytes -= batch.reduce(0) { $0 + $1.bytesInMemory }
        self.firstAt = works.isEmpty ? nil : firstAt
        if works.isEmpty { isHurried = false }
        return .promote(batch)
    }

    /// Refuses all later works; returns those that waited.
    mutating func refuse(_ error: MirrorError) -> [PromotionWork] {
        poison = poison ?? error
        defer { (works, bytes, sets, firstAt) = ([], 0, 0, nil) }
        return works
    }

    /// Notes that the thread ends; returns the callers that waited for it, and the dropped works.
    mutating func end() -> (
        waiters: [CheckedContinuation<Void, Never>], dropped: [PromotionWork]
    ) {
        hasEnded = true
        defer { (waiters, works, bytes, sets, firstAt) = ([], [], 0, 0, nil) }
        return (waiters, works)
    }
}

/// What all promotions of a run work with: the tree, the index, and the way to the disk.
final class PromotionEnvironment: Sendable {
    let root: RootDirectory
    let index: Index
    let flush: DurableFlush
    let probe: PromotionProbe
    let unnamed: UnnamedFiles
    /// The time, after which conflicts are named.
    let now: @Sendable () -> Instant

    init(
        root: RootDirectory, index: Index, probe: PromotionProbe,
        now: @escaping @Sendable () -> Instant
    ) throws(Errno) {
        self.root = root
        self.index = index
        self.probe = probe
        self.now = now
        unnamed = UnnamedFiles(isAllowed: probe.allowsUnnamedFiles)
        flush = try DurableFlush(root: root, probe: probe)
    }

    /// The file system that a flush of a whole group of works writes out; nil when each of their files
    /// is flushed by itself.
    func groupDevice(count: Int) -> UInt64? { flush.isGroup(count: count) ? flush.device : nil }
}
