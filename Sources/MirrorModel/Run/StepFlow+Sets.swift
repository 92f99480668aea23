// Sets: their steps hold what they brought until all of it can be promoted.

extension StepFlow {
    /// Keeps what a step would change until its set is complete.
    mutating func hold(_ position: Int, _ holding: StepWork.Holding) {
        guard let work = works.removeValue(forKey: position) else { return }
        if work.isLocal { localUnderWay -= 1 }
        work.holding = holding
        sets.hold(position, work)
        if case .land(let landing) = holding {
            share(landing.record, ofStep: position, as: landing.content.shared)
        }
    }

    /// Takes a step back that holds something, so that it can end or begin again.
    mutating func takeHeld(_ position: Int) -> StepWork? {
        guard !sets.isEmpty, let work = sets.takeHeld(position) else { return nil }
        work.holding = nil
        if work.isLocal { localUnderWay += 1 }
        return work
    }

    /// Whether a set without this step's bytes is not whole.
    func isEssential(_ position: Int) -> Bool {
        guard !sets.isEmpty, sets.set(of: position) != nil else { return false }
        return plan.resource(of: plan.steps[position])?.isOptional != true
    }

    /// Notes the end of a step that leaves its set incomplete.
    mutating func noteObstacle(_ position: Int, _ done: Event.Done, isAcceptedStale: Bool) {
        guard isEssential(position) else { return }
        if case .deferred(let deferral) = done.reason {
            sets.note(.deferred(done.target, deferral), at: position)
        } else if done.outcome == .stale, !isAcceptedStale {
            sets.note(.stale(done.target), at: position)
        }
    }

    /// Promotes the sets that are complete, and leaves those that cannot be.
    mutating func settleSets() {
        if sets.isEmpty { return }
        for set in sets.complete {
            if isEnding, sets[set].obstacle == nil { sets.note(.ended, ofSet: set) }
            if let obstacle = sets[set].obstacle {
                leave(set, obstacle)
            } else {
                promote(set)
            }
        }
    }

    private mutating func promote(_ set: Int) {
        var landings: [SetLanding.Member] = []
        var removals: [SetLanding.Departure] = []
        for position in sets[set].held {
            guard let work = sets.work(at: position), case .land(let landing)? = work.holding
            else { continue }
            landings.append(SetLanding.Member(position, landing))
            if case .move(let orphan) = work.step.means, landing.content == .copy(of: orphan) {
                removals.append(.init(nil, Removal(target: orphan, stamp: nil)))
            }
        }
        let leaving = sets.removals(of: set)
        for position in leaving {
            guard case .ours(let stamp, _) = plan.steps[position].existing else { continue }
            let removal = Removal(target: plan.steps.target(at: position), stamp: stamp)
            removals.append(.init(position, removal))
        }
        if landings.isEmpty, removals.isEmpty { return end(set) }
        accounts.open(leaving)
        sets[set].stage = .promoting
        landings.sort { $0.landing.target < $1.landing.target }
        act(
            .landSet(
                SetLanding(
                    number: set, set: sets.sets.entries[set], landings: landings,
                    removals: removals)))
    }

    /// Continues a set that was promoted, or that could not be.
    mutating func setEnded(_ set: Int, _ result: SetResult) {
        guard !sets.isEmpty, sets[set].stage == .promoting else { return }
        sets[set].stage = .gathering
        switch result {
        case .left(let causes): returned(set, causes)
        case .unfinished(let error):
            var end = Event.SetEnd(sets.sets.entries[set])
            end.obstacle = .failed(error)
            end.isUnfinished = true
            for position in sets[set].held {
                works[position] = takeHeld(position)
                end.files += 1
                fail(position, error)
            }
            for position in sets.removals(of: set) where accounts.open.contains(position) {
                departed(position, error)
            }
            accounts.ledger.enterSetLeft()
            sets[set].stage = .over
            act(.tell(.set(end)))
        case .promoted(let promoted):
            var end = Event.SetEnd(sets.sets.entries[set])
            end.way = promoted.way
            end.kept = promoted.kept
            for position in sets[set].held {
                guard let result = promoted.landed[position], let work = takeHeld(position) else {
                    continue
                }
                works[position] = work
                guard let done = work.done.take() else { continue }
                end.files += 1
                conclude(position, consume done, result)
            }
            for position in sets.removals(of: set) where accounts.open.contains(position) {
                if promoted.stayed[position] == nil { end.removed += 1 }
                departed(position, promoted.stayed[position])
            }
            self.end(set)
            act(.tell(.set(end)))
        }
    }

    /// Takes back a set that could not be promoted: what other files were to be copied from is fetched.
    private mutating func returned(_ set: Int, _ causes: [Int: MirrorError]) {
        for (position, error) in causes.sorted(by: { $0.key < $1.key }) {
            if plan.steps.isRemoval(at: position) {
                sets.note(.failed(error), ofSet: set)
                departed(position, error)
            } else if let work = takeHeld(position) {
                works[position] = work
                sets[set].held.removeAll { $0 == position }
                sets.open(CollectionOfOne(position))
                if work.isCopy, error.code == .sourceChanged, !isEnding {
                    fetchInstead(position)
                } else {
                    fail(position, error)
                }
            }
        }
        // The orphans are as they were: the set may be complete once more.
        for position in sets.removals(of: set) { accounts.close(position) }
    }

    /// Leaves the tree as it is: what the set holds is kept for the next run.
    private mutating func leave(_ set: Int, _ obstacle: SetObstacle) {
        var end = Event.SetEnd(sets.sets.entries[set])
        end.obstacle = obstacle
        end.obstacles = sets[set].obstacles
        for position in sets[set].held {
            guard let work = takeHeld(position) else { continue }
            end.files += 1
            works[position] = work
            if case .deferred(_, let deferral) = obstacle, !isEnding {
                var done = Event.Done(
                    target: work.step.target, step: work.step.kind, outcome: .deferred,
                    reason: .deferred(deferral), verified: work.row?.verified ?? .none)
                done.bytesReceived = work.done?.bytesReceived ?? 0
                finish(position, done)
            } else {
                accounts.enterUnfinished(position)
                close(position, .abandoned, isPassedOn: false)
            }
        }
        for position in sets.removals(of: set) {
            accounts.close(position)
            accounts.ledger.enterRemovalLeft(of: plan.steps[position])
        }
        accounts.ledger.enterSetLeft()
        sets[set].stage = .over
        act(.tell(.set(end)))
    }

    /// Ends a set: what its steps only confirm is confirmed.
    private mutating func end(_ set: Int) {
        sets[set].stage = .over
        for position in sets[set].held {
            guard let work = sets.work(at: position), case .confirm(let confirmed)? = work.holding
            else { continue }
            works[position] = takeHeld(position)
            act(.confirm(position, confirmed))
        }
    }

    /// Enters the end of a removal; what stayed is told, and an orphan is one still.
    mutating func departed(_ position: Int, _ error: MirrorError?) {
        let step = plan.steps[position]
        accounts.close(position)
        accounts.ledger.enterRemoval(of: step, succeeded: error == nil)
        if let error {
            tell(plan.failure(of: step, error))
        } else {
            act(.tell(.removed(.init(target: step.target, reason: step.reason, size: step.size))))
        }
    }
}

extension Landing.Content {
    /// The same bytes for another target, as long as they have no final name.
    fileprivate var shared: Landing.Content {
        switch self {
        case .part(let name, let stamp): .copyOfPart(name, stamp)
        case .memory, .copy, .copyOfPart, .move: self
        }
    }
}
