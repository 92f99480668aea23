internal import MirrorModel

/// The bytes of one connection on their way into a part, one after another from a position on.
///
/// They are gathered in a buffer, written, and then the same buffer goes to the digest lane, which
/// looks at what the part holds while that is still in memory. Only the transfer thread calls in
/// here.
final class PartWriter {
    /// How long bytes may wait for a buffer to be full, in milliseconds.
    static let bufferAge: Int64 = 250
    /// For how many bytes room is found at once; never for any beyond the file's end.
    static let reservation: Int64 = 64 << 20

    let file: PartFile
    let lane: DigestLane
    /// The position after the last byte that is in the file.
    private(set) var written: Int64
    private let target: Target
    private let total: Int64?
    private var reservedEnd: Int64
    private let chunks: ChunkPool
    private var chunk: Chunk?
    private var chunkBegan: Int64 = 0
    /// Whether bytes went to the lane since it was last asked to log them.
    private var isUnlogged = false

    /// - Parameters:
    ///   - target: whom errors are about.
    ///   - start: the position of the first byte.
    ///   - total: how long the file will be, where that is known.
    init(
        file: PartFile, target: Target, start: Int64, total: Int64?, lane: DigestLane,
        chunks: ChunkPool
    ) {
        self.file = file
        self.target = target
        written = start
        self.total = total
        reservedEnd = start
        self.lane = lane
        self.chunks = chunks
    }

    deinit { if let chunk { chunks.give(chunk) } }

    /// The position after the last byte, written or not.
    var position: Int64 { written + Int64(chunk?.count ?? 0) }

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
        if chunk != nil, now - chunkBegan >= PartWriter.bufferAge { try flush() }
        // When no more bytes come, none of them asks for the milestone that the last ones are due.
        if isUnlogged, chunk == nil, now - chunkBegan >= LaneDigests.milestoneAge { log() }
    }

    /// Writes what is in the buffer, and hands it to the digests.
    func flush() throws(MirrorError) {
        guard let chunk else { return }
        self.chunk = nil
        if let total, written + Int64(chunk.count) > reservedEnd, total - written > 1 << 20 {
            reservedEnd = min(total, written + PartWriter.reservation)
            file.reserve(written..<reservedEnd)
        }
        do throws(Errno) {
            try file.write(chunk.bytes, at: written)
        } catch {
            chunks.give(chunk)
            throw MirrorError(error, target: target)
        }
        let begin = written
        // The lane's worker empties the buffer when it is done with it.
        written += Int64(chunk.count)
        lane.append(chunk, to: file, at: begin)
        isUnlogged = true
    }

    /// Goes on after bytes that somebody else put into the file.
    func skip(to position: Int64) { written = position }

    /// Goes on after bytes that somebody else put into the file, and has them hashed.
    func adopt(upTo end: Int64) throws(MirrorError) {
        try flush()
        guard end > written else { return }
        written = end
        lane.append(file, upTo: end)
        isUnlogged = true
    }

    /// Asks for a milestone of all bytes so far.
    func log() {
        isUnlogged = false
        lane.logRest()
    }
}
