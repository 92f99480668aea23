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

    /// The groups with transfers that nobody has asked for yet; they are asked for from now on.
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
