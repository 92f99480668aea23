/// The sets of a run, each from the first step that holds something until it is promoted or left.
///
/// A step of a set does not end when its bytes are verified: it holds them here, until all of the
/// set can be promoted. `SetProgress` knows when that is.
struct SetFlow: ~Copyable {
    private var states: [SetState]
    /// The steps that hold what their set promotes.
    private var works: [Int: StepWork] = [:]

    /// How far the promotion of one set is.
    private struct SetState {
        /// The steps that hold something, in the order in which they came to it.
        var held: [Int] = []
        var stage = Stage.gathering
    }

    private enum Stage { case gathering, promoting, over }

    init(_ progress: SetProgress) {
        states = progress.sets.entries.map { _ in SetState() }
    }

    /// Keeps what a step would change until its set is complete.
    mutating func hold(_ position: Int, _ holding: StepWork.Holding, _ book: inout StepBook) {
        guard let work = book.table.remove(position), let set = book.sets.set(of: position) else {
            return
        }
        work.holding = holding
        book.sets.close(position)
        works[position] = work
        book.held.insert(position)
        states[set].held.append(position)
        if case .promote(let promotion) = holding {
            book.share(promotion.record, ofStep: position, as: promotion.content.shared)
        }
    }

    /// Puts a step back that holds something, so that it can end or begin again; nil where it holds
    /// nothing.
    @discardableResult
    mutating func putBack(_ position: Int, _ book: inout StepBook) -> StepWork? {
        if states.isEmpty { return nil }
        guard let work = works.removeValue(forKey: position) else { return nil }
        work.holding = nil
        book.held.remove(position)
        book.table.insert(work, at: position)
        return work
    }

    /// Puts a step back that holds something for a set whose promotion has not begun, and returns what
    /// it held; nil where it holds nothing, or it is too late.
    mutating func takeOut(_ position: Int, _ book: inout StepBook) -> StepWork.Holding? {
        if states.isEmpty { return nil }
        guard let set = book.sets.set(of: position), states[set].stage == .gathering,
            let holding = works[position]?.holding
        else { return nil }
        states[set].held.removeAll { $0 == position }
        putBack(position, &book)
        return holding
    }

    /// Promotes the sets that are complete, and leaves those that cannot be.
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
        book.act(
            .promoteSet(
                SetContents(
                    number: set, set: book.sets.sets.entries[set], promotions: promotions,
                    removals: removals)))
    }

    /// Leaves the tree as it is: what the set holds is kept for the next run.
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
        book.act(.tell(.set(end)))
    }

    /// Ends a set: what its steps only confirm is confirmed.
    private mutating func end(_ set: Int, _ book: inout StepBook) {
        states[set].stage = .over
        for position in states[set].held {
            guard let work = works[position], case .confirm(let confirmed)? = work.holding
            else { continue }
            putBack(position, &book)
            book.act(.confirm(position, confirmed))
        }
    }
}

// MARK: What the disk says

extension SetFlow {
    /// Continues a set that was promoted, or that could not be.
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
        book.act(.tell(.set(end)))
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
        book.act(.tell(.set(end)))
    }

    /// Takes back a set that could not be promoted: what other files were to be copied from is fetched.
    private mutating func takeBack(
        _ set: Int, _ causes: [Int: MirrorError], _ book: inout StepBook,
        _ transfers: inout TransferFlow
    ) {
        for (position, error) in causes.sorted(by: { $0.key < $1.key }) {
            if book.plan.steps.isRemoval(at: position) {
                book.sets.note(.failed(error), ofSet: set)
                book.failOrphan(position, error)
            } else if let work = putBack(position, &book) {
                states[set].held.removeAll { $0 == position }
                book.sets.open(CollectionOfOne(position))
                if work.isCopy, error.code == .sourceChanged, !book.isEnding {
                    transfers.fetchInstead(position, &book)
                } else {
                    book.fail(position, error)
                }
            }
        }
        // The orphans are as they were: the set may be complete once more.
        for position in book.sets.removals(of: set) { book.accounts.close(position) }
    }
}

extension Promotion.Content {
    /// The same bytes for another target, as long as they have no final name.
    fileprivate var shared: Promotion.Content {
        switch self {
        case .part(let name, let stamp): .copyOfPart(name, stamp)
        case .memory, .copy, .copyOfPart, .move: self
        }
    }
}

