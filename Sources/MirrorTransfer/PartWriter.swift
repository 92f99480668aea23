internal import MirrorModel
internal import MirrorParts

/// The bytes of one connection on their way into a part, one after another from a position on.
///
/// They are gathered in a buffer, and the buffer goes to the pipeline, which writes it and looks at what
/// the part holds while that is still in memory. Only the transfer thread calls in here.
final class PartWriter {
    /// How long bytes may wait for a buffer to be full, in milliseconds.
    static let bufferAge: Int64 = 250
    /// For how many bytes room is found at once; never for any beyond the file's end.
    static let reservation: Int64 = 64 << 20

    let file: PartFile
    let pipeline: WritePipeline
    /// The position after the last byte that was handed to the pipeline.
    private(set) var handedOver: Int64
    private let start: Int64
    private let total: Int64?
    private var reservedEnd: Int64
    private let chunks: ChunkPool
    private var chunk: Chunk?
    private var chunkBegan: Int64 = 0
    /// Whether bytes went to the pipeline since it was last asked to log them.
    private var isUnlogged = false

    /// - Parameters:
    ///   - start: the position of the first byte.
    ///   - total: how long the file will be, where that is known.
    init(
        file: PartFile, start: Int64, total: Int64?, pipeline: WritePipeline,
        chunks: ChunkPool
    ) {
        self.file = file
        handedOver = start
        self.start = start
        self.total = total
        reservedEnd = start
        self.pipeline = pipeline
        self.chunks = chunks
    }

    deinit { if let chunk { chunks.give(chunk) } }

    /// The position after the last byte, written or not.
    var position: Int64 { handedOver + Int64(chunk?.count ?? 0) }

    /// The position after the last byte that the part is known to hold.
    var heldEnd: Int64 { max(start, pipeline.heldEnd) }

    /// Whether the part is known to hold every byte that came.
    var isHeld: Bool { heldEnd >= position }

    /// Takes the next bytes.
    func append(_ bytes: UnsafeRawBufferPointer, now: Int64) {
        var rest = bytes
        while !rest.isEmpty {
            let chunk = self.chunk ?? chunks.take()
            if self.chunk == nil {
                self.chunk = chunk
                chunkBegan = now
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(chunk.append(rest)))
            if chunk.room == 0 { flush() }
        }
    }

    /// Moves bytes along that have waited too long.
    func tick(now: Int64) {
        if chunk != nil, now - chunkBegan >= PartWriter.bufferAge { flush() }
        // When no more bytes come, none of them asks for the milestone that the last ones are due.
        if isUnlogged, chunk == nil, now - chunkBegan >= PipelineDigests.milestoneAge { log() }
    }

    /// Hands over what is in the buffer.
    func flush() {
        guard let chunk else { return }
        self.chunk = nil
        let begin = handedOver
        let room = roomToFind(for: chunk.count)
        // The pipeline's worker empties the buffer when it is done with it.
        handedOver += Int64(chunk.count)
        pipeline.append(chunk, to: file, at: begin, reserving: room)
        isUnlogged = true
    }

    /// The stretch that room is to be found for before so many more bytes are written; nil where
    /// there is room, or the rest of the file is small.
    private func roomToFind(for count: Int) -> Range<Int64>? {
        guard let total, handedOver + Int64(count) > reservedEnd, total - handedOver > 1 << 20
        else {
            return nil
        }
        reservedEnd = min(total, handedOver + PartWriter.reservation)
        return handedOver..<reservedEnd
    }

    /// Goes on after bytes that somebody else put into the file.
    func skip(to position: Int64) { handedOver = position }

    /// Goes on after bytes that somebody else put into the file, and has them hashed.
    func adopt(upTo end: Int64) {
        flush()
        guard end > handedOver else { return }
        handedOver = end
        pipeline.append(file, upTo: end)
        isUnlogged = true
    }

    /// Asks for a milestone of all bytes so far.
    func log() {
        isUnlogged = false
        pipeline.logRest()
    }
}
