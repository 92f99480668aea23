internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// Ends transfers: one, or all with one error.
///
/// An ending flushes and logs the last bytes, so that another run may resume them, and reports the
/// result. While a worker is busy with a transfer, the transfer keeps its ending until the worker's
/// message has come.
final class TransferEndings {
    /// The error that forbids any further request; nil while requests are allowed.
    private(set) var refusal: MirrorError?
    private(set) var isStopping = false
    private let register: TransferRegister
    private let requests: ActiveRequests
    private let work: TransferWork

    init(of register: TransferRegister, requests: ActiveRequests, work: TransferWork) {
        self.register = register
        self.requests = requests
        self.work = work
    }

    /// Whether all running transfers are being ended.
    var endsAll: Bool { isStopping || refusal != nil }

    /// Ends a transfer with a failure that no source can repair.
    func fail(_ transfer: Transfer, _ error: MirrorError) {
        transfer.countRequests()
        var error = error
        error.target = error.target ?? transfer.job.target
        error.attempts = max(error.attempts, transfer.cost.requests)
        settle(transfer, .failed(error, transfer.cost))
        // A full disk affects every transfer: the engine makes no further request.
        if error.code == .noSpace { refuseAll(error) }
    }

    /// Ends a transfer with a failure on this side while connections are open.
    func failInMidst(_ transfer: Transfer, _ error: MirrorError) {
        if case .settling = transfer.state { return }
        switch transfer.state {
        case .exchanging(let active): requests.breakOff(active)
        case .reading(let reading): work.files.giveUp(reading, of: transfer)
        case .queued, .working, .joined, .waiting, .settling: break
        }
        fail(transfer, error)
    }

    /// Keeps the bytes that another run may resume, then reports the result.
    private func settle(_ transfer: Transfer, _ result: TransferResult) {
        if case .settling = transfer.state { return }
        // The transfer may be queued for a place as well, and must not begin again.
        register.withdraw(transfer)
        let isKept = transfer.body?.isResumable == true
        let pipelines = transfer.segments?.dismiss(keeping: isKept) ?? []
        guard let body = transfer.body else { return register.end(transfer, result) }
        guard isKept else {
            try? body.discard()
            return register.end(transfer, result)
        }
        // The digest of bytes that further connections fetched is no longer needed: extents have
        // their own.
        body.stop()
        do {
            try body.spill(now: work.clock.monotonic())
            body.flush()
        } catch {
            // Milestones that were logged before stay valid; there is nothing to add.
        }
        transfer.state = .settling(result)
        work.settle(body, of: transfer.job, after: pipelines)
    }

    /// Reports the result of a transfer whose last milestone was logged.
    func settled(_ transfer: Transfer) {
        if case .settling(let result) = transfer.state { register.end(transfer, result) }
    }

    /// Ends a job on which no worker is busy.
    func finish(_ transfer: Transfer, _ result: TransferResult) {
        guard transfer.earlyEnd.discardsPart else { return settle(transfer, result) }
        transfer.segments?.dismiss(keeping: false)
        do {
            // The body that stands for a part while it is read has no file.
            let hasFile = transfer.body?.file != nil
            try transfer.body?.discard()
            if !hasFile, let part = transfer.job.part {
                try work.parts.discard(part: part.name)
            }
            register.end(transfer, result)
        } catch {
            register.end(transfer, .failed(error, transfer.cost))
        }
    }

    /// Cancels a job in any state.
    func cancel(_ transfer: Transfer, discardingPart: Bool) {
        transfer.countRequests()
        let result = TransferResult.cancelled(transfer.cost)
        transfer.earlyEnd.cancellation.request()
        if discardingPart { transfer.earlyEnd.discardsPart = true }
        switch transfer.state {
        case .settling: return
        case .working:
            // The worker's message will find this ending.
            transfer.earlyEnd.result = result
            transfer.body?.stop()
        case .exchanging(let active):
            requests.breakOff(active)
            finish(transfer, result)
        case .reading(let reading):
            // It may never come back.
            work.files.giveUp(reading, of: transfer)
            finish(transfer, result)
        case .queued, .waiting, .joined: finish(transfer, result)
        }
    }

    /// Cancels every job.
    func cancelAll() {
        for transfer in Array(register.transfers.values) {
            cancel(transfer, discardingPart: false)
        }
    }

    /// Cancels every job, and each one that comes later.
    func stop() {
        isStopping = true
        cancelAll()
    }

    /// Ends all running transfers, and all later ones, with one error.
    func refuseAll(_ error: MirrorError) {
        guard refusal == nil else { return }
        refusal = error
        for transfer in Array(register.transfers.values) {
            transfer.countRequests()
            var error = error
            error.target = transfer.job.target
            let result = TransferResult.failed(error, transfer.cost)
            switch transfer.state {
            case .settling: break
            case .working:
                transfer.earlyEnd.cancellation.request()
                transfer.earlyEnd.result = result
                transfer.body?.stop()
            case .exchanging(let active):
                requests.breakOff(active)
                settle(transfer, result)
            case .reading(let reading):
                work.files.giveUp(reading, of: transfer)
                settle(transfer, result)
            case .queued, .waiting, .joined: settle(transfer, result)
            }
        }
    }
}
