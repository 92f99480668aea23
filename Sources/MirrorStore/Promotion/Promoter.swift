package import MirrorModel
internal import MirrorParts
internal import MirrorSystem
internal import Synchronization

/// The thread that gives verified bytes their final names, many at a time.
///
/// Works come in through a mutex-guarded inbox; their receivers hear of a whole batch at once. A failed
/// flush is final: from then on every work fails with the same error, and nothing is tried again.
package final class Promoter: Sendable {
    private let inbox = Mutex(PromotionInbox())
    private let wakeup: WakeSignal
    private let thread = Mutex<NativeThread?>(nil)
    private let environment: PromotionEnvironment
    /// Sets of earlier runs that must be finished before anything of theirs may change.
    private let unfinished: [UnfinishedSet]

    /// `now` names conflicts; `stop` must be called in the end.
    package convenience init(
        root: RootDirectory, index: Index, now: @escaping @Sendable () -> Instant,
        unfinished: [UnfinishedSet] = []
    ) throws(MirrorError) {
        try self.init(
            root: root, index: index, now: now, probe: PromotionProbe(), unfinished: unfinished)
    }

    /// As above, with what a test wants to happen.
    package init(
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
    package func submit(_ submitted: [PromotionWork]) {
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
    /// Most runs have no work.
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
    package func hurry() {
        inbox.withLock { $0.isHurried = true }
        wakeup.raise()
    }

    /// Has `stop` finish only the batches under way; the next run does the works that wait.
    package func abandonAtStop() { inbox.withLock { $0.abandonsAtStop = true } }

    /// Finishes the submitted works and ends the thread; later works fail.
    package func stop() async {
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
        var pipeline = PromotionPipeline(in: environment)
        while true {
            let decision = inbox.withLock {
                $0.next(
                    at: ContinuousClock().now, greatest: environment.flush.greatestBatch,
                    isBusy: !pipeline.isEmpty)
            }
            switch decision {
            case .promote(let works):
                if let work = works.first, let set = work.set {
                    promote(set, work)
                } else {
                    carry(&pipeline, adding: works)
                }
            case .advance: carry(&pipeline)
            case .wait(let milliseconds):
                wakeup.wait(milliseconds: milliseconds)
                wakeup.clear()
            case .end:
                pipeline.end()
                let (waiters, dropped) = inbox.withLock { $0.end() }
                tell(dropped, MirrorError(.cancelled, "The run has ended."))
                for waiter in waiters { waiter.resume() }
                return
            }
        }
    }

    /// Carries the batches under way a step further, and begins another. An error ends them all.
    private func carry(_ pipeline: inout PromotionPipeline, adding works: [PromotionWork] = []) {
        do throws(PromotionFault) {
            if works.isEmpty {
                try pipeline.advance()
            } else {
                try pipeline.add(PromotionBatch(works, in: environment))
            }
        } catch {
            refuseAll(cause(of: error), failing: pipeline.untold)
            pipeline.end()
        }
    }

    private func promote(_ set: SetLanding, _ work: PromotionWork) {
        var isCommitted = false
        do throws(PromotionFault) {
            let result: SetResult
            switch try SetPromotion(set, in: environment).prepare() {
            case .left(let left): result = left
            case .committed(var committed):
                isCommitted = true
                result = try committed.carryOut()
            }
            work.receiver.promoted([PromotionEnd(work.number, .set(set, result))])
        } catch {
            var cause = cause(of: error)
            let result: SetResult
            if isCommitted {
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
    private func cause(of fault: PromotionFault) -> MirrorError {
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
    private func halfway(_ error: MirrorError, _ set: SetLanding) -> MirrorError {
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
            let all = try IntentRows.intents(in: &database)
            return (all: all, committed: try JournalRows.committed(of: all, in: &database))
        }
        let promised = Set((intents?.committed ?? []).map { PathText.name(of: $0.staged) })
        let staged = Dictionary(
            (intents?.all ?? []).map { (PathText.name(of: $0.staged), $0.stagedInode) },
            uniquingKeysWith: { $1 })
        for name in (try? folder.names(path: "tmp")) ?? []
        where PartName.isPart(name) && !promised.contains(name) {
            // What an exchange brought out under a part's name may be somebody else's file.
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
