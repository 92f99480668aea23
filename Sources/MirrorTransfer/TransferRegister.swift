internal import MirrorModel

/// The transfers that have not ended, and the places that they have or wait for.
///
/// The dispatcher decides about places. A transfer that leaves the register gives its place back,
/// and its job gets its last event.
final class TransferRegister {
    /// The transfers by the ids of their jobs.
    private(set) var transfers: [Serial: Transfer] = [:]
    var dispatcher: Dispatcher
    private let observer: any TransferObserver

    init(_ dispatcher: consuming Dispatcher, observer: any TransferObserver) {
        self.dispatcher = dispatcher
        self.observer = observer
    }

    /// Adds a transfer, which waits for nothing yet.
    func insert(_ transfer: Transfer) { transfers[transfer.job.id] = transfer }

    /// Gives the place of a transfer back, and takes the transfer out of every queue, so that it
    /// cannot begin again.
    func withdraw(_ transfer: Transfer) {
        dispatcher.release(transfer.job.id)
        dispatcher.remove(transfer.job.id)
    }

    /// Removes a transfer and reports the last event of its job.
    func end(_ transfer: Transfer, _ result: TransferResult) {
        let id = transfer.job.id
        withdraw(transfer)
        // A request that still ran would report to segments that are gone.
        transfer.segments?.dismiss(keeping: true)
        transfers[id] = nil
        report(transfer, .ended(result))
    }

    /// Releases the place of the transfer, if it has one, and queues its next request.
    ///
    /// - Parameter isPatient: whether it waits for the host even when the host does not respond.
    func waitForPlace(_ transfer: Transfer, isPatient: Bool = false) {
        let id = transfer.job.id
        dispatcher.release(id)
        transfer.state = .queued
        if transfer.isPaused { return }
        dispatcher.add(
            id, priority: transfer.job.priority, host: transfer.nextHost,
            hasOthers: !isPatient && transfer.job.sources.count > 1,
            isBrief: transfer.job.isBrief)
    }

    /// The next transfer that has got a place; nil when none can start.
    func nextToStart() -> Transfer? {
        while let id = dispatcher.next() {
            if let transfer = transfers[id], case .queued = transfer.state { return transfer }
            dispatcher.release(id)
        }
        return nil
    }

    /// The next transfer whose waiting time is over.
    func nextToWake() -> Transfer? {
        while let id = dispatcher.popWoken() {
            // A paused transfer continues when it is resumed.
            if let transfer = transfers[id], !transfer.isPaused, case .waiting = transfer.state {
                return transfer
            }
        }
        return nil
    }

    /// Tells a transfer with several sources which of their hosts must not be asked now.
    func know(hostsOf transfer: Transfer) {
        guard transfer.job.sources.count > 1 else { return }
        transfer.machine?.know(
            closedFor: transfer.job.sources.map { dispatcher.timeClosed(Host($0.url)) })
    }

    func report(_ transfer: Transfer, _ event: TransferEvent) {
        observer.tell(transfer.job, event)
    }

    /// Reports what a state machine had to say beside its next action.
    func tell(_ notice: TransferAction.Notice?, _ transfer: Transfer) {
        switch notice {
        case .retry(let cause, let attempt, let wait, let tries):
            report(
                transfer,
                .retry(cause: cause, attempt: attempt, waitMilliseconds: wait, tries: tries))
        case .restart(let cause, let attempt):
            report(transfer, .restart(cause: cause, attempt: attempt))
        case nil: break
        }
    }
}
