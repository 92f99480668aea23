internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem
internal import Synchronization

/// How transfers begin: from the queue to a trusted part, a request, or a file.
extension TransferEngine {
    /// Starts transfers as long as there are places.
    func startNext() {
        guard !reading.isPaused, !isStopping else { return }
        while let id = dispatcher.next() {
            guard let transfer = transfers[id], case .queued = transfer.state else {
                dispatcher.release(id)
                continue
            }
            start(transfer)
        }
    }

    private func start(_ transfer: Transfer) {
        if let refusal {
            end(transfer, .failed(refusal, transfer.cost))
        } else if let plan = transfer.plan {
            request(plan, for: transfer)
        } else if let part = transfer.job.part, transfer.job.postBody == nil {
            establish(part, for: transfer)
        } else {
            begin(transfer, part: nil)
        }
    }

    /// Reads the part on a worker, and establishes how much of it can be trusted.
    private func establish(_ record: PartRecord, for transfer: Transfer) {
        transfer.state = .working
        let other = transfer.job.expectation.otherAlgorithm
        let pipeline = makePipeline(
            for: record, of: transfer, other: other, workers: workers)
        let id = transfer.job.id
        let (parts, inbox, cancellation) = (parts, inbox, transfer.cancellation)
        transfer.body = IncomingBody(record, pipeline: pipeline, of: transfer, in: self)
        // The read does not run on the pipeline, because bytes for other transfers must be written
        // while a worker reads a large part.
        copiers.submit {
            do {
                guard let file = try parts.open(record) else {
                    inbox.post(.established(id, nil, length: 0, rangesBeyond: []))
                    return
                }
                let found: FoundPart
                do throws(Errno) {
                    found = FoundPart(
                        try PartTrust.establish(
                            record, file: file, other: other,
                            isCancelled: { cancellation.isRequested }))
                } catch { throw MirrorError(error, target: record.target) }
                pipeline.submit { digests in
                    let rangesBeyond = found.handOver(to: &digests)
                    inbox.post(
                        .established(id, file, length: digests.length, rangesBeyond: rangesBeyond))
                }
            } catch let error as MirrorError {
                inbox.post(.broken(id, error))
            } catch {
                inbox.post(.established(id, nil, length: 0, rangesBeyond: []))
            }
        }
    }

    /// Begins the transfer after its part was read.
    func established(
        _ transfer: Transfer, file: PartFile?, length: Int64, rangesBeyond: [Range<Int64>]
    ) {
        guard let record = transfer.job.part, let pipeline = transfer.body?.pipeline else { return }
        transfer.body = nil
        guard let file, length > 0 else {
            do { try parts.discard(part: record.name) } catch { return fail(transfer, error) }
            return begin(transfer, part: nil)
        }
        transfer.body = IncomingBody(
            resuming: record, file: file, length: length, pipeline: pipeline, of: transfer,
            in: self)
        transfer.cost.bytesReused = length
        if let total = transfer.job.expectation.size ?? record.total, length <= total {
            let plan = Segmentation(total: total, front: length, rangesBeyond: rangesBeyond)
            transfer.cost.bytesReused = plan.heldBytes
            if plan.hasRangesBeyond {
                transfer.segments = TransferSegments(plan, limit: configuration.segments)
            }
        }
        begin(transfer, part: (record, length))
    }

    private func begin(_ transfer: Transfer, part: (record: PartRecord, length: Int64)?) {
        let job = transfer.job
        var machine = TransferMachine(
            target: job.target,
            sources: job.sources.map { CandidateSource(url: $0.url, key: $0.key) },
            isPost: job.postBody != nil, expectation: job.expectation, local: job.local,
            part: part, policy: configuration.transfer, jitter: jitter)
        machine.know(gapEnd: transfer.segments?.state.plan.gapEnd)
        for (position, source) in job.sources.enumerated()
        where dispatcher.choosesProtocol(Host(source.url)) {
            machine.leaveProtocol(to: position)
        }
        let action = machine.begin()
        transfer.machine = consume machine
        act(action, transfer)
    }

