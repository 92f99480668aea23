internal import Synchronization

/// The thread that gives verified bytes their final names, many at a time.
///
/// Works come in through a mutex-guarded inbox. The receivers get the results of a whole batch at
/// once. A failed flush is final: from then on every work fails with the same error, and no flush
/// is tried again.
final class Promoter: Sendable {
    private let inbox = Mutex(PromotionInbox())
    private let wakeup: WakeSignal
    private let thread = Mutex<NativeThread?>(nil)
    private let environment: PromotionEnvironment
    /// Sets that earlier runs could not finish. Works that would change their files are refused.
    private let unfinished: [UnfinishedSet]

    /// Makes a promoter. The caller must call `stop` in the end.
    /// `now` returns the time, which conflict names contain.
    convenience init(
        root: RootDirectory, index: Index, now: @escaping @Sendable () -> Instant,
        unfinished: [UnfinishedSet] = []
    ) throws(MirrorError) {
        try self.init(
            root: root, index: index, now: now, probe: PromotionProbe(), unfinished: unfinished)
    }

    /// Makes a promoter with a probe, through which a test injects failures.
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

    /// Queues works, which are carried out in this order.
    /// Their receivers get the results after everything is on the disk.
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

    /// Starts the thread at the first work. Returns the error if no thread can be started.
    ///
    /// Most runs have no work. Also, the system delays a new thread while libcurl is loaded, and
    /// libcurl is ready when the first work comes.
    private func begin(_ inbox: inout PromotionInbox) -> MirrorError? {
        guard !inbox.hasBegun else { return nil }
        do throws(Errno) {
            let started = try NativeThread("promotions") { self.run() }
            thread.withLock { $0 = started }
            inbox.hasBegun = true
            return nil
        } catch { return MirrorError(error) }
    }

    /// Promotes the waiting works now, because no more works will arrive soon.
    func hurry() {
        inbox.withLock { $0.isHurried = true }
        wakeup.raise()
    }

    /// Makes `stop` finish only the batch under way. The next run does the works that wait.
    func abandonAtStop() { inbox.withLock { $0.abandonsAtStop = true } }

