internal import MirrorModel
internal import MirrorParts

/// The bytes in hand of one transfer: in memory while they are few and young, else in a part. Only
/// the transfer thread calls in here.
final class IncomingBody {
    /// The greatest body that stays in memory, in bytes.
    static let memoryLimit = 64 << 10
    /// How long a body may stay in memory, in milliseconds.
    static let memoryAge: Int64 = 1000

    /// The bytes, as long as there is no part.
    private(set) var memory: [UInt8] = []
    /// What is, or will be, the part's row.
    private(set) lazy var record = makeRecord()
    private var startedPipeline: WritePipeline?
    private let identity: PartIdentity
    private let makeRecord: () -> PartRecord
    private let makePipeline: (PartRecord) -> WritePipeline
    private let parts: any PartStore
    private let chunks: ChunkPool
    private var writer: PartWriter?
    private let began: Int64

    /// A body that begins now. The part's row, with its name, and the pipeline are made when they are needed
    /// first, which is never for a small body that comes at once.
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

    /// A part that is being read.
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

    /// A part that the pipeline has vouched for up to a length.
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

    /// The way of its bytes into the part.
    var pipeline: WritePipeline {
        if let startedPipeline { return startedPipeline }
        let pipeline = makePipeline(record)
        startedPipeline = pipeline
        return pipeline
    }

    /// Bytes that wait to be written or hashed.
    var backlog: Int { startedPipeline?.backlog ?? 0 }

    /// Whether another run, or a mirror, may go on with these bytes.
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

    /// Moves bytes along that have waited too long.
    func tick(now: Int64) throws(MirrorError) {
        if writer == nil, length > 0, now - began >= IncomingBody.memoryAge { try spill(now: now) }
        writer?.tick(now: now)
    }

    /// Makes the part, and puts the bytes into it that were in memory.
    func spill(now: Int64) throws(MirrorError) {
        guard self.writer == nil else { return }
        let writer = makeWriter(try parts.create(record), start: 0)
        self.writer = writer
        let bytes = memory
        memory = []
        bytes.withUnsafeBytes { writer.append($0, now: now) }
    }

    /// Hands over what is in the buffer, to be written and hashed.
    func flush() { writer?.flush() }

    /// Counts bytes that a worker put into the part, and into the digests.
    func adopt(copied length: Int64) { writer?.skip(to: length) }

    /// Counts bytes up to an end that further connections have put into the part.
    func adopt(upTo end: Int64) { writer?.adopt(upTo: end) }

    /// Puts into the row what a further answer adds.
    func `continue`(total: Int64?, provenance: Provenance) throws(MirrorError) {
        record.total = total ?? record.total
        if !record.provenances.contains(provenance) { record.provenances.append(provenance) }
        if writer != nil { try parts.update(record) }
    }

    /// Ends the digests where they are: nobody waits for the rest any more.
    func stop() { startedPipeline?.stop() }

    /// Throws the bytes away, and the part with them.
    func discard() throws(MirrorError) {
        startedPipeline?.abandon()
        memory = []
        guard writer != nil else { return }
        writer = nil
        try parts.discard(part: record.name)
    }
}
