/// Takes each step of a run from its row to its end.
///
/// `Settler` decides how a step goes on, and `StepFlow` carries the decision out. `StepBook` has
/// the steps under way and ends them. `TransferFlow` begins and steers transfers. `SetFlow` keeps
/// finished steps until their set is promoted. `StepBook` also notes a failure that ends the run,
/// and `RunMachine` acts on this note.
struct StepFlow: ~Copyable {
    var book: StepBook
    private(set) var transfers: TransferFlow
    private var sets: SetFlow
    private var isOpen = false
    /// The cancellations that were requested before the steps were opened.
    private var cancelledEarly: [(target: Target, discardsPart: Bool)] = []

    init(_ plan: Plan, rules: RunRules, in surroundings: any RunSurroundings) {
        book = StepBook(plan, rules: rules, in: surroundings)
        transfers = TransferFlow(book)
        sets = SetFlow(book.sets)
    }

    /// Opens the steps that need no server and the transfers, and counts the kept files.
    mutating func open(_ local: [Int], kept: Int) {
        book.open(local, kept: kept)
        transfers.fill(besides: local, &book)
        isOpen = true
        for wish in cancelledEarly { cancel(wish.target, discardingPart: wish.discardsPart) }
        cancelledEarly = []
    }

    /// Begins transfers that may begin now, and promotes or leaves the sets that are complete.
    mutating func advance() {
        if !book.isEnding { transfers.beginMore(&book) }
        sets.settle(&book)
    }

    /// Handles an input about a step or its transfer.
    mutating func take(_ input: RunInput) {
        switch input {
        case .joined(let position, let end): transfers.rejoin(position, end, &book)
        case .transfer(let position, let event): take(event, of: position)
        case .promoted(let position, let result): promoted(position, result)
        case .confirmed(let position, let error): confirmed(position, error)
        case .setEnded(let set, let result): sets.ended(set, result, &book, &transfers)
        case .pause(let target): transfers.pause(target, &book)
        case .resume(let target): transfers.resume(target, &book)
        case .cancel(let target, let discarding): cancel(target, discardingPart: discarding)
        case .permission(let deferral): transfers.permit(deferral, &book)
        case .putAside(let target): transfers.putAside(target, &book)
        case .ready, .roomIsShort, .withoutRoom, .changed, .lookedAtKept, .refused, .removed, .end,
            .tick:
            break
        }
    }

    /// Cancels the transfer of a target. `nil` cancels all transfers under way.
    ///
    /// A step that waits, even one that waits for its set, ends at once. Work that the disk has
    /// begun is not taken back.
    mutating func cancel(_ target: Target?, discardingPart: Bool) {
        guard let target else {
            let running = transfers.window.running.positions
            return book.surroundings.cancel(running, discardingParts: discardingPart)
        }
        guard isOpen else { return cancelledEarly.append((target, discardingPart)) }
        // A removal has no bytes to cancel, and the run waits for its end.
        guard let position = book.plan.steps.position(of: target),
            book.accounts.open.contains(position), !book.plan.steps.isRemoval(at: position)
        else { return }
        if transfers.window.running.contains(position) {
            book.surroundings.cancel([position], discardingParts: discardingPart)
        } else if let held = sets.takeOut(position, &book) {
            // The steps that share the request have begun with the same bytes.
            let isShared = book.sharing.followers[position] != nil
            if discardingPart, !isShared, case .promote(let promotion) = held,
                case .part(let name, _) = promotion.content
            {
                book.surroundings.discard(parts: [name])
            }
            book.fail(position, .cancelled(target))
        } else if book.isWaiting(position) || transfers.window.isHeld(position) {
            // If another run has the target, only that run may discard the part: it may promote it.
            let isAnothers = transfers.stopWaiting(position, book.sets)
            if discardingPart, !isAnothers, let part = book.plan.steps[position].part {
                book.surroundings.discard(parts: [part.name])
            }
            endCancelled(position)
        }
    }

    /// Ends a step that was cancelled. The steps that share its request send their own requests.
    private mutating func endCancelled(_ position: Int) {
        if book.isEnding { return book.breakOff(position) }
        book.fail(position, .cancelled(book.plan.steps.target(at: position)))
        transfers.addFollowers(of: position, &book)
    }

    /// Ends the steps that wait for their turn, for a resume, or for another run.
    mutating func leaveOutWhatWaits() { transfers.leaveOutWhatWaits(&book) }

    /// Ends a step whose work the loop or the disk still has.
    ///
    /// A set gives a step's bytes to the steps that share its request before the set is promoted.
    /// So these steps may have begun, and end first. A step that was not begun is only counted.
    mutating func abandon(_ position: Int) {
        for follower in book.sharing.followers[position] ?? [] {
            sets.putBack(follower, &book)
            if book.table[follower] != nil { book.breakOff(follower) }
        }
        sets.putBack(position, &book)
        book.breakOff(position)
    }
}

// MARK: Settlements

extension StepFlow {
    /// Begins steps that need no server.
    mutating func beginLocally(_ positions: [Int]) {
        for (position, work) in book.begin(positions, .tree) {
            let step = work.step
            // The settlement of another step may have ended the run.
            if book.isEnding {
                book.breakOff(position)
                continue
            }
            if let shortage = book.withoutRoom[position] {
                book.leaveOut(position, because: .noRoom(shortage))
                continue
            }
            if step.kind == .evicted, book.sets.isEssential(position) {
                book.leaveOut(position, because: step.reason)
                continue
            }
            guard
                let settlement = book.settler.settleLocally(
                    step, row: work.row, now: book.now.time, isOfSet: book.sets.has(position))
            else {
                transfers.fetchInstead(position, &book)
                continue
            }
            if case .promote = settlement {
                book.accounts.noteBegun(position)
                book.tell(
                    .start(
                        .init(
                            target: step.target, step: step.kind, reason: step.reason, source: nil,
                            size: work.row?.stamp.size, offset: 0)))
            }
            carryOut(settlement, position)
        }
    }