/// Which sets of a run have the targets that they need, and what waits for them.
///
/// A set keeps its targets until all of it is promoted. If two runs had a part each of what the
/// other one's set needs, they would wait for each other for ever. So a set takes its targets
/// together, before one of its files is fetched: either all of them, or none. It waits for other
/// runs only while it has none. Sets that share a request wait for each other's transfers, and so
/// they take theirs as one.
struct SetClaims: ~Copyable {
    /// One set, or several that share requests.
    private struct Group {
        /// The steps that may have to take their targets.
        var steps: [Int] = []
        /// The transfers that wait until the targets are this run's.
        var waiting = PositionSet()
        /// Steps whose targets other runs have.
        var occupied: Set<Int> = []
        var stage = Stage.idle
    }

    private enum Stage { case idle, asking, taken }

    private var groups: [Group]
    private var groupOfSet: [Int]
    /// The groups of steps that are of no set, but send a request that a set waits for.
    private var groupOfLeader: [Int: Int] = [:]

    /// A run in which no set has its targets.
    init(_ sets: SetProgress, _ sharing: RequestSharing) {
        groupOfSet = Array(sets.sets.entries.indices)
        groups = groupOfSet.map { _ in Group() }
        if groups.isEmpty { return }
        for (leader, followers) in sharing.followers {
            let joined = Set(([leader] + followers).compactMap { sets.set(of: $0) })
            let numbers = Set(joined.map { groupOfSet[$0] })
            guard let first = numbers.min() else { continue }
            for set in groupOfSet.indices where numbers.contains(groupOfSet[set]) {
                groupOfSet[set] = first
            }
        }
        for (leader, followers) in sharing.followers where !sets.has(leader) {
            guard let set = followers.lazy.compactMap({ sets.set(of: $0) }).first else { continue }
            groupOfLeader[leader] = groupOfSet[set]
        }
    }

    /// Whether the run has no set.
    var isEmpty: Bool { groups.isEmpty }

    /// The group that takes a step's target; nil for a step that takes it by itself.
    func group(of position: Int, _ sets: SetProgress) -> Int? {
        if groups.isEmpty { return nil }
        return sets.set(of: position).map { groupOfSet[$0] } ?? groupOfLeader[position]
    }

    /// Adds steps to their groups; returns those that are of none.
    mutating func add(
        _ positions: some Sequence<Int>, areTransfers: Bool, _ sets: SetProgress
    ) -> [Int] {
        var others: [Int] = []
        for position in positions {
            guard let group = group(of: position, sets) else {
                others.append(position)
                continue
            }
            groups[group].steps.append(position)
            if areTransfers { groups[group].waiting.insert(position) }
        }
        return others
    }

    /// The groups with transfers that were not asked for yet; marks them as asked for.
    mutating func ask() -> [(group: Int, steps: [Int])] {
        var asked: [(group: Int, steps: [Int])] = []
        for group in groups.indices
        where groups[group].stage == .idle && !groups[group].waiting.isEmpty {
            groups[group].stage = .asking
            asked.append((group, groups[group].steps))
        }
        return asked
    }

    /// Whether a transfer has to wait for its group's targets; it waits from now on.
    mutating func holdsBack(_ position: Int, _ sets: SetProgress) -> Bool {
        guard let group = group(of: position, sets), groups[group].stage != .taken else {
            return false
        }
        groups[group].waiting.insert(position)
        return true
    }

    /// The targets of a group are the run's; returns the transfers that waited for them.
    mutating func taken(_ group: Int, _ sharing: RequestSharing) -> [Int] {
        groups[group].stage = .taken
        return takeWaiting(of: group, sharing)
    }

    /// Other runs have some of a group's targets, so this run has taken none.
    mutating func refused(_ group: Int, because occupied: [Int]) {
        groups[group].occupied = Set(occupied)
    }

    /// Another run let a target go that a group waits for; the group asks again after the last one.
    ///
    /// False where no group waits for it.
    mutating func letGo(_ position: Int, _ sets: SetProgress) -> Bool {
        guard let group = group(of: position, sets),
            groups[group].occupied.remove(position) != nil
        else { return false }
        if groups[group].occupied.isEmpty { groups[group].stage = .idle }
        return true
    }

    /// Ends the wait of a transfer; false where it does not wait.
    @discardableResult
    mutating func stopWaiting(_ position: Int, _ sets: SetProgress) -> Bool {
        guard let group = group(of: position, sets) else { return false }
        return groups[group].waiting.remove(position)
    }

    /// Whether another run has a target that its group waits for.
    func isOccupied(_ position: Int, _ sets: SetProgress) -> Bool {
        group(of: position, sets).map { groups[$0].occupied.contains(position) } ?? false
    }

