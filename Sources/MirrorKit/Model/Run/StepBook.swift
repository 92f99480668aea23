/// Has the steps of a run that are under way, and ends each of them.
///
/// Every end of a step passes through the book, so each step is counted once. The book informs the
/// step's set, releases its target and reports its end.
struct StepBook: ~Copyable {
    let plan: Plan
    let rules: RunRules
    let settler: Settler
    unowned let surroundings: any RunSurroundings
    let planned: PlannedDownloads
    /// The downloads that have begun and not ended, by their numbers.
    var downloads: [Int: DownloadProgress] = [:]
    var accounts: StepAccounts
    var table = StepTable()
    /// Steps whose targets this run has claimed. Other runs of the process may wait for them.
    var claimed = PositionSet()
    /// Steps whose finished work waits for their set. `SetFlow` keeps this work, not the table.
    var held = PositionSet()
    /// How far the sets have come, which are promoted as a whole.
    var sets: SetProgress
    /// What is missing for the files that do not fit on the disk, by the positions of their steps.
    var withoutRoom: [Int: SpaceShortage] = [:]
    /// The cause that ends the run early. `nil` means that nothing has ended the run early.
    private(set) var ending: RunEnding?
    /// The moment of the input that the run handles.
    var now = RunMoment(elapsed: 0, time: Instant(seconds: 0))

    init(_ plan: Plan, rules: RunRules, in surroundings: any RunSurroundings) {
        self.plan = plan
        self.rules = rules
        self.surroundings = surroundings
        settler = Settler(plan: plan, onConflict: rules.onConflict)
        accounts = StepAccounts(plan)
        sets = SetProgress(plan)
        planned = PlannedDownloads(plan, sets.sets)
        for number in planned.numbers {
            accounts.expectTransfer(number, plan.steps.expectedBytes(at: number))
        }
    }

    /// Sends an event.
    func tell(_ event: Event.Body) {
        surroundings.tell(event, accounts.meter.totals(at: now.elapsed))
    }

    var isEnding: Bool { ending != nil }

    /// Whether a transfer may begin. An offline run begins only those whose bytes are here.
    func mayBegin(_ position: Int) -> Bool {
        !rules.isOffline || plan.beginsOffline(position, sets.sets)
    }

    /// Whether the transfers of a set may begin.
    func mayBegin(set: Int) -> Bool { !rules.isOffline || sets.sets.hasBytesHere[set] }

    /// Notes what ends the run. The first cause stays.
    mutating func noteEnding(_ ending: RunEnding) { self.ending = self.ending ?? ending }
}

// MARK: Beginnings

extension StepBook {
    /// Opens the steps that need no server and the transfers, and counts the kept files.
    mutating func open(_ local: [Int], kept: Int) {
        accounts.counts.enterKept(kept)
        accounts.open(local)
        accounts.open(planned.numbers)
        accounts.open(planned.furtherSteps)
        if !sets.isEmpty {
            sets.open(local)
            sets.open(planned.numbers)
            sets.open(planned.furtherSteps)
        }
    }

    /// Whether a step's bytes come from another file of the tree, so that they can be fetched instead.
    func isCopy(_ position: Int) -> Bool {
        guard let work = table[position] else { return false }
        return work.origin == .tree || work.download.map { $0.receiver != position } ?? false
    }

    /// Puts steps under way, with their rows. Returns those that go on.
    ///
    /// The others fail, because their rows cannot be read. A step that `needsRow` is false for goes
    /// on without one.
    mutating func begin(
        _ positions: [Int], _ origin: StepWork.Origin, needsRow: Bool = true
    ) -> [(position: Int, work: StepWork)] {
        if positions.isEmpty { return [] }
        let begun = positions.map { ($0, StepWork(plan.steps[$0], origin)) }
        for (position, work) in begun { table.insert(work, at: position) }
        do throws(MirrorError) {
            let rows = try surroundings.rows(of: begun.map(\.1.step.rowTarget))
            for (row, (_, work)) in zip(rows, begun) { work.row = row }
        } catch  where needsRow {
            for position in positions { fail(position, error) }
            return []
        } catch {}
        return begun
    }

    /// Removes a download from those under way, and returns its steps.
    mutating func takeDownload(_ number: Int) -> [Int] {
        downloads.removeValue(forKey: number)?.steps ?? []
    }

    /// Returns the steps of a planned download that wait for its turn.
    func waitingSteps(of number: Int) -> [Int] {
        planned.steps(of: number).filter { isWaiting($0) }
    }

