internal import MirrorModel
internal import MirrorParts

/// Writes the bytes of one connection into a part, in order from a start offset.
///
/// The writer gathers bytes in a buffer and gives the buffer to the pipeline. The pipeline writes
/// the buffer and reads it back from the part while the buffer is still in memory. Only the
/// transfer thread calls this class.
final class PartWriter {
    /// Maximum time that bytes wait for a buffer to be full, in milliseconds.
    static let bufferAge: Int64 = 250
    /// Number of bytes that are reserved at once; never beyond the file's end.
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
    ///   - total: the length of the complete file, where it is known.
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

    /// Passes on bytes that have waited too long.
    func tick(now: Int64) {
        if chunk != nil, now - chunkBegan >= PartWriter.bufferAge { flush() }
        // Later bytes trigger the milestone of earlier ones. When no more bytes come, the tick asks
        // for the milestone of the last ones.
        if isUnlogged, chunk == nil, now - chunkBegan >= PipelineDigests.milestoneAge { log() }
    }

    /// Hands over the bytes in the buffer.
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

    /// The range to reserve before `count` more bytes are written. It is nil where the range is
    /// reserved already, the rest of the file is small, or the total is unknown.
    private func roomToFind(for count: Int) -> Range<Int64>? {
        guard let total, handedOver + Int64(count) > reservedEnd, total - handedOver > 1 << 20
        else {
            return nil
        }
        reservedEnd = min(total, handedOver + PartWriter.reservation)
        return handedOver..<reservedEnd
    }

    /// Continues after bytes that a worker wrote into the file.
    func skip(to position: Int64) { handedOver = position }

    /// Continues after bytes that other connections wrote into the file, and has them hashed.
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