    /// Gives the bytes of a step to the steps that wait for its request.
    private mutating func share(
        _ record: @autoclosure () -> IndexRecord, of position: Int,
        as content: Promotion.Content
    ) {
        let followers = book.waitingFollowers(of: position)
        if followers.isEmpty { return }
        let record = record()
        for (follower, work) in book.begin(followers, .otherStep) {
            let size = record.stamp.size
            if let reason = book.surroundings.lackOfRoom(forFileOf: size, at: follower) {
                book.leaveOut(follower, because: reason)
                continue
            }
            let settlement = book.settler.share(
                record, with: work.step, as: content, row: work.row, now: book.now.time)
            carryOut(settlement, follower)
        }
    }

    /// Carries out the settlement of a step.
    private mutating func carryOut(_ settlement: Settlement, _ position: Int) {
        switch settlement {
        case .promote(let promotion, let done):
            let work = book.table[position]
            work?.done = done
            if book.sets.has(position) {
                sets.hold(position, .promote(promotion), &book)
                return share(promotion.record, of: position, as: promotion.content.shared)
            }
            work?.bytesInMemory = promotion.bytesInMemory
            transfers.window.promotionBegins(bytesInMemory: promotion.bytesInMemory)
            book.surroundings.promote(position, promotion)
        case .confirm(let confirmed, let done):
            book.table[position]?.done = done
            if confirmed.mode != nil, book.sets.has(position) {
                return sets.hold(position, .confirm(confirmed), &book)
            }
            book.surroundings.confirm(position, confirmed)
        case .finish(let done): book.leave(position, done)
        case .fail(let error): book.fail(position, error)
        }
    }
}

// MARK: Events of a transfer

extension StepFlow {
    /// Handles an event of a transfer.
    private mutating func take(_ event: TransferEvent, of position: Int) {
        guard let work = book.table[position] else { return }
        book.accounts.count(event, of: work, at: book.now.elapsed)
        work.note(event, at: book.now.elapsed)
        // This event comes first, because the code below may report the step's end.
        if let news = event.news(of: work.step) { book.tell(news) }
        switch event {
        case .started: book.accounts.noteBegun(position)
        case .retry(_, _, let wait, _): if wait > 0 { transfers.window.delayed(position) }
        case .progress, .verifying, .restart: break
        case .ended(let result): ended(position, work, result)
        }
    }

    private mutating func ended(_ position: Int, _ work: StepWork, _ result: TransferResult) {
        transfers.window.ended(position)
        book.accounts.counts.enter(result.cost)
        switch result {
        case .received(let body):
            arrived(body, for: position, work)
        case .notModified(let answer, _):
            let settlement = book.settler.settle(
                answer, for: work.step, row: work.row, now: book.now.time)
            carryOut(settlement, position)
            for (follower, work) in book.begin(book.waitingFollowers(of: position), .otherStep) {
                let settlement = book.settler.settle(
                    answer, for: work.step, row: work.row, now: book.now.time)
                carryOut(settlement, follower)
            }
        case .failed(let error, _): transfers.settle(error, position, &book)
        case .leftOut(let reason, let cost):
            book.leaveOut(position, because: reason, cost)
            // Another target may have room, in another area or without a quota.
            transfers.addFollowers(of: position, &book)
        case .cancelled(let cost):
            if cost.requests > 0 { book.accounts.noteBegun(position) }
            if let deferral = transfers.takeWithdrawal(of: position), !book.isEnding {
                return book.postpone(position, deferral, cost)
            }
            endCancelled(position)
        }
    }

    /// Continues a step whose body is verified.
    ///
    /// The file stays if it has the same bytes already. Otherwise the body gets the target's name.
    private mutating func arrived(_ body: ReceivedBody, for position: Int, _ work: StepWork) {
        var target = work.step.target
        if book.plan.isNamedByServer(work.step), case .nothing = work.step.existing {
            do { target = try book.surroundings.name(body, of: position) } catch {
                book.fail(position, error)
                return transfers.addFollowers(of: position, &book)
            }
        }
        let settlement = book.settler.settle(
            body, at: target, for: work.step, row: work.row, now: book.now.time)
        carryOut(settlement, position)
        guard case .confirm(let confirmed, _) = settlement else { return }
        // A part that cannot be removed costs room and nothing else. The next run tries again.
        if case .part(let name, _) = body.content { book.surroundings.discard(parts: [name]) }
        share(confirmed.record, of: position, as: .copy(of: confirmed.target))
    }
}

// MARK: Results of the disk

extension StepFlow {
    /// Continues a step whose bytes have their final name, or failed to get it.
    private mutating func promoted(_ position: Int, _ result: PromotionResult) {
        guard let work = book.table[position], let done = work.done.take() else { return }
        transfers.window.promotionEnded(bytesInMemory: work.bytesInMemory)
        switch result {
        case .promoted(let promotion, let stamp, _):
            book.finish(position, consume done, result)
            share(promotion.record(stamp: stamp), of: position, as: .copy(of: promotion.target))
        case .failed(let error) where work.isCopy && error.code == .sourceChanged:
            transfers.fetchInstead(position, &book)
        case .failed(let error):
            book.fail(position, error)
            transfers.addFollowers(of: position, &book)
        }
    }

    /// Ends a step whose row was written. An error fails the step.
    private mutating func confirmed(_ position: Int, _ error: MirrorError?) {
        if let error { return book.fail(position, error) }
        guard let done = book.table[position]?.done.take() else { return }
        book.finish(position, consume done)
    }
}