    /// Whether a step waits for its turn or for its target.
    ///
    /// A step whose finished work waits for its set waits for neither.
    func isWaiting(_ position: Int) -> Bool {
        accounts.open.contains(position) && table[position] == nil && !held.contains(position)
    }
}

// MARK: Ends

extension StepBook {
    /// Ends a step that succeeded.
    mutating func finish(
        _ position: Int, _ done: consuming Event.Done, isAcceptedStale: Bool = true
    ) {
        accounts.counts.enter(
            done, isAcceptedStale: isAcceptedStale,
            isOptional: done.outcome == .noRoom
                && plan.resource(of: plan.steps[position])?.isOptional == true)
        if !sets.isEmpty { sets.note(done, isAcceptedStale: isAcceptedStale, at: position) }
        if ![.stale, .deferred, .noRoom].contains(done.outcome) {
            discardSupersededParts(of: done.target)
        }
        // An end that another run brought has that run's times, which do not count here.
        done.trace = trace(of: position)
        tell(.done(done))
        close(position, .success(done), isPassedOn: true)
    }

    /// Ends a step whose bytes have their final name, or failed to get it.
    mutating func finish(
        _ position: Int, _ done: consuming Event.Done, _ result: PromotionResult
    ) {
        switch result {
        case .promoted(let promotion, _, let conflict):
            done.target = promotion.target
            if let conflict {
                done.conflict = conflict
                done.outcome = .conflict
            }
            finish(position, consume done)
        case .failed(let error): fail(position, error)
        }
    }

    /// Ends a step whose file stays, after one more look: the file may have changed in the run.
    mutating func leave(_ position: Int, _ done: consuming Event.Done) {
        guard let work = table[position] else { return }
        if let seen = work.step.seen,
            let error = surroundings.change(of: work.step.target, since: seen)
        {
            return fail(position, error)
        }
        let isAccepted = done.outcome != .stale || acceptsStale(work.row)
        finish(position, done, isAcceptedStale: isAccepted)
    }

    /// Ends a step as deferred.
    mutating func postpone(
        _ position: Int, _ deferral: Deferral, _ cost: TransferCost = TransferCost()
    ) {
        guard let work = table[position] else { return }
        var done = Event.Done(deferred: work, by: deferral)
        done.bytesReceived = cost.bytesReceived
        done.bytesReused = cost.bytesReused
        finish(position, done)
    }

    /// Ends a step for whose file there is no room.
    ///
    /// A set without one of its files cannot be promoted, so the step fails if the set needs it.
    mutating func leaveOut(
        _ position: Int, because reason: Reason, _ cost: TransferCost = TransferCost()
    ) {
        guard let work = table[position] else { return }
        if sets.isEssential(position) {
            fail(position, .noRoomForSet(work.step.target, reason))
        } else {
            var done = Event.Done(leftOut: work.step, because: reason)
            done.bytesReceived = cost.bytesReceived
            finish(position, done)
        }
    }

    /// Ends a step that failed. The run ends too if its rules or the error demand it.
    ///
    /// - Parameter isOfTransfer: whether a download failed, and not the disk under finished files.
    mutating func fail(_ position: Int, _ error: MirrorError, isOfTransfer: Bool = false) {
        if error.code == .cancelled, isEnding { return breakOff(position) }
        let told = lose(position, error, isOfTransfer: isOfTransfer)
        close(position, .failure(told), isPassedOn: error.code != .cancelled)
    }

    /// Counts and reports the failure of a step, and returns the reported error.
    ///
    /// The step may not be open: a file that the plan keeps has no open step.
    @discardableResult
    mutating func lose(
        _ position: Int, _ error: MirrorError, isOfTransfer: Bool = false
    ) -> MirrorError {
        var failed = plan.failure(of: plan.steps[position], error)
        failed.trace = trace(of: position)
        accounts.counts.enter(failed)
        if sets.isEssential(position) { sets.note(.failed(failed.error), at: position) }
        tell(failed, isOfTransfer: isOfTransfer)
        return failed.error
    }

    /// Reports a failure, which may end the run.
    private mutating func tell(_ failed: Event.Failed, isOfTransfer: Bool = false) {
        tell(.failed(failed))
        // Other downloads may need less room than one that met a full disk.
        let endsRun = failed.error.code.endsRun && !(isOfTransfer && failed.error.code == .noSpace)
        if endsRun {
            noteEnding(.error(failed.error))
        } else if rules.stopsAtFirstFailure, !failed.isOptional {
            noteEnding(.firstFailure)
        }
    }

