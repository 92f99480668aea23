internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem
internal import Synchronization

/// Ends transfers: flushes and logs their last bytes, and reports the result.
extension TransferEngine {
    /// Ends a transfer with a failure that no source can repair.
    package func fail(_ transfer: Transfer, _ error: MirrorError) {
        countRequests(transfer)
        var error = error
        error.target = error.target ?? transfer.job.target
        error.attempts = max(error.attempts, transfer.cost.requests)
        settle(transfer, .failed(error, transfer.cost))
        // A full disk affects every transfer: the engine makes no further request.
        if error.code == .noSpace { refuseAll(error) }
    }

    /// Keeps the bytes that another run may resume, then reports the result.
    package func settle(_ transfer: Transfer, _ result: TransferResult) {
        if case .settling = transfer.state { return }
        dispatcher.release(transfer.job.id)
        // The transfer may be queued for a place as well, and must not begin again.
        dispatcher.remove(transfer.job.id)
        let isKept = transfer.body?.isResumable == true
        let pipelines = dismissSegments(of: transfer, keeping: isKept)
        guard let body = transfer.body else { return end(transfer, result) }
        guard isKept else {
            try? body.discard()
            return end(transfer, result)
        }
        // The digest of bytes that further connections fetched is no longer needed: extents have
        // their own.
        body.stop()
        do {
            try body.spill(now: clock.monotonic())
            body.flush()
        } catch {
            // Milestones that were logged before stay valid; there is nothing to add.
        }
        transfer.state = .settling(result)
        let (id, name, parts, inbox) = (transfer.job.id, body.record.name, parts, inbox)
        let clock = clock
        let countdown = Countdown(pipelines.count + 1) { inbox.post(.settled(id)) }
        for pipeline in pipelines { pipeline.submit { _ in countdown.step() } }
        body.pipeline.submit { digests in
            try? digests.log(name, in: parts, now: clock.monotonic())
            countdown.step()
        }
    }

    /// Removes a transfer and reports the last event of its job.
    package func end(_ transfer: Transfer, _ result: TransferResult) {
        let id = transfer.job.id
        dispatcher.release(id)
        dispatcher.remove(id)
        transfers[id] = nil
        report(transfer, .ended(result))
    }

    /// Cancels a job in any state.
    package func cancel(_ transfer: Transfer, discardingPart: Bool) {
        countRequests(transfer)
        let result = TransferResult.cancelled(transfer.cost)
        transfer.cancellation.request()
        transfer.discardsPart = transfer.discardsPart || discardingPart
        switch transfer.state {
        case .settling: return
        case .working:
            // The worker's message will find this ending.
            transfer.ending = result
            transfer.body?.stop()
        case .exchanging(let active):
            breakOff(active)
            finish(transfer, result)
        case .queued, .waiting, .joined: finish(transfer, result)
        }
    }

    /// Ends a job on which no worker is busy.
    package func finish(_ transfer: Transfer, _ result: TransferResult) {
        guard transfer.discardsPart else { return settle(transfer, result) }
        dismissSegments(of: transfer, keeping: false)
        do {
            if let body = transfer.body {
                try body.discard()
            } else if let part = transfer.job.part {
                try parts.discard(part: part.name)
            }
            end(transfer, result)
        } catch {
            end(transfer, .failed(error, transfer.cost))
        }
    }

    /// Ends all running transfers, and all later ones, with one error.
    func refuseAll(_ error: MirrorError) {
        guard refusal == nil else { return }
        refusal = error
        for transfer in Array(transfers.values) {
            countRequests(transfer)
            var error = error
            error.target = transfer.job.target
            let result = TransferResult.failed(error, transfer.cost)
            switch transfer.state {
            case .settling: break
            case .working:
                transfer.cancellation.request()
                transfer.ending = result
                transfer.body?.stop()
            case .exchanging(let active):
                breakOff(active)
                settle(transfer, result)
            case .queued, .waiting, .joined: settle(transfer, result)
            }
        }
    }
}

/// Calls back when a number of steps are done, on the thread that does the last one.
private final class Countdown: Sendable {
    private let left: Atomic<Int>
    private let done: @Sendable () -> Void

    init(_ steps: Int, done: @escaping @Sendable () -> Void) {
        left = Atomic(steps)
        self.done = done
    }

    func step() {
        if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done() }
    }
}
