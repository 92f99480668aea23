internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// Continues transfers with the results of work that other threads did for them (`TransferWork`).
///
/// A transfer may have been cancelled, or have failed, while the work was done. Then the result
/// only ends it.
final class WorkResults {
    private let register: TransferRegister
    private let driver: TransferDriver
    private let starts: TransferStarts
    private let endings: TransferEndings
    private let intake: ResponseIntake
    private let work: TransferWork

    init(
        of register: TransferRegister, driver: TransferDriver, starts: TransferStarts,
        endings: TransferEndings, intake: ResponseIntake, work: TransferWork
    ) {
        self.register = register
        self.driver = driver
        self.starts = starts
        self.endings = endings
        self.intake = intake
        self.work = work
    }

    /// Continues a transfer after a worker, or ends it as was requested meanwhile.
    private func goOn(_ id: Int, _ next: (Transfer) -> Void) {
        guard let transfer = register.transfers[id] else { return }
        // The transfer failed meanwhile, and only waits for its last milestone.
        if case .settling = transfer.state { return }
        if let ending = transfer.earlyEnd.result { return endings.finish(transfer, ending) }
        next(transfer)
    }

    /// The trusted length of an earlier part is known.
    func established(_ id: Int, file: PartFile?, length: Int64, rangesBeyond: [Range<Int64>]) {
        goOn(id) {
            starts.established($0, file: file, length: length, rangesBeyond: rangesBeyond)
        }
    }

    /// The digests of the complete bytes are known.
    func hashed(_ id: Int, _ digests: [Digest], piecesHold: Bool?) {
        goOn(id) { driver.hashed($0, digests, piecesHold: piecesHold) }
    }

    /// The part holds the bytes of a further connection that ended.
    func segmentHeld(_ id: Int) {
        guard let transfer = register.transfers[id] else { return }
        driver.decide(transfer, transfer.segments?.segmentHeld())
    }

    /// The last milestone of a transfer that ends was logged.
    func settled(_ id: Int) {
        if let transfer = register.transfers[id] { endings.settled(transfer) }
    }

    /// A worker failed.
    func broken(_ id: Int, _ error: MirrorError) {
        // A stopped pipeline reports its waiting work as broken.
        goOn(id) { endings.failInMidst($0, error) }
    }
}

// MARK: Sources that are files

extension WorkResults {
    /// The source file cannot be used.
    func refused(_ id: Int, _ refusal: Refusal) {
        goOn(id) { transfer in driver.decide(transfer) { $0.refused(refusal) } }
    }

    /// The source file is open: it is evaluated like a server's response. A worker copies its bytes
    /// where they are wanted.
    func opened(_ id: Int, _ source: FileSource) { goOn(id) { opened(source, for: $0) } }

    private func opened(_ source: FileSource, for transfer: Transfer) {
        guard let plan = transfer.plan else { return }
        register.dispatcher.answered(transfer.job.id)
        let now = work.clock.now()
        guard let action = transfer.machine?.answered(source.answer(to: plan, at: now), at: now)
        else {
            return
        }
        guard case .receive(let reception) = action.next else {
            return driver.act(action, transfer)
        }
        do {
            try intake.receive(reception, action: action, transfer, isCopied: true)
            if source.size > IncomingBody.memoryLimit {
                try transfer.body?.spill(now: work.clock.monotonic())
            }
        } catch { return endings.fail(transfer, error) }
        guard let body = transfer.body else { return }
        work.copy(source, into: body, for: transfer)
    }

    /// The bytes of the source file are in memory or in the part.
    func copied(_ id: Int, _ bytes: CopiedBytes) { goOn(id) { copied(bytes, for: $0) } }

    private func copied(_ bytes: CopiedBytes, for transfer: Transfer) {
        guard let body = transfer.body else { return }
        if let failure = bytes.failure {
            // Nothing of a file that changed while it was read may be used.
            return driver.decide(transfer) { $0.interrupted(failure, length: nil) }
        }
        do {
            if let memory = bytes.memory {
                let now = work.clock.monotonic()
                let outcome = memory.withUnsafeBytes { memory in
                    Result<Void, MirrorError> { () throws(MirrorError) in
                        try body.append(memory, now: now)
                    }
                }
                try outcome.get()
            } else {
                body.adopt(copied: bytes.length)
            }
        } catch { return endings.fail(transfer, error) }
        let length = body.length
        driver.decide(transfer) { $0.bodyEnded(length: length) }
    }
}
