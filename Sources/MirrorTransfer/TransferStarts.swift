internal import MirrorModel
internal import MirrorParts

/// Starts transfers that have got a place, and wakes those whose waiting time is over.
///
/// A transfer starts with the part of an earlier run, if it has one: a worker establishes how much
/// of it can be trusted. Then its state machine begins.
final class TransferStarts {
    /// The most transfers that start at one time: a handshake, and what else is under way, goes on meanwhile.
    /// To start one takes up to 0.06 ms.
    private static let mostAtATime = 4

    private let register: TransferRegister
    private let connections: FurtherConnections
    private let driver: TransferDriver
    private let endings: TransferEndings
    private let work: TransferWork
    private let policy: TransferPolicy
    /// Picks a number from 0 to its argument.
    private let jitter: @Sendable (Int64) -> Int64

    init(
        _ connections: FurtherConnections, driver: TransferDriver, endings: TransferEndings,
        jitter: @escaping @Sendable (Int64) -> Int64
    ) {
        register = connections.register
        work = connections.work
        policy = connections.policy
        self.connections = connections
        self.driver = driver
        self.endings = endings
        self.jitter = jitter
    }

    /// Starts transfers as long as there are places, up to the most that start at one time. While there are
    /// more, the dispatcher lets nobody wait.
    func startNext() {
        guard !connections.throttle.limits.isPaused, !endings.isStopping else { return }
        for _ in 0..<Self.mostAtATime {
            guard let transfer = register.nextToStart() else { return }
            start(transfer)
        }
    }

    /// Wakes transfers whose waiting time is over.
    func wakeWaiting() {
        guard !connections.throttle.limits.isPaused else { return }
        while let transfer = register.nextToWake() { driver.decide(transfer) { $0.waited() } }
    }

    private func start(_ transfer: Transfer) {
        if let refusal = endings.refusal {
            register.end(transfer, .failed(refusal, transfer.cost))
        } else if let plan = transfer.plan {
            driver.request(plan, for: transfer)
        } else if let part = transfer.job.part, transfer.job.postBody == nil {
            transfer.state = .working
            transfer.body = work.establish(part, for: transfer)
        } else {
            begin(transfer, part: nil)
        }
    }

    /// Begins the transfer after its part was read.
    func established(
        _ transfer: Transfer, file: PartFile?, length: Int64, rangesBeyond: [Range<Int64>]
    ) {
        guard let record = transfer.job.part, let pipeline = transfer.body?.pipeline else { return }
        transfer.body = nil
        guard let file, length > 0 else {
            do { try work.parts.discard(part: record.name) } catch {
                return endings.fail(transfer, error)
            }
            return begin(transfer, part: nil)
        }
        transfer.body = IncomingBody(
            resuming: record, file: file, length: length, pipeline: pipeline, of: transfer,
            by: work)
        transfer.cost.bytesReused = length
        if let total = transfer.job.expectation.size ?? record.total, length <= total {
            let plan = Segmentation(total: total, front: length, rangesBeyond: rangesBeyond)
            transfer.cost.bytesReused = plan.heldBytes
            connections.resume(plan, of: transfer)
        }
        begin(transfer, part: (record, length))
    }

    private func begin(_ transfer: Transfer, part: (record: PartRecord, length: Int64)?) {
        let job = transfer.job
        var machine = TransferMachine(
            target: job.target,
            sources: job.sources.map {
                CandidateSource(
                    url: $0.url, key: $0.key, mayRenewCredentials: job.renew != nil)
            },
            isPost: job.postBody != nil, expectation: job.expectation, local: job.local,
            part: part, policy: policy, jitter: jitter)
        machine.know(gapEnd: transfer.segments?.state.plan.gapEnd)
        let known = register.dispatcher.hostProtocols
        if !known.isEmpty {
            for (position, source) in job.sources.enumerated() {
                if let protocols = known[Host(source.url)] { machine.know(protocols, of: position) }
            }
        }
        let action = machine.begin()
        transfer.machine = consume machine
        driver.act(action, transfer)
    }
}
