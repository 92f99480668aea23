internal import MirrorModel
internal import MirrorParts

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
    private var startedPipeline: WritePipeline?
    private let identity: PartIdentity
    private let makeRecord: () -> PartRecord
    private let makePipeline: (PartRecord) -> WritePipeline
    private let parts: any PartStore
    private let chunks: ChunkPool
    private var writer: PartWriter?
    private let began: Int64

    /// Makes a body that begins now. The part's row, with its name, and the pipeline are made on
    /// first use. A small body that comes at once never needs them.
    init(
        identity: PartIdentity, record: @escaping () -> PartRecord,
        pipeline: @escaping (PartRecord) -> WritePipeline, parts: any PartStore, chunks: ChunkPool,
        now: Int64
    ) {
        self.identity = identity
        makeRecord = record
        makePipeline = pipeline
        self.parts = parts
        self.chunks = chunks
        began = now
    }

    /// Makes a body for a part that is being read.
    convenience init(
        record: PartRecord, pipeline: WritePipeline, parts: any PartStore, chunks: ChunkPool,
        now: Int64
    ) {
        self.init(
            identity: record.identity, record: { record }, pipeline: { _ in pipeline },
            parts: parts,
            chunks: chunks, now: now)
        startedPipeline = pipeline
    }

    /// Makes a body that resumes a part, which was verified up to a length.
    convenience init(
        resuming record: PartRecord, file: PartFile, length: Int64, pipeline: WritePipeline,
        parts: any PartStore, chunks: ChunkPool
    ) {
        self.init(record: record, pipeline: pipeline, parts: parts, chunks: chunks, now: 0)
        writer = makeWriter(file, start: length)
        self.record.runs += 1
    }

    private func makeWriter(_ file: PartFile, start: Int64) -> PartWriter {
        PartWriter(
            file: file, start: start, total: record.total, pipeline: pipeline,
            chunks: chunks)
    }

    /// The part's file; nil while the bytes are in memory.
    var file: PartFile? { writer?.file }

    /// Bytes from the file's start, written or not.
    var length: Int64 { writer?.position ?? Int64(memory.count) }

    /// The pipeline that writes its bytes into the part.
    var pipeline: WritePipeline {
        if let startedPipeline { return startedPipeline }
        let pipeline = makePipeline(record)
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
        let writer = makeWriter(try parts.create(record), start: 0)
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
        if writer != nil { try parts.update(record) }
    }

    /// Stops the digests where they are, because the rest of the bytes is no longer needed.
    func stop() { startedPipeline?.stop() }

    /// Discards the bytes, and the part with them.
    func discard() throws(MirrorError) {
        startedPipeline?.abandon()
        memory = []
        guard writer != nil else { return }
        writer = nil
        try parts.discard(part: record.name)
    }
}