    /// Ends a removal. An error means that the file stayed, and an orphan remains one.
    mutating func depart(_ position: Int, _ error: MirrorError?) {
        let step = plan.steps[position]
        accounts.close(position)
        accounts.counts.enterRemoval(of: step, succeeded: error == nil)
        if let error {
            tell(plan.failure(of: step, error))
        } else {
            tell(.removed(.init(target: step.target, reason: step.reason, size: step.size)))
        }
    }

    /// Reports an orphan that kept its set from being promoted. The set's end counts the orphan.
    mutating func failOrphan(_ position: Int, _ error: MirrorError) {
        accounts.close(position)
        accounts.counts.enterFailedOrphan()
        tell(plan.failure(of: plan.steps[position], error))
    }

    /// Closes a step: ends its transfer and releases its target.
    ///
    /// Another run that waits for the target gets `end`, or does the step itself. It does so if
    /// this run is ending and `isPassedOn` is false: then only the end of this run left the step
    /// undone.
    private mutating func close(
        _ position: Int, _ end: Result<Event.Done, MirrorError>?, isPassedOn: Bool
    ) {
        accounts.close(position)
        if !sets.isEmpty { sets.close(position) }
        noteRoom(position, end)
        let hasFailed = if case .failure? = end { true } else { false }
        if let download = table.remove(position)?.download {
            if download.receiver == position {
                accounts.endTransfer(
                    download.number, download.count, hasFailed: hasFailed, at: now.elapsed)
            }
        } else {
            accounts.endTransfer(
                position, TransferCount(plan.steps.expectedBytes(at: position)),
                hasFailed: hasFailed, at: now.elapsed)
        }
        letGo(position, isPassedOn || !isEnding ? end : nil)
    }

    /// When the download of a step began and ended. `nil` if the step has no download of its own.
    private func trace(of position: Int) -> TransferTrace? {
        guard let download = table[position]?.download, download.receiver == position else {
            return nil
        }
        return download.trace
    }

    /// Releases the target of a step that has ended, or that does not come in this run.
    ///
    /// Does nothing if the run has not claimed the target. A set claims its targets before its
    /// steps begin. So even a step that never began may have a target to release.
    mutating func letGo(_ position: Int, _ end: Result<Event.Done, MirrorError>? = nil) {
        guard claimed.remove(position) else { return }
        surroundings.release(position, end)
    }

    private mutating func noteRoom(_ position: Int, _ end: Result<Event.Done, MirrorError>?) {
        guard plan.evictableFiles > 0 else { return }
        if case .success(let done)? = end, ![.deferred, .noRoom].contains(done.outcome) { return }
        accounts.noteRoom(of: plan.steps[position])
    }

    /// Removes the parts of a target that no step needs after its step succeeded.
    mutating func discardSupersededParts(of target: Target) {
        if let names = plan.supersededParts[target] { surroundings.discard(parts: names) }
    }

    /// Whether bytes that mirror did not put at a step's target stay, so that nothing is fetched.
    func keepsConflict(_ position: Int) -> Bool {
        rules.onConflict == .keep && plan.steps[position].kind == .conflict
    }

    /// Whether the run succeeds although a file with this row was not confirmed.
    func acceptsStale(_ row: IndexRecord?) -> Bool {
        guard rules.acceptsStale else { return false }
        guard let longest = rules.longestStale, let row else { return true }
        return row.wasConfirmed(within: longest, of: now.time)
    }
}

// MARK: Steps that end only because the run does

extension StepBook {
    /// Ends steps whose turn does not come in this run.
    ///
    /// They are counted and have no events, so that a run of a million steps ends within a second.
    mutating func leaveOut(_ positions: some Collection<Int>) {
        accounts.leaveOut(positions)
        if !sets.isEmpty { leaveOutOfSets(positions) }
        if !claimed.isEmpty {
            for position in positions { letGo(position) }
        }
    }

    /// Notes that sets will not be complete, because the run does not reach these steps.
    private mutating func leaveOutOfSets(_ positions: some Collection<Int>) {
        for position in positions {
            if sets.isEssential(position) { sets.note(.ended, at: position) }
            sets.close(position)
        }
    }

    /// Ends a step that the end of the run interrupts. The step is counted, and has no event.
    mutating func breakOff(_ position: Int) {
        accounts.enterUnfinished(position)
        leaveOut(CollectionOfOne(position))
        close(position, nil, isPassedOn: false)
    }