    /// Finishes the submitted works, and ends the thread. Later works fail.
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
        // The thread is at its last instruction, so this does not block.
        thread.withLock { $0.take() }?.join()
    }

    /// Fails the works that concern an unfinished set. Returns the other works.
    private func refuseUnfinished(_ works: [PromotionWork]) -> [PromotionWork] {
        var (reports, rest) = (PromotionReports(), [PromotionWork]())
        for work in works {
            if let set = unfinished.first(where: { $0.concerns(work) }) {
                reports.add(work.failed(set.cause), of: work)
            } else {
                rest.append(work)
            }
        }
        reports.deliver()
        return rest
    }

    private func tell(_ works: [PromotionWork], _ error: MirrorError) {
        var reports = PromotionReports()
        for work in works { reports.add(work.failed(error), of: work) }
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

    /// Promotes works of no set. If the batch throws, these and all later works fail.
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
            work.receiver.promoted([work], [.setEnded(work.number, result)])
        } catch {
            var cause = cause(of: error)
            let result: SetResult
            if promotion.isCommitted {
                cause = halfway(cause, set)
                result = .unfinished(cause)
            } else {
                result = set.refused(cause)
            }
            work.receiver.promoted([work], [.setEnded(work.number, result)])
            refuseAll(cause, failing: [])
        }
    }

    /// Returns the error with which all current and later works fail.
    /// After a failed flush it also removes parts.
    private func cause(of fault: PromotionError) -> MirrorError {
        switch fault {
        case .failed(let error): return error
        case .unflushed(let error):
            distrustParts(after: error)
            return unflushed(error)
        case .stopped: return MirrorError(.internalError, "Stopped by a test.")
        }
    }

    /// Returns the error for a set whose promotion stopped after it had begun to change the tree.
    /// The error ends the run, so that the next run first goes on with the set.
    private func halfway(_ error: MirrorError, _ set: SetContents) -> MirrorError {
        MirrorError(
            error.code.endsRun ? error.code : .inputOutput,
            """
            \(error.message) That stopped \(Owners(set.set.owners)) while it was put in place \
            together. The next run goes on with it: run again when nothing is in the way.
            """, target: error.target)
    }

    /// Removes all parts after a failed flush, except those that committed sets need.
    ///
    /// Unflushed bytes are only in the page cache, and look sound there. A later run would read
    /// them and trust them, and its own flush would succeed.
    private func distrustParts(after error: Errno) {
        guard !error.isNoSpace, let folder = try? environment.root.openFolder(Area.tmp.rawValue)
        else { return }
        let intents = try? environment.index.read { (database: inout Database) throws(IndexError) in
            let all = try database.intents()
            return (
                all: all, committed: try database.committed(of: all),
                parts: Set(try database.partNames())
            )
        }
        // Without the intents, it is unknown which parts a set needs, and which may be a person's
        // file.
        guard let intents else { return }
        let promised = Set(intents.committed.map { PathText.name(of: $0.staged) })
        let staged = Dictionary(
            intents.all.map { (PathText.name(of: $0.staged), $0.stagedInode) },
            uniquingKeysWith: { $1 })
        for name in (try? folder.names(path: "tmp")) ?? []
        where PartRecord.isName(name) && !promised.contains(name) {
            // Parts of other processes that work in the root were not flushed by this one.
            let isOwn =
                PartRecord.hasTag(environment.root.shard.tag, name) || intents.parts.contains(name)
            guard isOwn else { continue }
            // Under a part's name there may be another program's file, which an exchange moved
            // there.
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

/// The works that wait for the promotion thread, and when they have waited long enough.
///
/// A batch closes when it is full, when its bytes in memory are many, 200 ms after its first work, or
/// when the run has no more works. While a batch waits for the disk the next one fills.
struct PromotionInbox {
    /// Bytes in memory that close a batch.
    static let bytesPerBatch = 32 << 20
    /// How long the first work of a batch waits for further works.
    static let patience = Duration.milliseconds(200)

    /// What the thread does next.
    enum Decision {
        case promote([PromotionWork])
        /// The thread sleeps until a wake-up, for at most this many milliseconds. -1 means no
        /// limit.
        case wait(milliseconds: Int32)
        case end
    }

    /// Whether the thread was started.
    var hasBegun = false
    /// Whether the waiting works need not wait for further works.
    var isHurried = false
    /// Whether the thread ends when no work waits.
    var isStopping = false
    /// Whether the waiting works are dropped when the thread ends.
    var abandonsAtStop = false
    /// The callers of `stop` that wait for the thread's end.
    var waiters: [CheckedContinuation<Void, Never>] = []
    private(set) var hasEnded = false
    private var poison: MirrorError?
    private var works: [PromotionWork] = []
    private var bytes = 0
    /// How many of the works are sets, which are promoted one by one.
    private var sets = 0
    private var firstAt: ContinuousClock.Instant?

    /// The error with which new works are refused. `nil` means that new works are accepted.
    var refusal: MirrorError? {
        if let poison { return poison }
        return isStopping ? MirrorError(.cancelled, "The run has ended.") : nil
    }

    /// Adds a work. Returns whether the thread has something new to decide.
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

    /// Returns what the thread does next: it promotes a batch that is due, waits, or ends.
    mutating func next(at now: ContinuousClock.Instant, greatest: Int) -> Decision {
        if isStopping, abandonsAtStop { return .end }
        guard let firstAt else {
            isHurried = false
            return isStopping ? .end : .wait(milliseconds: -1)
        }
        let left = now.duration(to: firstAt.advanced(by: PromotionInbox.patience))
        let isDue = isFull(greatest) || isHurried || isStopping || left <= .zero
        guard isDue else {
            // The wait is rounded up, because a thread that wakes too early would spin.
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

    /// Refuses all later works. Returns the works that waited.
    mutating func refuse(_ error: MirrorError) -> [PromotionWork] {
        poison = poison ?? error
        defer { (works, bytes, sets, firstAt) = ([], 0, 0, nil) }
        return works
    }

    /// Notes that the thread ends. Returns the callers that wait for it, and the dropped works.
    mutating func end() -> (
        waiters: [CheckedContinuation<Void, Never>], dropped: [PromotionWork]
    ) {
        hasEnded = true
        defer { (waiters, works, bytes, sets, firstAt) = ([], [], 0, 0, nil) }
        return (waiters, works)
    }
}

/// What all promotions of a run share: the tree, the index, and the way to flush.
final class PromotionEnvironment: Sendable {
    let root: RootDirectory
    let index: Index
    let flush: DurableFlush
    let probe: PromotionProbe
    let unnamed: UnnamedFiles
    /// Returns the time, which conflict names contain.
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

    /// Returns the file system that a group flush of this many works writes out.
    /// Returns nil if each of their files is flushed by itself.
    func groupDevice(count: Int) -> UInt64? { flush.isGroup(count: count) ? flush.device : nil }
}
