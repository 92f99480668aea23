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
        if let download = book.table[position]?.download {
            cancel(position, of: download, discardingPart: discardingPart)
        } else if let held = sets.takeOut(position, &book) {
            // Other files of the set may be copies of the part.
            let isAlone = book.planned.steps(of: book.planned.number(of: position)).count == 1
            if discardingPart, isAlone, case .promote(let promotion) = held,
                case .part(let name, _) = promotion.content
            {
                book.surroundings.discard(parts: [name])
            }
            book.fail(position, .cancelled(target))
        } else if book.isWaiting(position) {
            // If another run has the target, only that run may discard the part: it may promote it.
            let isAnothers = transfers.stopWaiting(position, book.sets)
            endCancelled(position, discardingPart: discardingPart && !isAnothers)
        }
    }

    /// Cancels a step that has a download. Other targets of the download still get its bytes.
    private mutating func cancel(
        _ position: Int, of download: DownloadProgress, discardingPart: Bool
    ) {
        let number = download.number
        let isUnderWay = book.downloads[number] === download
        if download.others.contains(position) || isUnderWay && !download.others.isEmpty {
            transfers.leaveOut(position, of: download, book)
            // The download may be continuing the part of the step that it began with.
            endCancelled(position, discardingPart: discardingPart && position != number)
        } else if isUnderWay, transfers.takeHeld(number) {
            book.downloads[number] = nil
            endCancelled(position, discardingPart: discardingPart)
        } else if isUnderWay {
            book.surroundings.cancel([number], discardingParts: discardingPart)
        }
    }

    /// Ends a step that was cancelled, and discards the part that it would have continued.
    private mutating func endCancelled(_ position: Int, discardingPart: Bool = false) {
        if discardingPart, let part = book.plan.steps[position].part {
            book.surroundings.discard(parts: [part.name])
        }
        if book.isEnding { return book.breakOff(position) }
        book.fail(position, .cancelled(book.plan.steps.target(at: position)))
    }

    /// Ends the steps that wait for their turn, for a resume, or for another run.
    mutating func leaveOutWhatWaits() { transfers.leaveOutWhatWaits(&book) }

    /// Ends a step whose work the loop or the disk still has.
    mutating func abandon(_ position: Int) {
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
                transfers.fetchInstead([position], &book)
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

    /// Gives the bytes of a download to the steps that wait for its receiver's bytes.
    private mutating func share(
        _ record: @autoclosure () -> IndexRecord, of download: DownloadProgress?,
        as content: Promotion.Content
    ) {
        guard let others = download?.takeOthers(), !others.isEmpty else { return }
        let record = record()
        for position in others {
            guard let work = book.table[position] else { continue }
            let size = record.stamp.size
            if let reason = book.surroundings.lackOfRoom(forFileOf: size, at: position) {
                book.leaveOut(position, because: reason)
                continue
            }
            let settlement = book.settler.share(
                record, with: work.step, as: content, row: work.row, now: book.now.time)
            carryOut(settlement, position)
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
                return share(promotion.record, of: work?.download, as: promotion.content.shared)
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
    /// Handles an event of a download.
    private mutating func take(_ event: TransferEvent, of number: Int) {
        guard let download = book.downloads[number], let work = book.table[download.receiver]
        else { return }
        book.accounts.count(event, of: download, for: work.step, at: book.now.elapsed)
        download.note(event, at: book.now.elapsed)
        // This event comes first, because the code below may report the step's end.
        if let news = event.news(of: work.step) { book.tell(news) }
        switch event {
        case .started: book.accounts.noteBegun(download.receiver)
        case .retry(_, _, let wait, _): if wait > 0 { transfers.window.delayed(number) }
        case .progress, .verifying, .restart, .warning: break
        case .ended(let result): ended(download, work, result)
        }
    }

    private mutating func ended(
        _ download: DownloadProgress, _ work: StepWork, _ result: TransferResult
    ) {
        transfers.window.ended(download.number)
        book.downloads[download.number] = nil
        book.accounts.counts.enter(result.cost)
        let receiver = download.receiver
        switch result {
        case .received(let body):
            arrived(body, by: download, work)
        case .notModified(let answer, _):
            for position in [receiver] + download.takeOthers() {
                guard let work = book.table[position] else { continue }
                let settlement = book.settler.settle(
                    answer, for: work.step, row: work.row, now: book.now.time)
                carryOut(settlement, position)
            }
        case .failed(let error, _):
            transfers.settle(error, receiver, &book)
            for position in download.takeOthers() {
                var shared = error
                shared.message = "\(book.plan.steps.target(at: position)): as \(error.message)"
                transfers.settle(shared, position, &book)
            }
        case .leftOut(let reason, let cost):
            book.leaveOut(receiver, because: reason, cost)
            // Another target may have room, in another area or without a quota.
            transfers.fetchInstead(download.takeOthers(), &book)
        case .cancelled(let cost):
            if cost.requests > 0 { book.accounts.noteBegun(receiver) }
            let deferral = transfers.takeWithdrawal(of: download.number)
            if let deferral, !book.isEnding {
                book.postpone(receiver, deferral, cost)
                for position in download.takeOthers() { book.postpone(position, deferral) }
            } else {
                endCancelled(receiver)
                for position in download.takeOthers() { endCancelled(position) }
            }
        }
    }

    /// Continues a step whose body is verified.
    ///
    /// The file stays if it has the same bytes already. Otherwise the body gets the target's name.
    private mutating func arrived(
        _ body: ReceivedBody, by download: DownloadProgress, _ work: StepWork
    ) {
        let position = download.receiver
        var target = work.step.target
        if book.plan.isNamedByServer(work.step), case .nothing = work.step.existing {
            do { target = try book.surroundings.name(body, of: position) } catch {
                return book.fail(position, error)
            }
        }
        let settlement = book.settler.settle(
            body, at: target, for: work.step, row: work.row, now: book.now.time)
        carryOut(settlement, position)
        guard case .confirm(let confirmed, _) = settlement else { return }
        // A part that cannot be removed costs room and nothing else. The next run tries again.
        if case .part(let name, _) = body.content { book.surroundings.discard(parts: [name]) }
        share(confirmed.record, of: download, as: .copy(of: confirmed.target))
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
            share(
                promotion.record(stamp: stamp), of: work.download,
                as: .copy(of: promotion.target))
        case .failed(let error) where error.code == .sourceChanged && book.isCopy(position):
            transfers.fetchInstead([position], &book)
        case .failed(let error):
            let others = work.download?.receiver == position ? work.download?.takeOthers() : nil
            book.fail(position, error)
            transfers.fetchInstead(others ?? [], &book)
        }
    }

    /// Ends a step whose row was written. An error fails the step.
    private mutating func confirmed(_ position: Int, _ error: MirrorError?) {
        if let error { return book.fail(position, error) }
        guard let done = book.table[position]?.done.take() else { return }
        book.finish(position, consume done)
    }
}
