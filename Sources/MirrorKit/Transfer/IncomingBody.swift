internal import MirrorModel

/// The bytes in hand of one transfer: in memory while they are few and young, else in a part.
///
/// Bytes are gathered in a buffer, written to the part, and then the same buffer goes to the digest
/// lane, which looks at what the part holds while that is still in memory. Only the transfer thread
/// calls in here.
final class IncomingBody {
    /// The greatest body that stays in memory, in bytes.
    static let memoryLimit = 64 << 10
    /// How long a body may stay in memory, in milliseconds.
    static let memoryAge: Int64 = 1000
    /// How long bytes may wait for a buffer to be full, in milliseconds.
    static let bufferAge: Int64 = 250

    /// What is, or will be, the part's row.
    private(set) var record: PartRecord
    /// Bytes from the file's start, written or not.
    private(set) var length: Int64 = 0
    /// The bytes, as long as there is no part.
    private(set) var memory: [UInt8] = []
    /// The part's file; nil while the bytes are in memory.
    private(set) var file: PartFile?
    let lane: DigestLane
    private let parts: any PartStore
    private let chunks: ChunkPool
    private var written: Int64 = 0
    private var chunk: Chunk?
    private var chunkBegan: Int64 = 0
    /// Whether bytes went to the lane since it was last asked to log them.
    private var isUnlogged = false
    private let began: Int64

    /// A body that begins now.
    init(
        record: PartRecord, lane: DigestLane, parts: any PartStore, chunks: ChunkPool, now: Int64
    ) {
        self.record = record
        self.lane = lane
        self.parts = parts
        self.chunks = chunks
        began = now
    }

    /// A part that the lane has vouched for up to a length.
    convenience init(
        resuming record: PartRecord, file: PartFile, length: Int64, lane: DigestLane,
        parts: any PartStore, chunks: ChunkPool
    ) {
        self.init(record: record, lane: lane, parts: parts, chunks: chunks, now: 0)
        self.file = file
        self.length = length
        written = length
        self.record.runs += 1
    }

    /// Whether another run, or a mirror, may go on with these bytes.
    var isResumable: Bool { record.identity != .anonymous && length > 0 }

    /// Takes the next bytes.
    func append(_ bytes: UnsafeRawBufferPointer, now: Int64) throws(MirrorError) {
        length += Int64(bytes.count)
        if file == nil {
            if memory.count + bytes.count <= IncomingBody.memoryLimit {
                memory.append(contentsOf: bytes)
                return
            }
            try spill(now: now)
        }
        try buffer(bytes, now: now)
    }

    private func buffer(_ bytes: UnsafeRawBufferPointer, now: Int64) throws(MirrorError) {
        var rest = bytes
        while !rest.isEmpty {
            let chunk = self.chunk ?? chunks.take()
            if self.chunk == nil {
                self.chunk = chunk
                chunkBegan = now
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(chunk.append(rest)))
            if chunk.room == 0 { try flush() }
        }
    }

    /// Moves bytes along that have waited too long.
    func tick(now: Int64) throws(MirrorError) {
        if file == nil, length > 0, now - began >= IncomingBody.memoryAge { try spill(now: now) }
        if chunk != nil, now - chunkBegan >= IncomingBody.bufferAge { try flush() }
        // When no more bytes come, none of them asks for the milestone that the last ones are due.
        if isUnlogged, chunk == nil, now - chunkBegan >= LaneDigests.milestoneAge {
            isUnlogged = false
            lane.logRest()
        }
    }

    /// Makes the part, and puts the bytes into it that were in memory.
    func spill(now: Int64) throws(MirrorError) {
        guard file == nil else { return }
        file = try parts.create(record)
        let bytes = memory
        memory = []
        // A local closure cannot throw a typed error through withUnsafeBytes.
        let outcome = bytes.withUnsafeBytes { bytes in
            Result<Void, MirrorError> { () throws(MirrorError) in try buffer(bytes, now: now) }
        }
        try outcome.get()
    }

    /// Writes what is in the buffer, and hands it to the digests.
    func flush() throws(MirrorError) {
        guard let chunk, let file else { return }
        self.chunk = nil
        do {
            try file.write(chunk.bytes, at: written)
        } catch {
            length = written
            chunks.give(chunk)
            throw MirrorError(error, target: record.target)
        }
        let offset = written
        written += Int64(chunk.count)
        lane.append(chunk, to: file, at: offset)
        isUnlogged = true
    }

    /// Counts bytes that a worker put into the part, and into the digests.
    func adopt(copied length: Int64) {
        self.length = length
        written = length
    }

    /// Counts bytes up to an end that further connections have put into the part.
    func adopt(upTo end: Int64) throws(MirrorError) {
        try flush()
        guard let file, end > length else { return }
        length = end
        written = end
        lane.append(file, upTo: end)
        isUnlogged = true
    }

    /// Puts into the row what a further answer adds.
    func `continue`(total: Int64?, provenance: Provenance) throws(MirrorError) {
        record.total = total ?? record.total
        if !record.provenances.contains(provenance) { record.provenances.append(provenance) }
        if file != nil { try parts.update(record) }
    }

    /// Throws the bytes away, and the part with them.
    func discard() throws(MirrorError) {
        lane.stop()
        if let chunk { chunks.give(chunk) }
        chunk = nil
        memory = []
        length = 0
        written = 0
        guard file != nil else { return }
        file = nil
        try parts.discard(part: record.name)
    }
}