    /// Ends a step whose set was left as it was. The step is counted, and has no event.
    mutating func leaveUnfinished(_ position: Int) {
        accounts.enterUnfinished(position)
        close(position, nil, isPassedOn: false)
    }

    /// Ends the removals that the run does not reach.
    mutating func leaveRemovals(_ positions: some Collection<Int>) {
        for position in positions {
            accounts.close(position)
            accounts.counts.enterRemovalLeft(of: plan.steps[position])
        }
    }
}

extension Event.Done {
    /// The end of a step whose resource may not be fetched now.
    init(deferred work: StepWork, by deferral: Deferral) {
        self.init(
            target: work.step.target, step: work.step.kind, outcome: .deferred,
            reason: .deferred(deferral), verified: work.row?.verified ?? .none)
    }
}

/// What a run knows of a step under way.
///
/// It belongs to one run. It is a class, because the run reads it with every message about the
/// step, and reading must not copy it.
final class StepWork {
    let step: Step
    let origin: Origin
    /// The row of the target, or of the file that is copied or moved.
    var row: IndexRecord?
    /// How the step ends once its bytes have their final name, or its row is written.
    var done: Event.Done?
    /// What the step changes once its set is complete. `nil` means that it waits for no set.
    var holding: Holding?
    /// How many bytes in memory are on their way to the final name.
    var bytesInMemory = 0
    /// The download that brings the step's bytes. `nil` if the step needs no server.
    var download: DownloadProgress?

    /// Where a step's bytes come from.
    enum Origin {
        /// The tree: the step needs no server.
        case tree
        /// A download, or another run.
        case transfer
    }

    /// What a step changes when its set is promoted.
    enum Holding: Sendable {
        case promote(Promotion)
        case confirm(Confirmed)
    }

    init(_ step: Step, _ origin: Origin) {
        self.step = step
        self.origin = origin
    }
}

/// What a run knows of a download: the steps whose targets it brings, its bytes and its times.
///
/// The first of its steps receives the bytes. The others copy them from the receiver's file, or
/// from its part while the files wait for their set.
final class DownloadProgress {
    /// The download's number in the run: the position of the step that it began with.
    let number: Int
    /// The step whose target receives the bytes. Events of the download name this target.
    private(set) var receiver: Int
    /// The steps that wait for the receiver's bytes.
    private(set) var others: [Int]
    /// The bytes that the download has brought.
    var count: TransferCount
    /// When the download began and ended. `nil` until its first request.
    private(set) var trace: TransferTrace?

    /// - Parameter steps: the steps whose targets the download brings; never empty.
    init(for steps: [Int], expecting bytes: Int64?) {
        number = steps[0]
        receiver = steps[0]
        others = Array(steps.dropFirst())
        count = TransferCount(bytes)
    }

    /// The steps that the download still brings the bytes of.
    var steps: [Int] { [receiver] + others }

    /// Takes the steps that wait for the receiver's bytes.
    func takeOthers() -> [Int] {
        defer { others = [] }
        return others
    }

    /// Leaves out a step that has ended. The download needs another one that goes on.
    func leaveOut(_ step: Int) {
        if receiver == step, !others.isEmpty {
            receiver = others.removeFirst()
        } else {
            others.removeAll { $0 == step }
        }
    }

    /// Notes when the download began and ended.
    func note(_ event: TransferEvent, at elapsed: Int64) {
        switch event {
        case .started: trace = TransferTrace(began: elapsed, ended: elapsed)
        case .ended(let result): trace?.end(result, at: elapsed)
        case .progress, .verifying, .retry, .restart, .warning: break
        }
    }
}

/// Steps that wait for their turn.
///
/// The run limits the steps under way, because each takes a kilobyte or more. A plan may have a
/// million steps.
struct StepQueue: Sendable {
    static let mostUnderWay = 8192
    private static let together = 512

    private let positions: [Int]
    private var next = 0

    init(_ positions: [Int] = []) { self.positions = positions }

    /// Whether every step's turn has come.
    var isEmpty: Bool { next == positions.count }

    /// How many steps wait for their turn.
    var count: Int { positions.count - next }

    /// Takes the steps to begin next, a few at a time.
    ///
    /// Returns an empty slice while enough steps are under way.
    mutating func take(underWay: Int) -> ArraySlice<Int> {
        let room = min(StepQueue.mostUnderWay - underWay, StepQueue.together)
        let end = min(positions.count, next + max(0, room))
        defer { next = end }
        return positions[next..<end]
    }

