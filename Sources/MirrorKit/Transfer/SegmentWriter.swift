internal import MirrorModel

/// The bytes of one further connection on their way into the part: as `IncomingBody`, from a position
/// of its own.
///
/// Its digest is that of the extent so far; the digest of the whole file reads these bytes again,
/// from the page cache, when everything before them has come.
final class SegmentWriter {
    /// The position of the first byte.
    let start: Int64
    /// The position after the last byte that is in the file.
    private(set) var written: Int64
    let lane: DigestLane
    private let file: PartFile
    private let target: Target
    private let chunks: ChunkPool
    private var chunk: Chunk?
    private var chunkBegan: Int64 = 0
    private var isUnlogged = false

    init(file: PartFile, target: Target, start: Int64, lane: DigestLane, chunks: ChunkPool) {
        self.file = file
        self.target = target
        self.start = start
        written = start
        self.lane = lane
        self.chunks = chunks
    }

    deinit { if let chunk { chunks.give(chunk) } }

    /// Takes the next bytes.
    func append(_ bytes: UnsafeRawBufferPointer, now: Int64) throws(MirrorError) {
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
        if chunk != nil, now - chunkBegan >= IncomingBody.bufferAge { try flush() }
        if isUnlogged, chunk == nil, now - chunkBegan >= LaneDigests.milestoneAge { log() }
    }

    /// Writes what is in the buffer, and hands it to the digest.
    func flush() throws(MirrorError) {
        guard let chunk else { return }
        self.chunk = nil
        do throws(Errno) {
            try file.write(chunk.bytes, at: written)
        } catch {
            chunks.give(chunk)
            throw MirrorError(error, target: target)
        }
        let offset = written
        // The lane's worker empties the buffer when it is done with it.
        written += Int64(chunk.count)
        lane.append(chunk, to: file, at: offset)
        isUnlogged = true
    }

    /// Asks for a milestone of all bytes so far.
    func log() {
        isUnlogged = false
        lane.logRest()
    }
}
