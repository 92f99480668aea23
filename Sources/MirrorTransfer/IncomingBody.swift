internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// The bytes in hand of one transfer: in memory while they are few and young, otherwise in a part.
/// Only the transfer thread calls this class.
final class IncomingBody {
    /// Maximum size of a body that stays in memory, in bytes.
    static let memoryLimit = 64 << 10
    /// Maximum time that a body may stay in memory, in milliseconds.
    static let memoryAge: Int64 = 1000

    /// The bytes, while there is no part.
    private(set) var memory: [UInt8] = []
    /// The part's row, which may not be stored yet.
    private(set) lazy var record = makeRecord()
    /// The digests of the bytes, once they are complete.
    var digests: [Digest] = []
    private var startedPipeline: WritePipeline?
    private let identity: PartIdentity
    private let start: Start
    /// The transfer owns the body.
    private unowned let transfer: Transfer
    private let work: TransferWork
    private var writer: PartWriter?
    private let began: Int64

    /// What the part's row is made of.
    private indirect enum Start {
        /// The response that the bytes come with.
        case response(Reception)
        case part(PartRecord)
    }

    private init(
        _ start: Start, identity: PartIdentity, of transfer: Transfer, by work: TransferWork
    ) {
        self.start = start
        self.identity = identity
        self.transfer = transfer
        self.work = work
        began = work.clock.monotonic()
    }

    /// Makes a body that begins now. The part's row, with its name, and the pipeline are made on
    /// first use. A small body that comes at once never needs them.
    convenience init(
        _ reception: Reception, identity: PartIdentity, of transfer: Transfer,
        by work: TransferWork
    ) {
        self.init(.response(reception), identity: identity, of: transfer, by: work)
    }

    /// Makes a body for a part that is being read.
    convenience init(
        _ record: PartRecord, pipeline: WritePipeline, of transfer: Transfer,
        by work: TransferWork
    ) {
        self.init(.part(record), identity: record.identity, of: transfer, by: work)
        startedPipeline = pipeline
    }

    /// Makes a body that resumes a part, which was verified up to a length.
    convenience init(
        resuming record: PartRecord, file: PartFile, length: Int64, pipeline: WritePipeline,
        of transfer: Transfer, by work: TransferWork
    ) {
        self.init(record, pipeline: pipeline, of: transfer, by: work)
        writer = makeWriter(file, start: length)
        self.record.runs += 1
    }

    private func makeRecord() -> PartRecord {
        switch start {
        case .part(let record): return record
        case .response(let reception):
            let (target, answer) = (transfer.job.target, reception.answer)
            var record = PartRecord(
                name: PartName.fresh(for: target, identity: identity), target: target,
                identity: identity, total: reception.total, provenance: answer.provenance,
                validators: answer.validators)
            record.mediaType = answer.mediaType
            record.suggestedName = answer.suggestedName
            return record
        }
    }

    private func makePipeline() -> WritePipeline {
        var other = transfer.job.expectation.otherAlgorithm
        if case .response(let reception) = start {
            other = other ?? reception.digests.first { $0.algorithm != .sha256 }?.algorithm
        }
        return work.makePipeline(
            for: record, of: transfer.job, other: other, workers: work.workers)
    }

    private func makeWriter(_ file: PartFile, start: Int64) -> PartWriter {
        PartWriter(
            file: file, start: start, total: record.total, pipeline: pipeline,
            chunks: work.chunks)
    }

    /// The part's file; nil while the bytes are in memory.
    var file: PartFile? { writer?.file }

    /// Bytes from the file's start, written or not.
    var length: Int64 { writer?.position ?? Int64(memory.count) }

    /// The pipeline that writes its bytes into the part.
    var pipeline: WritePipeline {
        if let startedPipeline { return startedPipeline }
        let pipeline = makePipeline()
        startedPipeline = pipeline
        return pipeline
    }

    /// Bytes that wait to be written or hashed.
    var backlog: Int { startedPipeline?.backlog ?? 0 }

    /// Whether another run, or a mirror, may resume these bytes.
    var isResumable: Bool { identity != .anonymous && length > 0 }

    /// Takes the next bytes.
    func append(_ bytes: UnsafeRawBufferPointer, now: Int64) throws(MirrorError) {
        if writer == nil {
            if memory.count + bytes.count <= IncomingBody.memoryLimit {
                memory.append(contentsOf: bytes)
                return
            }
            try spill(now: now)
        }
        writer?.append(bytes, now: now)
    }

    /// Passes on bytes that have waited too long.
    func tick(now: Int64) throws(MirrorError) {
        if writer == nil, length > 0, now - began >= IncomingBody.memoryAge { try spill(now: now) }
        writer?.tick(now: now)
    }

    /// Creates the part, and moves the bytes from memory into it.
    func spill(now: Int64) throws(MirrorError) {
        guard self.writer == nil else { return }
        let writer = makeWriter(try work.parts.create(record), start: 0)
        self.writer = writer
        let bytes = memory
        memory = []
        bytes.withUnsafeBytes { writer.append($0, now: now) }
    }

    /// Hands over the bytes in the buffer, to be written and hashed.
    func flush() { writer?.flush() }

    /// Counts bytes that a worker wrote into the part and added to the digests.
    func adopt(copied length: Int64) { writer?.skip(to: length) }

    /// Counts bytes up to an offset that further connections have written into the part.
    func adopt(upTo end: Int64) { writer?.adopt(upTo: end) }

    /// Adds the total and the provenance of a further response to the row.
    func `continue`(total: Int64?, provenance: Provenance) throws(MirrorError) {
        record.total = total ?? record.total
        if !record.provenances.contains(provenance) { record.provenances.append(provenance) }
        if writer != nil { try work.parts.update(record) }
    }

    /// Stops the digests where they are, because the rest of the bytes is no longer needed.
    func stop() { startedPipeline?.stop() }

    /// Discards the bytes, and the part with them.
    func discard() throws(MirrorError) {
        startedPipeline?.abandon()
        memory = []
        guard writer != nil else { return }
        writer = nil
        try work.parts.discard(part: record.name)
    }
}