    /// Takes all steps that are left, because none of them will begin.
    mutating func takeRest() -> ArraySlice<Int> {
        defer { next = positions.count }
        return positions[next...]
    }
}

/// Counts each step of a run once, and the bytes of its transfer.
///
/// A step is open, perhaps begun, and then ended. The accounts also note the room that the plan
/// made in Caches for files that did not come.
struct StepAccounts: Sendable {
    var counts: SummaryCounts
    /// Steps that have not ended.
    private(set) var open = PositionSet()
    /// Steps that were begun: a request was sent, or bytes were on their way.
    private var begun = PositionSet()
    /// The begun steps that were not finished when the run ended early.
    private(set) var interrupted: [Int] = []
    /// What the transfers have brought, and are expected to bring.
    private(set) var meter = RunMeter()
    /// The room in bytes that the plan made in Caches for files that did not come.
    private var roomLeft: Int64 = 0

    init(_ plan: Plan) {
        counts = SummaryCounts(
            resources: plan.wantedSteps + plan.skipped, skipped: plan.skipped,
            orphans: plan.orphansLeft, root: plan.root)
    }

    /// Opens steps.
    mutating func open(_ positions: some Sequence<Int>) { open.insert(positions) }

    /// Records that work on a step has begun.
    mutating func noteBegun(_ position: Int) { begun.insert(CollectionOfOne(position)) }

    /// Ends a step. Returns false if it had ended before.
    @discardableResult
    mutating func close(_ position: Int) -> Bool { open.remove(position) }

    /// Ends steps that the run does not reach, and counts them as left out.
    mutating func leaveOut(_ positions: some Sequence<Int>) {
        var count = 0
        for position in positions where open.remove(position) { count += 1 }
        counts.enterLeftOut(count)
    }

    /// Ends a step that ended only because the run did. Returns false if it had ended before.
    @discardableResult
    mutating func enterUnfinished(_ position: Int) -> Bool {
        guard open.remove(position) else { return false }
        if begun.contains(position) {
            interrupted.append(position)
            counts.enterInterrupted()
        } else {
            counts.enterLeftOut(1)
        }
        return true
    }
}

// MARK: Bytes

extension StepAccounts {
    /// Adds a download to those that the run is expected to make.
    mutating func expectTransfer(_ number: Int, _ expected: Int64?) {
        meter.add(number, expected)
    }

    /// Counts an event of a download.
    mutating func count(
        _ event: TransferEvent, of download: DownloadProgress, for step: Step, at elapsed: Int64
    ) {
        let old = download.count
        download.count.take(event, of: step)
        meter.change(from: old, to: download.count, at: elapsed)
    }

    /// Counts the end of a download. Does nothing for a number that no download has.
    mutating func endTransfer(
        _ number: Int, _ count: TransferCount, hasFailed: Bool, at elapsed: Int64
    ) {
        meter.end(number, count, hasFailed: hasFailed, at: elapsed)
    }

    /// Notes the room in Caches that the plan made for a step's file, which did not come.
    mutating func noteRoom(of step: Step) {
        guard step.target.area == .caches, case .nothing = step.existing else { return }
        roomLeft = roomLeft.addingSaturated(step.size ?? 0)
    }

    /// Takes room that missing files left, for a file that was to be evicted.
    ///
    /// Returns false if the file does not fit, or was not to be evicted for a quota.
    mutating func takeRoom(for step: Step) -> Bool {
        guard case .overQuota = step.reason, let size = step.size, size <= roomLeft else {
            return false
        }
        roomLeft -= size
        return true
    }
}

/// The steps of a run that are under way, by their positions in the plan.
///
/// A step enters the table when its row is read. It leaves the table when it ends, or when its
/// finished work waits for its set.
struct StepTable {
    private var works: [Int: StepWork] = [:]
    /// How many of these steps need no server.
    private(set) var local = 0

    /// How many steps are under way.
    var count: Int { works.count }

    subscript(position: Int) -> StepWork? { works[position] }

    /// Adds a step that begins or goes on.
    mutating func insert(_ work: StepWork, at position: Int) {
        if work.origin == .tree { local += 1 }
        works[position] = work
    }

    /// Removes a step. Returns nil if it is not under way.
    @discardableResult
    mutating func remove(_ position: Int) -> StepWork? {
        guard let work = works.removeValue(forKey: position) else { return nil }
        if work.origin == .tree { local -= 1 }
        return work
    }
}