    /// Makes a request now if the host may be asked; the transfer has a place.
    package func request(_ plan: RequestPlan, for transfer: Transfer) {
        let host = Host(plan.url)
        switch dispatcher.admit(transfer.job.id, to: host) {
        case .ask: break
        case .waits: return waitForPlace(transfer)
        case .elsewhere:
            know(hostsOf: transfer)
            if let action = transfer.machine?.elsewhere() { return act(action, transfer) }
            return waitForPlace(transfer, isPatient: true)
        case .refused(let milliseconds):
            return decide(transfer) { $0.heldOff(seconds: (milliseconds + 999) / 1000) }
        case .down(let outage):
            return decide(transfer) {
                $0.hostIsDown(host.description, outage, wasAsked: false)
            }
        }
        if !transfer.hasStarted {
            transfer.hasStarted = true
            let asked = transfer.job.sources[plan.source]
            let source = asked.url.withoutSecrets
            let size = transfer.job.expectation.size ?? transfer.machine?.part?.total
            report(transfer, .started(source: source, size: size, offset: plan.offset))
        }
        if plan.url.scheme == .file { return open(plan, for: transfer) }
        do {
            let active = try makeRequest(plan, for: transfer)
            transfer.state = .exchanging(active)
            wire.begin(active)
        } catch { fail(transfer, error) }
    }

    /// Prepares a request of a transfer's own connection or of a further connection.
    func makeRequest(
        _ plan: RequestPlan, for transfer: Transfer, segment: Int? = nil, isAlone: Bool = false
    ) throws(MirrorError) -> ActiveRequest {
        let active = makeRequest(
            for: transfer, segment: segment,
            stall: segment == nil
                ? transfer.stall : StallClock(timeout: configuration.transfer.stallTimeout))
        try wire.prepare(
            WireRequest(
                plan: plan, source: transfer.job.sources[plan.source],
                postBody: transfer.job.postBody, opensConnection: isAlone),
            for: active)
        activeRequests[active.number] = active
        return active
    }

    /// Makes a pipeline that logs milestones as bytes pass through. `start` is the offset in the
    /// part at which the bytes begin. `isFurther` says that another connection's pipeline reads the
    /// bytes again.
    func makePipeline(
        for record: PartRecord, of transfer: Transfer, from start: Int64 = 0,
        isFurther: Bool = false, other: DigestAlgorithm?, workers: any Workers
    ) -> WritePipeline {
        let (id, parts, inbox, clock) = (transfer.job.id, parts, inbox, clock)
        let (target, name) = (transfer.job.target, record.name)
        let isReadAgain =
            isFurther || BodyCheck.readsAgain(transfer.job.expectation, other: other)
        let letsGo = !isReadAgain && record.total ?? 0 > PageRelease.largestKept
        return WritePipeline(other: other, letsGo: letsGo, workers: workers, chunks: chunks) {
            digests in
            let now = clock.monotonic()
            guard digests.isMilestoneDue(now: now) else { return }
            do throws(MirrorError) {
                try digests.log(name, from: start, in: parts, now: now)
            } catch {
                inbox.post(.broken(id, error))
            }
        } onLoss: {
            inbox.post(.broken(id, MirrorError($0, target: target)))
        }
    }
}

extension PipelineDigests {
    /// Bytes after which a milestone is logged. A killed process loses these bytes and those that
    /// wait for their digest; both together are less than the 16 MiB that an interruption may cost.
    static let milestoneBytes: Int64 = 4 << 20
    /// Milliseconds after which a milestone is logged, half of the promised interval.
    static let milestoneAge: Int64 = 500

    /// Whether the bytes since the last milestone are many, or old.
    func isMilestoneDue(now: Int64) -> Bool {
        length - loggedLength >= PipelineDigests.milestoneBytes
            || now - loggedAt >= PipelineDigests.milestoneAge
    }

    /// Logs a milestone of the bytes so far, unless no bytes came since the last one. `start` is
    /// the offset in the part at which the bytes begin.
    package mutating func log(
        _ part: String, from start: Int64 = 0, in parts: any PartStore, now: Int64
    ) throws(MirrorError) {
        guard length > loggedLength else { return }
        try parts.log(milestone, from: start, part: part)
        loggedLength = length
        loggedAt = now
    }
}

/// The trusted bytes of a part, handed to the pipeline that continues from them.
private final class FoundPart: Sendable {
    private let part: Mutex<TrustedPart?>

    init(_ part: consuming TrustedPart?) { self.part = Mutex(part) }

    /// Makes the digests continue from the part, once; returns the verified ranges beyond the
    /// front.
    func handOver(to digests: inout PipelineDigests) -> [Range<Int64>] {
        guard let part = part.withLock({ $0.take() }) else { return [] }
        let rangesBeyond = part.rangesBeyond
        digests.adopt(part)
        return rangesBeyond
    }
}
