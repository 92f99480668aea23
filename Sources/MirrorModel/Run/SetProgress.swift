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
        var obstacle: SetObstacle?
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
    func obstacle(of set: Int) -> SetObstacle? { states[set].obstacle }

    /// How many things do.
    func obstacles(of set: Int) -> Int { states[set].obstacles }

    /// Notes what keeps the set of a step from being promoted.
    mutating func note(_ obstacle: SetObstacle, at position: Int) {
        if let set = set(of: position) { note(obstacle, ofSet: set) }
    }

    mutating func note(_ obstacle: SetObstacle, ofSet set: Int) {
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
