internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// Continues transfers with the results of work that other threads did for them (`TransferWork`).
///
/// A transfer may have been cancelled, or have failed, while the work was done. Then the result
/// only ends it.
final class WorkResults {
    let register: TransferRegister
    let driver: TransferDriver
    private let starts: TransferStarts
    let endings: TransferEndings
    let intake: ResponseIntake
    let work: TransferWork

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

    /// The program has other credentials for a source, or has none.
    func renewed(_ id: Int, source: Int, _ headers: RenewedHeaders) {
        guard let transfer = register.transfers[id], case .waiting = transfer.state,
            transfer.plan?.source == source
        else { return }
        let reason: String?
        switch headers {
        case .headers(let headers):
            transfer.job = transfer.job.with(headers, for: source)
            reason = nil
        case .none(let why): reason = why
        }
        guard let action = transfer.machine?.renewed(without: reason) else { return }
        register.dispatcher.remove(id)
        driver.act(action, transfer)
    }

    /// A worker failed.
    func broken(_ id: Int, _ error: MirrorError) {
        // A stopped pipeline reports its waiting work as broken.
        goOn(id) { endings.failInMidst($0, error) }
    }
}
