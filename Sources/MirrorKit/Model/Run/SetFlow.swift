/// The sets of a run, each from its first finished step until it is promoted or left as it was.
///
/// A step of a set does not end when its bytes are verified. `SetFlow` keeps its promotion or row
/// until the whole set can be promoted. `SetProgress` knows when that is.
struct SetFlow: ~Copyable {
    private var states: [SetState]
    /// The finished steps that wait for their set, by position, with what they change.
    private var works: [Int: StepWork] = [:]

    /// How far the promotion of one set is.
    private struct SetState {
        /// The finished steps, in the order in which they finished.
        var held: [Int] = []
        var stage = Stage.gathering
    }

    private enum Stage { case gathering, promoting, over }

    init(_ progress: SetProgress) {
        states = progress.sets.entries.map { _ in SetState() }
    }

    /// Keeps a step's promotion or row until its set is complete.
    mutating func hold(_ position: Int, _ holding: StepWork.Holding, _ book: inout StepBook) {
        guard let work = book.table.remove(position), let set = book.sets.set(of: position) else {
            return
        }
        work.holding = holding
        book.sets.close(position)
        works[position] = work
        book.held.insert(position)
        states[set].held.append(position)
    }

    /// Puts a finished step back into the table, so that it can end or begin again.
    ///
    /// Returns nil if the step does not wait for its set.
    @discardableResult
    mutating func putBack(_ position: Int, _ book: inout StepBook) -> StepWork? {
        if states.isEmpty { return nil }
        guard let work = works.removeValue(forKey: position) else { return nil }
        work.holding = nil
        book.held.remove(position)
        book.table.insert(work, at: position)
        return work
    }

    /// Puts a finished step back into the table, and returns what it would change.
    ///
    /// Returns nil if the step does not wait for its set, or if the promotion of the set has begun.
    mutating func takeOut(_ position: Int, _ book: inout StepBook) -> StepWork.Holding? {
        if states.isEmpty { return nil }
        guard let set = book.sets.set(of: position), states[set].stage == .gathering,
            let holding = works[position]?.holding
        else { return nil }
        states[set].held.removeAll { $0 == position }
        putBack(position, &book)
        return holding
    }

    /// Promotes the complete sets, and leaves those that an obstacle keeps from being promoted.
    mutating func settle(_ book: inout StepBook) {
        if states.isEmpty { return }
        let complete = states.indices.filter {
            states[$0].stage == .gathering && book.sets.isComplete($0)
        }
        for set in complete {
            if book.isEnding, book.sets.obstacle(of: set) == nil {
                book.sets.note(.ended, ofSet: set)
            }
            if let obstacle = book.sets.obstacle(of: set) {
                leave(set, obstacle, &book)
            } else {
                promote(set, &book)
            }
        }
    }

    private mutating func promote(_ set: Int, _ book: inout StepBook) {
        var promotions: [(position: Int, promotion: Promotion)] = []
        var removals: [(position: Int?, removal: Removal)] = []
        for position in states[set].held {
            guard let work = works[position], case .promote(let promotion)? = work.holding else {
                continue
            }
            promotions.append((position, promotion))
            if case .move(let orphan) = work.step.means, promotion.content == .copy(of: orphan) {
                removals.append((nil, Removal(target: orphan, stamp: nil)))
            }
        }
        let leaving = book.sets.removals(of: set)
        for position in leaving {
            guard case .ours(let stamp, _) = book.plan.steps[position].existing else { continue }
            let removal = Removal(target: book.plan.steps.target(at: position), stamp: stamp)
            removals.append((position, removal))
        }
        if promotions.isEmpty, removals.isEmpty { return end(set, &book) }
        book.accounts.open(leaving)
        states[set].stage = .promoting
        promotions.sort { $0.promotion.target < $1.promotion.target }
        book.surroundings.promote(
            SetContents(
                number: set, set: book.sets.sets.entries[set], promotions: promotions,
                removals: removals))
    }

    /// Leaves the tree as it is, and keeps the set's parts for the next run.
    private mutating func leave(_ set: Int, _ obstacle: SetFailure, _ book: inout StepBook) {
        var end = Event.SetEnd(book.sets.sets.entries[set])
        end.obstacle = obstacle
        end.obstacles = book.sets.obstacles(of: set)
        for position in states[set].held {
            guard let work = putBack(position, &book) else { continue }
            end.files += 1
            if case .deferred(_, let deferral) = obstacle, !book.isEnding {
                var done = Event.Done(deferred: work, by: deferral)
                done.bytesReceived = work.done?.bytesReceived ?? 0
                book.finish(position, done)
            } else {
                book.leaveUnfinished(position)
            }
        }
        book.leaveRemovals(book.sets.removals(of: set))
        book.accounts.counts.enterSetLeft()
        states[set].stage = .over
        book.tell(.set(end))
    }

