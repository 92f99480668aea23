internal import MirrorModel

/// Does what callers ask of transfers: submit, pause, resume, cancel, stop.
final class TransferSteering {
    private let register: TransferRegister
    private let requests: ActiveRequests
    private let driver: TransferDriver
    private let endings: TransferEndings
    private let stallTimeout: Int64

    init(
        _ policy: TransferPolicy, register: TransferRegister, requests: ActiveRequests,
        driver: TransferDriver, endings: TransferEndings
    ) {
        stallTimeout = policy.stallTimeout
        self.register = register
        self.requests = requests
        self.driver = driver
        self.endings = endings
    }

    /// Whether everything has ended, as was asked for.
    var isDone: Bool { endings.isStopping && register.transfers.isEmpty }

    func submit(_ job: TransferJob) {
        let transfer = Transfer(job, stallTimeout: stallTimeout)
        register.insert(transfer)
        if let refusal = endings.refusal {
            return register.end(transfer, .failed(refusal, transfer.cost))
        }
        if endings.isStopping { return register.end(transfer, .cancelled(transfer.cost)) }
        register.waitForPlace(transfer)
    }

    func pause(_ id: Int) {
        guard let transfer = register.transfers[id], !transfer.isPaused else { return }
        transfer.isPaused = true
        switch transfer.state {
        case .queued, .waiting: register.dispatcher.remove(id)
        case .exchanging, .joined:
            requests.pause(id)
            driver.pause(transfer)
        case .working, .reading, .settling: break
        }
    }

    func resume(_ id: Int) {
        guard let transfer = register.transfers[id], transfer.isPaused else { return }
        transfer.isPaused = false
        switch transfer.state {
        case .exchanging, .joined: requests.resume(id)
        case .queued: register.waitForPlace(transfer)
        case .waiting(let until): register.dispatcher.delay(id, until: until)
        case .working, .reading, .settling: break
        }
    }

    func cancel(_ ids: [Int], discardingPart: Bool) {
        for id in ids {
            guard let transfer = register.transfers[id] else { continue }
            endings.cancel(transfer, discardingPart: discardingPart)
        }
    }

    func cancelAll() { endings.cancelAll() }

    func stop() { endings.stop() }
}
