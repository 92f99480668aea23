internal import MirrorModel

/// Messages from callers and workers to the transfer thread.
extension TransferEngine {
    package func take(_ message: TransferMessage) {
        switch message {
        case .submit(let jobs): for job in jobs { submit(job) }
        case .pause(let id): pause(id)
        case .resume(let id): resume(id)
        case .pauseAll: reading.isPaused = true
        case .resumeAll: reading.isPaused = false
        case .cancel(let ids, let discardingPart):
            for id in ids {
                guard let transfer = transfers[id] else { continue }
                cancel(transfer, discardingPart: discardingPart)
            }
        case .cancelAll: cancelAll()
        case .stop:
            isStopping = true
            cancelAll()
        case .established(let id, let file, let length, let rangesBeyond):
            resumeWork(id) {
                self.established($0, file: file, length: length, rangesBeyond: rangesBeyond)
            }
        case .hashed(let id, let digests, let piecesHold):
            resumeWork(id) { self.hashed($0, digests, piecesHold: piecesHold) }
        case .segmentHeld(let id): if let transfer = transfers[id] { segmentHeld(transfer) }
        case .settled(let id): settled(id)
        case .fileOpened(let id, let source):
            resumeWork(id) { self.opened(source, for: $0) }
        case .fileCopied(let id, let bytes): resumeWork(id) { self.copied(bytes, for: $0) }
        case .broken(let id, let error): broken(id, error)
        case .sourceRefused(let id, let refusal):
            resumeWork(id) { transfer in self.decide(transfer) { $0.refused(refusal) } }
        }
    }

    private func submit(_ job: TransferJob) {
        let transfer = Transfer(job, stallTimeout: configuration.transfer.stallTimeout)
        transfers[job.id] = transfer
        if let refusal { return end(transfer, .failed(refusal, transfer.cost)) }
        if isStopping { return end(transfer, .cancelled(transfer.cost)) }
        waitForPlace(transfer)
    }

    private func cancelAll() {
        for transfer in Array(transfers.values) { cancel(transfer, discardingPart: false) }
    }

    private func pause(_ id: Int) {
        guard let transfer = transfers[id], !transfer.isPaused else { return }
        transfer.isPaused = true
        switch transfer.state {
        case .queued, .waiting: dispatcher.remove(id)
        // A running request notices the pause when its next bytes come.
        case .exchanging, .joined:
            for active in activeRequests.values where active.id == id {
                active.stall.end(at: asking.elapsed)
            }
        case .working, .settling: break
        }
    }

    private func resume(_ id: Int) {
        guard let transfer = transfers[id], transfer.isPaused else { return }
        transfer.isPaused = false
        switch transfer.state {
        case .exchanging, .joined:
            // The loop resumes the request.
            for active in activeRequests.values where active.id == id {
                active.stall.reset()
                if active.isAsking { active.stall.begin(at: asking.elapsed) }
            }
        case .queued: waitForPlace(transfer)
        case .waiting(let until): dispatcher.delay(id, until: until)
        case .working, .settling: break
        }
    }

    /// Continues a transfer after a worker, or ends it as was requested meanwhile.
    private func resumeWork(_ id: Int, _ next: (Transfer) -> Void) {
        guard let transfer = transfers[id] else { return }
        // The transfer failed meanwhile, and only waits for its last milestone.
        if case .settling = transfer.state { return }
        if let ending = transfer.ending { return finish(transfer, ending) }
        next(transfer)
    }

    private func settled(_ id: Int) {
        guard let transfer = transfers[id], case .settling(let result) = transfer.state else {
            return
        }
        end(transfer, result)
    }

    private func broken(_ id: Int, _ error: MirrorError) {
        guard let transfer = transfers[id] else { return }
        if case .settling = transfer.state { return }
        // A stopped pipeline reports its waiting work as broken.
        if let ending = transfer.ending { return finish(transfer, ending) }
        if case .exchanging(let active) = transfer.state { breakOff(active) }
        fail(transfer, error)
    }
}
