/// How far the sets of a run have come: which of their steps have not ended, and which hold bytes.
struct SetProgress {
    /// The sets of the plan.
    let sets: AtomicSets
    private let plan: Plan
    private var states: [State]
    /// Steps of sets that have neither ended nor hold verified bytes.
    private var pending = PositionSet()
    /// Steps that hold what their set promotes.
    private var held: [Int: StepWork] = [:]

    /// How far one set is.
    struct State {
        /// How many of its steps are pending.
        var pending = 0
        /// The steps that hold something, in the order in which they came to it.
        var held: [Int] = []
        /// What keeps it from being promoted; the first that is no deferral, else the first.
        var obstacle: SetObstacle?
        /// How many there are.
        var obstacles = 0
        /// Whether its transfers need not begin.
        var isHopeless = false
        var stage = Stage.gathering
    }

    enum Stage { case gathering, promoting, over }

    init(_ plan: Plan) {
        self.plan = plan
        sets = AtomicSets(plan)
        states = sets.entries.map { _ in State() }
    }

    /// Whether the plan has no set.
    var isEmpty: Bool { states.isEmpty }

    subscript(set: Int) -> State {
        get { states[set] }
        set { states[set] = newValue }
    }

    /// The set that a step belongs to.
    func set(of position: Int) -> Int? { sets.set(of: position, in: plan) }

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

    /// Keeps what a step holds until its set is complete.
    mutating func hold(_ position: Int, _ work: StepWork) {
        guard let set = set(of: position) else { return }
        close(position)
        held[position] = work
        states[set].held.append(position)
    }

    /// What a step holds.
    func work(at position: Int) -> StepWork? { held[position] }

    /// Takes what a step holds, because the step ends or begins again; nil where it holds nothing.
    mutating func takeHeld(_ position: Int) -> StepWork? { held.removeValue(forKey: position) }

    /// The sets none of whose steps is pending, and that were neither promoted nor left.
    var complete: [Int] {
        states.indices.filter { states[$0].stage == .gathering && states[$0].pending == 0 }
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

    /// The steps that remove the orphans of a set.
    func removals(of set: Int) -> [Int] {
        plan.steps.indices.filter {
            plan.steps.isRemoval(at: $0) && self.set(of: $0) == set
        }
    }
}