    /// Ends a set, and confirms the files that its steps only confirm.
    private mutating func end(_ set: Int, _ book: inout StepBook) {
        states[set].stage = .over
        for position in states[set].held {
            guard let work = works[position], case .confirm(let confirmed)? = work.holding
            else { continue }
            putBack(position, &book)
            book.surroundings.confirm(position, confirmed)
        }
    }
}

// MARK: Results of the disk

extension SetFlow {
    /// Continues a set that was promoted, or whose promotion failed.
    mutating func ended(
        _ set: Int, _ result: SetResult, _ book: inout StepBook, _ transfers: inout TransferFlow
    ) {
        guard !states.isEmpty, states[set].stage == .promoting else { return }
        states[set].stage = .gathering
        switch result {
        case .left(let causes): takeBack(set, causes, &book, &transfers)
        case .unfinished(let error): fail(set, error, &book)
        case .promoted(let promoted): finish(set, promoted, &book)
        }
    }

    private mutating func fail(_ set: Int, _ error: MirrorError, _ book: inout StepBook) {
        var end = Event.SetEnd(book.sets.sets.entries[set])
        end.obstacle = .failed(error)
        end.isUnfinished = true
        for position in states[set].held {
            putBack(position, &book)
            end.files += 1
            book.fail(position, error)
        }
        for position in book.sets.removals(of: set) where book.accounts.open.contains(position) {
            book.depart(position, error)
        }
        book.accounts.counts.enterSetLeft()
        states[set].stage = .over
        book.tell(.set(end))
    }

    private mutating func finish(
        _ set: Int, _ promoted: SetResult.Promoted, _ book: inout StepBook
    ) {
        var end = Event.SetEnd(book.sets.sets.entries[set])
        end.way = promoted.way
        end.kept = promoted.kept
        for position in states[set].held {
            guard let result = promoted.files[position], let work = putBack(position, &book),
                let done = work.done.take()
            else { continue }
            end.files += 1
            book.finish(position, consume done, result)
        }
        for position in book.sets.removals(of: set) where book.accounts.open.contains(position) {
            if promoted.stayed[position] == nil { end.removed += 1 }
            book.depart(position, promoted.stayed[position])
        }
        self.end(set, &book)
        book.tell(.set(end))
    }

    /// Takes back a set that could not be promoted.
    ///
    /// If a file to copy has changed, its step fetches the bytes instead. The other failed steps
    /// end.
    private mutating func takeBack(
        _ set: Int, _ causes: [Int: MirrorError], _ book: inout StepBook,
        _ transfers: inout TransferFlow
    ) {
        for (position, error) in causes.sorted(by: { $0.key < $1.key }) {
            if book.plan.steps.isRemoval(at: position) {
                book.sets.note(.failed(error), ofSet: set)
                book.failOrphan(position, error)
            } else if putBack(position, &book) != nil {
                states[set].held.removeAll { $0 == position }
                book.sets.open(CollectionOfOne(position))
                if book.isCopy(position), error.code == .sourceChanged, !book.isEnding {
                    transfers.fetchInstead([position], &book)
                } else {
                    book.fail(position, error)
                }
            }
        }
        // The set may be complete once more, and its removals are opened again then.
        for position in book.sets.removals(of: set) { book.accounts.close(position) }
    }
}

extension Promotion.Content {
    /// The same bytes for another target, as long as they do not have their final name.
    var shared: Promotion.Content {
        switch self {
        case .part(let name, let stamp): .copyOfPart(name, stamp)
        case .memory, .copy, .copyOfPart, .move: self
        }
    }
}

/// What keeps a set from being promoted.
package enum SetFailure: Sendable, Hashable {
    /// A resource of the set failed.
    case failed(MirrorError)
    /// A file of the set could not be confirmed, and may be of the old version.
    case stale(Target)
    /// A resource of the set may not be fetched now.
    case deferred(Target, Deferral)
    /// The run ended before the set was complete.
    case ended

    /// The failure as a word that scripts may rely on.
    var code: String {
        switch self {
        case .failed(let error): error.code.rawValue
        case .stale: "stale"
        case .deferred: "deferred"
        case .ended: "ended"
        }
    }

    /// A sentence that says why, without its full stop.
    var because: String { because { $0.rfc3339 } }

    /// Returns the sentence that says why; `write` makes the text of an instant.
    func because(_ write: (Instant) -> String) -> String {
        switch self {
        case .failed(let error): error.message
        case .stale(let target): "\(target): no source could be reached"
        case .deferred(let target, let deferral): "\(target): \(deferral.because(write))"
        case .ended: "the run ended before every file of it was there"
        }
    }

    /// Whether a resource of the set may only be fetched later.
    var isDeferral: Bool { if case .deferred = self { true } else { false } }

    /// Whether a later run would fail too, so that the set's other files need not be fetched.
    var isLasting: Bool { if case .failed(let error) = self { !error.isRetryable } else { false } }
}

