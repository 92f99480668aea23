internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem
internal import Synchronization

/// Work that other threads do for transfers: everything that waits for a disk or hashes many bytes.
///
/// Each piece of work gets values and objects that may cross threads, and answers with a message to
/// the inbox. So the transfer thread never waits, and no other thread touches the state of a
/// transfer.
final class TransferWork {
    let parts: any PartStore
    let inbox: TransferInbox
    /// The threads that write and hash bytes.
    let workers: any Workers
    /// The threads that read parts.
    let readers: any Workers
    /// What reads source files.
    let files: FileReadings
    let clock: LoopClock
    /// The capacity must not be larger. The page cache takes each write in a piece of memory of the
    /// same size, and in a virtual machine the host must find large pieces first. 256 KiB took
    /// twice the time.
    let chunks = ChunkPool(capacity: 64 << 10, kept: 64)

    init(
        parts: any PartStore, inbox: TransferInbox, workers: any Workers, readers: any Workers,
        clock: LoopClock, stallTimeout: Int64
    ) {
        self.parts = parts
        self.inbox = inbox
        self.workers = workers
        self.readers = readers
        files = FileReadings(
            inbox: inbox, stallTimeout: stallTimeout, now: clock.monotonic())
        self.clock = clock
    }

    /// Ends the threads, after the work that they have; those that wait for a source file are left.
    func stop() {
        files.stop()
        workers.stop()
        readers.stop()
    }
}

// MARK: Parts

extension TransferWork {
    /// Makes a pipeline that logs milestones as bytes pass through. `start` is the offset in the
    /// part at which the bytes begin. `isFurther` says that another connection's pipeline reads the
    /// bytes again.
    func makePipeline(
        for record: PartRecord, of job: TransferJob, from start: Int64 = 0,
        isFurther: Bool = false, other: DigestAlgorithm?, workers: any Workers
    ) -> WritePipeline {
        let (id, parts, inbox, clock) = (job.id, parts, inbox, clock)
        let (target, name) = (job.target, record.name)
        let isReadAgain = isFurther || BodyCheck.readsAgain(job.expectation, other: other)
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

    /// Reads a part, and establishes how much of it can be trusted; `established` answers.
    ///
    /// Returns the body that stands for the part meanwhile.
    func establish(_ record: PartRecord, for transfer: Transfer) -> IncomingBody {
        let other = transfer.job.expectation.otherAlgorithm
        let pipeline = makePipeline(for: record, of: transfer.job, other: other, workers: workers)
        let id = transfer.job.id
        let (parts, inbox, cancellation) = (parts, inbox, transfer.earlyEnd.cancellation)
        // The read does not run on the pipeline, because bytes for other transfers must be written
        // while a worker reads a large part.
        readers.submit {
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
        return IncomingBody(record, pipeline: pipeline, of: transfer, by: self)
    }

    /// Logs a milestone of all bytes that a body has handed over.
    func log(_ body: IncomingBody, of job: TransferJob) {
        let (id, name, parts, inbox, clock) = (job.id, body.record.name, parts, inbox, clock)
        body.pipeline.submit { digests in
            do throws(MirrorError) {
                try digests.log(name, in: parts, now: clock.monotonic())
            } catch {
                inbox.post(.broken(id, error))
            }
        }
    }

    /// Logs the last milestone of a body, after the work that `pipelines` of further connections
    /// still have; `settled` answers.
    func settle(_ body: IncomingBody, of job: TransferJob, after pipelines: [WritePipeline]) {
        let (id, name, parts, inbox, clock) = (job.id, body.record.name, parts, inbox, clock)
        let countdown = Countdown(pipelines.count + 1) { inbox.post(.settled(id)) }
        for pipeline in pipelines { pipeline.submit { _ in countdown.step() } }
        body.pipeline.submit { digests in
            try? digests.log(name, in: parts, now: clock.monotonic())
            countdown.step()
        }
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
