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