/// Counts the pending steps of a run's sets, and notes what keeps a set from being promoted.
///
/// A step of a set is pending until it has ended, or is finished and waits for its set.
struct SetProgress {
    /// The sets of the plan.
    let sets: AtomicSets
    private let plan: Plan
    private var states: [State]
    private var pending = PositionSet()

    /// How far one set is.
    private struct State {
        /// How many of the set's steps are pending.
        var pending = 0
        /// The first obstacle to the set's promotion, or the first obstacle that is no deferral.
        var obstacle: SetFailure?
        /// How many obstacles were noted.
        var obstacles = 0
        /// Whether the set's transfers need not begin, because the set cannot be promoted.
        var isHopeless = false
    }

    init(_ plan: Plan) {
        self.plan = plan
        sets = AtomicSets(plan)
        states = sets.entries.map { _ in State() }
    }

    /// Whether the plan has no set.
    var isEmpty: Bool { states.isEmpty }

    /// Returns the number of the set that a step belongs to. Returns nil if it belongs to no set.
    func set(of position: Int) -> Int? { sets.set(of: position, in: plan) }

    /// Whether a step is promoted together with others.
    func has(_ position: Int) -> Bool { !isEmpty && set(of: position) != nil }

    /// Whether a set is incomplete without this step's bytes.
    func isEssential(_ position: Int) -> Bool {
        has(position) && plan.resource(of: plan.steps[position])?.isOptional != true
    }

    /// Counts steps that have begun.
    mutating func open(_ positions: some Sequence<Int>) {
        for position in positions {
            guard let set = set(of: position) else { continue }
            pending.insert(CollectionOfOne(position))
            states[set].pending += 1
        }
    }

    /// Counts a step that has ended, or that is finished and waits for its set.
    mutating func close(_ position: Int) {
        guard let set = set(of: position), pending.remove(position) else { return }
        states[set].pending -= 1
    }

    /// Whether a set has no pending step.
    func isComplete(_ set: Int) -> Bool { states[set].pending == 0 }

    /// Returns the steps that remove the orphans of a set.
    func removals(of set: Int) -> [Int] {
        plan.steps.indices.filter {
            plan.steps.isRemoval(at: $0) && self.set(of: $0) == set
        }
    }
}

// MARK: Obstacles

extension SetProgress {
    /// Returns what keeps a set from being promoted. Returns nil while nothing does.
    func obstacle(of set: Int) -> SetFailure? { states[set].obstacle }

    /// Returns how many obstacles were noted for a set.
    func obstacles(of set: Int) -> Int { states[set].obstacles }

    /// Notes what keeps the set of a step from being promoted.
    mutating func note(_ obstacle: SetFailure, at position: Int) {
        if let set = set(of: position) { note(obstacle, ofSet: set) }
    }

    mutating func note(_ obstacle: SetFailure, ofSet set: Int) {
        states[set].obstacles += 1
        let known = states[set].obstacle
        if known == nil || known == .ended || known?.isDeferral == true && !obstacle.isDeferral {
            states[set].obstacle = obstacle
        }
    }

    /// Notes a step's end as an obstacle if the end leaves the set incomplete.
    mutating func note(_ done: Event.Done, isAcceptedStale: Bool, at position: Int) {
        guard isEssential(position) else { return }
        if case .deferred(let deferral) = done.reason {
            note(.deferred(done.target, deferral), at: position)
        } else if done.outcome == .stale, !isAcceptedStale {
            note(.stale(done.target), at: position)
        }
    }

    /// Marks the sets that cannot be promoted, whatever their transfers bring.
    mutating func noteHopeless() {
        for set in states.indices {
            states[set].isHopeless = states[set].obstacle?.isLasting == true
        }
    }

    /// Whether the transfer of a step is of no use, because its set cannot be promoted.
    func isHopeless(_ position: Int) -> Bool {
        guard !states.isEmpty, let set = set(of: position) else { return false }
        return states[set].isHopeless
    }
}
