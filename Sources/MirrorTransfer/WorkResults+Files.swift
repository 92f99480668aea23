internal import MirrorModel
internal import MirrorSystem

/// Continues transfers whose sources are files.
extension WorkResults {
    /// A thread got further with a source file.
    func file(_ reading: FileReading, _ news: FileNews) {
        guard let transfer = register.transfers[reading.id],
            work.files.ended(reading, of: transfer)
        else { return }
        switch news {
        case .found(let source): found(source, for: transfer)
        case .copied(let bytes): copied(bytes, for: transfer)
        case .refused(let refusal): driver.decide(transfer) { $0.refused(refusal) }
        case .failed(let failure): interrupted(transfer, failure)
        case .broken(let error): endings.failInMidst(transfer, error)
        }
    }

    /// Too few bytes of a source file came for too long.
    func stalled(_ reading: FileReading) {
        guard let transfer = register.transfers[reading.id],
            work.files.giveUp(reading, of: transfer)
        else { return }
        interrupted(transfer, .stalled(seconds: work.files.stallTimeout))
    }

    /// The file is evaluated like a server's response. A thread copies its bytes where they are wanted.
    private func found(_ source: FileSource, for transfer: Transfer) {
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
            try intake.receive(reception, action: action, transfer)
            if source.size > IncomingBody.memoryLimit {
                try transfer.body?.spill(now: work.clock.monotonic())
            }
        } catch { return endings.fail(transfer, error) }
        guard let body = transfer.body else { return }
        work.files.copy(source, into: body, for: transfer)
    }

    /// The bytes of the source file are in memory or in the part.
    private func copied(_ bytes: CopiedBytes, for transfer: Transfer) {
        guard let body = transfer.body else { return }
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

    /// Nothing of a file that was not read to its end, or that changed meanwhile, may be used. Bytes of
    /// an earlier source stay where no byte of the file was asked for.
    private func interrupted(_ transfer: Transfer, _ failure: TransportFailure) {
        if transfer.machine?.reception != nil, transfer.body?.file != nil {
            do { try transfer.drop() } catch { return endings.fail(transfer, error) }
        }
        let length = transfer.body?.length
        register.know(hostsOf: transfer)
        driver.decide(transfer) { $0.interrupted(failure, length: length) }
    }
}