    /// Takes the transfers that wait, because none of them will begin.
    mutating func takeWaiting(_ sharing: RequestSharing) -> [Int] {
        groups.indices.flatMap { takeWaiting(of: $0, sharing) }
    }

    /// Without those that wait for the request of another one among them.
    private mutating func takeWaiting(of group: Int, _ sharing: RequestSharing) -> [Int] {
        var waiting = groups[group].waiting
        groups[group].waiting.removeAll()
        if !sharing.followers.isEmpty {
            for leader in waiting.positions {
                for follower in sharing.followers[leader] ?? [] { waiting.remove(follower) }
            }
        }
        return waiting.positions
    }
}

/// What keeps a set from being promoted.
public enum SetFailure: Sendable, Hashable {
    /// A resource of it failed.
    case failed(MirrorError)
    /// A file of it could not be confirmed, and may be of the old version.
    case stale(Target)
    /// A resource of it may not be fetched now.
    case deferred(Target, Deferral)
    /// The run ended before it was complete.
    case ended

    /// The word that scripts may rely on.
    public var code: String {
        switch self {
        case .failed(let error): error.code.rawValue
        case .stale: "stale"
        case .deferred: "deferred"
        case .ended: "ended"
        }
    }

    /// A sentence without its end that says why.
    public var because: String { because { $0.rfc3339 } }

    /// As above; moments are written by a function.
    package func because(_ write: (Instant) -> String) -> String {
        switch self {
        case .failed(let error): error.message
        case .stale(let target): "\(target): no source could be reached"
        case .deferred(let target, let deferral): "\(target): \(deferral.because(write))"
        case .ended: "the run ended before every file of it was there"
        }
    }

    /// Whether it only says that the time has not come.
    var isDeferral: Bool { if case .deferred = self { true } else { false } }

    /// Whether a later run meets it again, so that it is no use to fetch what else the set lacks.
    var isLasting: Bool { if case .failed(let error) = self { !error.isRetryable } else { false } }
}

/// How far the sets of a run have come: which of their steps are pending, and what keeps a set from
/// being promoted.
///
/// A step of a set is pending until it has ended, or holds what it was to bring.
struct SetProgress {
    /// The sets of the plan.
    let sets: AtomicSets
    private let plan: Plan
    private var states: [State]
    private var pending = PositionSet()

    /// How far one set is.
    private struct State {
        /// How many of its steps are pending.
        var pending = 0
        /// What keeps it from being promoted; the first that is no deferral, else the first.
        var obstacle: SetFailure?
        /// How many there are.
        var obstacles = 0
        /// Whether its transfers need not begin.
        var isHopeless = false
    }

    init(_ plan: Plan) {
        self.plan = plan
        sets = AtomicSets(plan)
        states = sets.entries.map { _ in State() }
    }

    /// Whether the plan has no set.
    var isEmpty: Bool { states.isEmpty }

    /// The set that a step belongs to.
    func set(of position: Int) -> Int? { sets.set(of: position, in: plan) }

    /// Whether a step is promoted together with others.
    func has(_ position: Int) -> Bool { !isEmpty && set(of: position) != nil }

    /// Whether a set without this step's bytes is not whole.
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

    /// Counts a step that has ended, or that holds what it was to bring.
    mutating func close(_ position: Int) {
        guard let set = set(of: position), pending.remove(position) else { return }
        states[set].pending -= 1
    }

    /// Whether none of a set's steps is pending.
    func isComplete(_ set: Int) -> Bool { states[set].pending == 0 }

    /// The steps that remove the orphans of a set.
    func removals(of set: Int) -> [Int] {
        plan.steps.indices.filter {
            plan.steps.isRemoval(at: $0) && self.set(of: $0) == set
        }
    }
}

// MARK: Obstacles

extension SetProgress {
    /// What keeps a set from being promoted; nil while nothing does.
    func obstacle(of set: Int) -> SetFailure? { states[set].obstacle }

    /// How many things do.
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

    /// Notes a step's end if it leaves the set incomplete.
    mutating func note(_ done: Event.Done, isAcceptedStale: Bool, at position: Int) {
        guard isEssential(position) else { return }
        if case .deferred(let deferral) = done.reason {
            note(.deferred(done.target, deferral), at: position)
        } else if done.outcome == .stale, !isAcceptedStale {
            note(.stale(done.target), at: position)
        }
    }

    /// Notes which sets cannot be promoted, whatever their transfers bring.
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
