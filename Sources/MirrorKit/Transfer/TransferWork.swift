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
    /// The readings of source files.
    let files: FileReadings
    let clock: SystemClock
    /// A larger capacity makes writes slower. The page cache stores each write in a piece of memory
    /// of the same size. In a virtual machine the host must find large pieces first. 256 KiB took
    /// twice the time.
    let chunks = ChunkPool(capacity: 64 << 10, kept: 64)

    init(
        parts: any PartStore, inbox: TransferInbox, workers: any Workers, readers: any Workers,
        clock: SystemClock, stallTimeout: Int64
    ) {
        self.parts = parts
        self.inbox = inbox
        self.workers = workers
        self.readers = readers
        files = FileReadings(
            inbox: inbox, stallTimeout: stallTimeout, now: clock.monotonic())
        self.clock = clock
    }

    /// Ends the threads after the work that they have. Does not wait for reads of source files.
    func stop() {
        files.stop()
        workers.stop()
        readers.stop()
    }
}

// MARK: Parts

extension TransferWork {
    /// Makes a pipeline that logs milestones as bytes pass through.
    /// `start` is the offset in the part at which the bytes begin. `isFurther` says that the
    /// pipeline of another connection reads the bytes again.
    func makePipeline(
        for record: PartRecord, of download: Download, from start: Int64 = 0,
        isFurther: Bool = false, other: DigestAlgorithm?, workers: any Workers
    ) -> WritePipeline {
        let (parts, inbox, clock, name) = (parts, inbox, clock, record.name)
        let isReadAgain = isFurther || BodyCheck.readsAgain(download.expectation, other: other)
        let releasesPages =
            !isReadAgain && record.total ?? 0 > WritePipeline.largestInMemory
        return WritePipeline(
            other: other, releasesPages: releasesPages, workers: workers, chunks: chunks
        ) { digests in
            let now = clock.monotonic()
            guard digests.isMilestoneDue(now: now) else { return }
            do throws(MirrorError) {
                try digests.log(name, from: start, in: parts, now: now)
            } catch {
                inbox.post { $0.broken(download, error) }
            }
        } onLoss: { loss in
            inbox.post { $0.broken(download, MirrorError(loss, target: download.target)) }
        }
    }

    /// Makes a worker read a part, and find out how many of its bytes can be trusted.
    /// `TransferEngine.established` gets the result.
    ///
    /// Returns the body that stands for the part until then.
    func establish(_ record: PartRecord, for download: Download) -> IncomingBody {
        let other = download.expectation.otherAlgorithm
        let pipeline = makePipeline(for: record, of: download, other: other, workers: workers)
        let (parts, inbox, cancellation) = (parts, inbox, download.cancellation)
        // The read does not run on the pipeline, because bytes for other downloads must be written
        // while a worker reads a large part.
        readers.submit {
            do {
                guard let file = try parts.open(record) else {
                    return inbox.post { $0.established(download, file: nil, length: 0) }
                }
                // The mutex carries the noncopyable value to the pipeline, which takes it once.
                let found: Mutex<TrustedPart?>
                do throws(Errno) {
                    found = Mutex(
                        try TrustedPart.establish(
                            record, file: file, other: other, isCancelled: { cancellation.isSet }))
                } catch { throw MirrorError(error, target: record.target) }
                pipeline.submit { digests in
                    var rangesBeyond: [Range<Int64>] = []
                    if let part = found.withLock({ $0.take() }) {
                        rangesBeyond = part.rangesBeyond
                        digests.adopt(part)
                    }
                    let length = digests.length
                    inbox.post { [rangesBeyond] engine in
                        engine.established(
                            download, file: file, length: length, rangesBeyond: rangesBeyond)
                    }
                }
            } catch let error as MirrorError {
                inbox.post { $0.broken(download, error) }
            } catch {
                inbox.post { $0.established(download, file: nil, length: 0) }
            }
        }
        return IncomingBody(record, pipeline: pipeline, of: download, by: self)
    }

