/// The sets of a run, each from the first step that holds something until it is promoted or left.
///
/// A step of a set does not end when its bytes are verified: it holds them here, until all of the
/// set can be promoted. `SetProgress` knows when that is.
struct SetFlow: ~Copyable {
    private var promotions: [Promotion]
    /// The steps that hold what their set promotes.
    private var works: [Int: StepWork] = [:]

    /// How far the promotion of one set is.
    private struct Promotion {
        /// The steps that hold something, in the order in which they came to it.
        var held: [Int] = []
        var stage = Stage.gathering
    }

    private enum Stage { case gathering, promoting, over }

    init(_ progress: SetProgress) {
        promotions = progress.sets.entries.map { _ in Promotion() }
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
        promotions[set].held.append(position)
        if case .land(let landing) = holding {
            book.share(landing.record, ofStep: position, as: landing.content.shared)
        }
    }

    /// Puts a step back that holds something, so that it can end or begin again; nil where it holds
    /// nothing.
    @discardableResult
    mutating func putBack(_ position: Int, _ book: inout StepBook) -> StepWork? {
        if promotions.isEmpty { return nil }
        guard let work = works.removeValue(forKey: position) else { return nil }
        work.holding = nil
        book.held.remove(position)
        book.table.insert(work, at: position)
        return work
    }

    /// Puts a step back that holds something for a set whose promotion has not begun, and returns what
    /// it held; nil where it holds nothing, or it is too late.
    mutating func takeOut(_ position: Int, _ book: inout StepBook) -> StepWork.Holding? {
        if promotions.isEmpty { return nil }
        guard let set = book.sets.set(of: position), promotions[set].stage == .gathering,
            let holding = works[position]?.holding
        else { return nil }
        promotions[set].held.removeAll { $0 == position }
        putBack(position, &book)
        return holding
    }

    /// Promotes the sets that are complete, and leaves those that cannot be.
    mutating func settle(_ book: inout StepBook) {
        if promotions.isEmpty { return }
        let complete = promotions.indices.filter {
            promotions[$0].stage == .gathering && book.sets.isComplete($0)
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
        var landings: [SetLanding.Member] = []
        var removals: [SetLanding.Departure] = []
        for position in promotions[set].held {
            guard let work = works[position], case .land(let landing)? = work.holding else {
                continue
            }
            landings.append(SetLanding.Member(position, landing))
            if case .move(let orphan) = work.step.means, landing.content == .copy(of: orphan) {
                removals.append(.init(nil, Removal(target: orphan, stamp: nil)))
            }
        }
        let leaving = book.sets.removals(of: set)
        for position in leaving {
            guard case .ours(let stamp, _) = book.plan.steps[position].existing else { continue }
            let removal = Removal(target: book.plan.steps.target(at: position), stamp: stamp)
            removals.append(.init(position, removal))
        }
        if landings.isEmpty, removals.isEmpty { return end(set, &book) }
        book.accounts.open(leaving)
        promotions[set].stage = .promoting
        landings.sort { $0.landing.target < $1.landing.target }
        book.act(
            .landSet(
                SetLanding(
                    number: set, set: book.sets.sets.entries[set], landings: landings,
                    removals: removals)))
    }

    /// Leaves the tree as it is: what the set holds is kept for the next run.
    private mutating func leave(_ set: Int, _ obstacle: SetObstacle, _ book: inout StepBook) {
        var end = Event.SetEnd(book.sets.sets.entries[set])
        end.obstacle = obstacle
        end.obstacles = book.sets.obstacles(of: set)
        for position in promotions[set].held {
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
        book.accounts.ledger.enterSetLeft()
        promotions[set].stage = .over
        book.act(.tell(.set(end)))
    }

    /// Ends a set: what its steps only confirm is confirmed.
    private mutating func end(_ set: Int, _ book: inout StepBook) {
        promotions[set].stage = .over
        for position in promotions[set].held {
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
        guard !promotions.isEmpty, promotions[set].stage == .promoting else { return }
        promotions[set].stage = .gathering
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
        for position in promotions[set].held {
            putBack(position, &book)
            end.files += 1
            book.fail(position, error)
        }
        for position in book.sets.removals(of: set) where book.accounts.open.contains(position) {
            book.depart(position, error)
        }
        book.accounts.ledger.enterSetLeft()
        promotions[set].stage = .over
        book.act(.tell(.set(end)))
    }

    private mutating func finish(
        _ set: Int, _ promoted: SetResult.Promoted, _ book: inout StepBook
    ) {
        var end = Event.SetEnd(book.sets.sets.entries[set])
        end.way = promoted.way
        end.kept = promoted.kept
        for position in promotions[set].held {
            guard let result = promoted.landed[position], let work = putBack(position, &book),
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
                book.hinder(position, error)
            } else if let work = putBack(position, &book) {
                promotions[set].held.removeAll { $0 == position }
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

extension Landing.Content {
    /// The same bytes for another target, as long as they have no final name.
    fileprivate var shared: Landing.Content {
        switch self {
        case .part(let name, let stamp): .copyOfPart(name, stamp)
        case .memory, .copy, .copyOfPart, .move: self
        }
    }
}