    /// Logs a milestone of all bytes that a body has passed to its pipeline.
    func log(_ body: IncomingBody, of download: Download) {
        let (name, parts, inbox, clock) = (body.record.name, parts, inbox, clock)
        body.pipeline.submit { digests in
            do throws(MirrorError) {
                try digests.log(name, in: parts, now: clock.monotonic())
            } catch {
                inbox.post { $0.broken(download, error) }
            }
        }
    }

    /// Logs the last milestone of a body, after the work of the `pipelines` of further connections.
    /// `TransferEngine.settled` is called when all pipelines are done.
    func settle(_ body: IncomingBody, of download: Download, after pipelines: [WritePipeline]) {
        let (name, parts, inbox, clock) = (body.record.name, parts, inbox, clock)
        // The pipeline that is done last sends the message.
        let left = Mutex(pipelines.count + 1)
        let done = { @Sendable in
            let isLast = left.withLock { left in
                left -= 1
                return left == 0
            }
            if isLast { inbox.post { $0.settled(download) } }
        }
        for pipeline in pipelines { pipeline.submit { _ in done() } }
        body.pipeline.submit { digests in
            try? digests.log(name, in: parts, now: clock.monotonic())
            done()
        }
    }
}

/// Continues transfers whose sources are files.
extension TransferEngine {
    /// Handles the result of a thread that reads a source file.
    func file(_ reading: FileReading, _ news: FileNews) {
        let download = reading.download
        guard work.files.ended(reading, of: download) else { return }
        switch news {
        case .found(let source): found(source, for: download)
        case .copied(let memory, let length):
            copied(memory, length: length, for: download)
        case .refused(let refusal): decide(download) { $0.refused(refusal) }
        case .failed(let failure): fileInterrupted(download, failure)
        case .broken(let error): failInMidst(download, error)
        }
    }

    /// Handles a reading of which too few bytes came for too long.
    func stalled(_ reading: FileReading) {
        let download = reading.download
        guard work.files.giveUp(reading, of: download) else { return }
        if download.place != nil, download.machine?.reception == nil {
            let failure = TransportFailure.stalled(seconds: work.files.stallTimeout)
            return decide(download) { $0.placeIsDown(failure) }
        }
        fileInterrupted(download, .stalled(seconds: work.files.stallTimeout))
    }

    /// Evaluates the file like a server's response. If its bytes are wanted, a thread copies them.
    private func found(_ source: FileSource, for download: Download) {
        guard let plan = download.plan else { return }
        register.dispatcher.answered(download.id)
        let now = work.clock.now()
        guard let action = download.machine?.answered(source.answer(to: plan, at: now), at: now)
        else {
            return
        }
        guard case .receive(let reception) = action.next else {
            return act(action, download)
        }
        do {
            try receive(reception, action: action, download)
            if source.size > IncomingBody.memoryLimit {
                try download.body?.spill(now: work.clock.monotonic())
            }
        } catch { return fail(download, error) }
        guard let body = download.body else { return }
        work.files.copy(source, into: body, for: download)
    }

    /// Adds copied bytes of a source file that are in memory to the body, and ends the body.
    private func copied(_ memory: [UInt8]?, length: Int64, for download: Download) {
        guard let body = download.body else { return }
        do {
            if let memory {
                let now = work.clock.monotonic()
                let outcome = memory.withUnsafeBytes { memory in
                    Result<Void, MirrorError> { () throws(MirrorError) in
                        try body.append(memory, now: now)
                    }
                }
                try outcome.get()
            } else {
                body.adopt(copied: length)
            }
        } catch { return fail(download, error) }
        let length = body.length
        decide(download) { $0.bodyEnded(length: length) }
    }

    /// Handles a source file that changed, or was not read to its end.
    /// None of its bytes may be used. Bytes of an earlier source stay if no byte of the file was
    /// asked for.
    private func fileInterrupted(_ download: Download, _ failure: TransportFailure) {
        if download.machine?.reception != nil, download.body?.file != nil {
            do { try download.drop() } catch { return fail(download, error) }
        }
        let length = download.body?.length
        register.know(hostsOf: download)
        decide(download) { $0.interrupted(failure, length: length) }
    }
}
