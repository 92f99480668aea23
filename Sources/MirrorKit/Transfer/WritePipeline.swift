internal import Glibc
internal import Synchronization

/// Writes one file's received bytes, reads them back and hashes them, in order, on worker threads.
///
/// The transfer thread only hands over buffers; it waits neither for the disk nor for a digest.
/// While one buffer is hashed, the next one is written. The pipeline hashes the bytes that the file
/// holds. A digest of bytes that were only in memory would also pass if a disk reported a write
/// that it did not make.
final class WritePipeline: Sendable {
    /// Work on the pipeline's digests.
    typealias Work = @Sendable (inout PipelineDigests) -> Void

    private let writing: SerialWork
    private let hashing: SerialWork
    private let digests: Mutex<PipelineDigests>
    private let waitingBytes = Atomic(0)
    private let lastHeld = Atomic<Int64>(0)
    /// The end of the bytes that the disk was asked to write.
    private let writtenBackEnd = Mutex<Int64>(0)
    /// Whether the page cache drops the file's bytes once they are hashed and on the disk.
    private let releasesPages: Bool
    /// The end of the bytes whose memory was released.
    private let releasedEnd = Mutex<Int64>(0)
    private let chunks: ChunkPool
    /// Called on a worker after bytes were hashed.
    private let afterBytes: Work
    /// Called once when the file does not hold the expected bytes. The pipeline writes and hashes
    /// nothing after that.
    private let onLoss: @Sendable (Errno) -> Void
    private let isLost = Atomic(false)
    private let isStopped = Atomic(false)

    /// - Parameters:
    ///   - other: a second algorithm besides sha256.
    ///   - releasesPages: whether the page cache drops the file's bytes once they are hashed and on
    ///     the disk. The pipeline must then hash the file from its start, and be the last to read
    ///     it.
    ///   - afterBytes: called on a worker after each buffer.
    ///   - onLoss: called on a worker when bytes cannot be written, or when the file does not hold
    ///     the written bytes.
    init(
        other: DigestAlgorithm?, releasesPages: Bool = false, workers: any Workers,
        chunks: ChunkPool,
        afterBytes: @escaping Work, onLoss: @escaping @Sendable (Errno) -> Void
    ) {
        digests = Mutex(PipelineDigests(other: other))
        writing = SerialWork(on: workers)
        hashing = SerialWork(on: workers)
        self.releasesPages = releasesPages
        self.chunks = chunks
        self.afterBytes = afterBytes
        self.onLoss = onLoss
    }

    /// How many bytes wait to be written or hashed.
    var backlog: Int { waitingBytes.load(ordering: .relaxed) }

    /// The position after the last byte that was read back from the file unchanged; 0 before the
    /// first.
    var heldEnd: Int64 { lastHeld.load(ordering: .acquiring) }

    /// Queues a buffer that is to be written at an offset of a file.
    /// If `room` is given, the pipeline reserves that range of the file first.
    func append(
        _ chunk: Chunk, to file: PartFile, at offset: Int64, reserving room: Range<Int64>?
    ) {
        waitingBytes.add(chunk.count, ordering: .relaxed)
        let end = offset + Int64(chunk.count)
        writing.add { [self] in
            let holds = put(chunk, in: file, at: offset, reserving: room)
            hashing.add { [self] in
                hash(chunk, of: file, holds: holds)
                waitingBytes.subtract(chunk.count, ordering: .relaxed)
                chunks.give(chunk)
            }
            // On a busy disk this call sleeps. It comes last, so that it does not delay the digest
            // of a buffer.
            if holds { startWriteback(upTo: end, of: file) }
        }
    }

    /// Adds bytes that are already in the file, from the end of the digests up to an offset.
    /// These bytes arrived before the bytes in front of them. The pipeline reads them from the page
    /// cache.
    func append(_ file: PartFile, upTo end: Int64) {
        submit { [self] digests in read(file, upTo: end, into: &digests) }
    }

    /// Stops the digests where they are, because the rest of the bytes is no longer needed.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Ends everything because the part is removed. Waiting bytes are neither written nor hashed,
    /// and their failures do not count.
    func abandon() {
        isLost.store(true, ordering: .relaxed)
        stop()
    }

    /// Queues work on the digests, after all bytes so far.
    func submit(_ work: @escaping Work) {
        writing.add { [self] in
            hashing.add { [self] in digests.withLock { work(&$0) } }
        }
    }

    /// Runs work on the digests on the calling thread, before the pipeline got any bytes.
    func withDigests<Value: Sendable>(
        _ work: (inout PipelineDigests) -> sending Value
    ) -> sending Value {
        digests.withLock { work(&$0) }
    }

    /// Requests a milestone of all bytes so far, regardless of the time of the last one.
    func logRest() {
        submit { [afterBytes] digests in
            digests.loggedAt = 0
            afterBytes(&digests)
        }
    }

    /// Writes a buffer, and reads it back. Returns whether the file holds its bytes.
    private func put(
        _ chunk: Chunk, in file: PartFile, at offset: Int64, reserving room: Range<Int64>?
    ) -> Bool {
        if isLost.load(ordering: .relaxed) { return false }
        do throws(Errno) {
            if let room { file.reserve(room) }
            try file.write(chunk.bytes, at: offset)
            try confirm(chunk, in: file, at: offset)
            lastHeld.store(offset + Int64(chunk.count), ordering: .releasing)
            return true
        } catch {
            lose(error)
            return false
        }
    }

    private func hash(_ chunk: Chunk, of file: PartFile, holds: Bool) {
        digests.withLock { digests in
            digests.isBroken = digests.isBroken || !holds
            guard !digests.isBroken else { return }
            digests.update(chunk.bytes)
            afterBytes(&digests)
            releasePages(upTo: digests.length, of: file)
        }
    }

    private func lose(_ error: Errno) {
        if !isLost.exchange(true, ordering: .relaxed) { onLoss(error) }
    }

    private func confirm(_ chunk: Chunk, in file: PartFile, at offset: Int64) throws(Errno) {
        let copy = chunks.take()
        defer { chunks.give(copy) }
        try file.confirm(chunk.bytes, at: offset, with: copy.space)
    }

    private func read(_ file: PartFile, upTo end: Int64, into digests: inout PipelineDigests) {
        guard !digests.isBroken, digests.length < end else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        do throws(Errno) {
            while digests.length < end, !isStopped.load(ordering: .relaxed) {
                let wanted = Int(min(Int64(buffer.count), end - digests.length))
                let window = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                let count = try file.read(into: window, at: digests.length)
                guard count == wanted else {
                    throw Errno(number: EBADMSG, call: "pread", path: "tmp/" + file.name)
                }
                digests.update(UnsafeRawBufferPointer(window))
                afterBytes(&digests)
                releasePages(upTo: digests.length, of: file)
            }
        } catch { lose(error) }
        digests.isBroken = digests.length < end
    }
}

// MARK: The disk and the page cache

extension WritePipeline {
    /// How many new bytes must be written before the disk is asked to store them.
    /// A pipeline that begins at a later offset asks with its first bytes.
    private static let writebackStep: Int64 = 8 << 20
    /// Distance between the last byte and the memory that is released. By then the disk has had
    /// time to write those bytes.
    private static let releaseLag = 3 * writebackStep
    /// Number of bytes whose release is requested again, because the disk may not have written them
    /// before.
    private static let releaseReach = 32 * writebackStep
    /// Maximum size of a file that stays in memory, in bytes: a sixteenth of the machine's memory.
    static let largestInMemory: Int64 = {
        let pages = sysconf(Int32(_SC_PHYS_PAGES))
        return Int64(pages) * Int64(sysconf(Int32(_SC_PAGESIZE))) / 16
    }()

    /// Starts to write bytes up to an offset to the disk, if enough bytes are new.
    /// The later flush, which waits for the disk, then has less to do.
    private func startWriteback(upTo end: Int64, of file: PartFile) {
        writtenBackEnd.withLock { begun in
            guard end - begun >= WritePipeline.writebackStep else { return }
            file.startWriteback(max(begun, end - 2 * WritePipeline.writebackStep)..<end)
            begun = end
        }
    }

    /// Releases older pages of a large file after the bytes up to an offset were hashed.
    ///
    /// Released pages are the next ones that take new bytes. If the disk keeps up, a large file
    /// uses some 32 MiB of memory. Without the release it would take as much memory from other uses
    /// as the file is long.
    private func releasePages(upTo end: Int64, of file: PartFile) {
        let old = end - WritePipeline.releaseLag
        guard releasesPages else { return }
        releasedEnd.withLock { asked in
            guard old - asked >= WritePipeline.writebackStep else { return }
            // The first call releases the bytes that a part had before it was resumed.
            file.release((asked == 0 ? 0 : max(0, old - WritePipeline.releaseReach))..<old)
            asked = old
        }
    }
}

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
    ///   - total: the length of the complete file. `nil` means that the length is unknown.
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

    /// Returns the offset up to which a part holds all bytes of these writers, at most `front`.
    static func heldFront(of writers: [PartWriter], upTo front: Int64) -> Int64 {
        writers.lazy.filter { !$0.isHeld }.map(\.heldEnd).reduce(front, min)
    }

    /// Gathers the next bytes, and passes each full buffer to the pipeline.
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

    /// Passes bytes to the pipeline that have waited too long for a full buffer.
    func tick(now: Int64) {
        if chunk != nil, now - chunkBegan >= PartWriter.bufferAge { flush() }
        // Later bytes trigger the milestone of earlier ones. When no more bytes come, the tick asks
        // for the milestone of the last ones.
        if isUnlogged, chunk == nil, now - chunkBegan >= PipelineDigests.milestoneAge { log() }
    }

    /// Passes the gathered bytes to the pipeline.
    func flush() {
        guard let chunk else { return }
        self.chunk = nil
        let begin = handedOver
        let room = roomToFind(for: chunk.count)
        // The pipeline's worker empties the buffer when done, so its count is read before.
        handedOver += Int64(chunk.count)
        pipeline.append(chunk, to: file, at: begin, reserving: room)
        isUnlogged = true
    }

    /// Returns the range to reserve before `count` more bytes are written.
    /// Returns nil if the range is reserved already, the rest of the file is small, or the total is
    /// unknown.
    private func roomToFind(for count: Int) -> Range<Int64>? {
        guard let total, handedOver + Int64(count) > reservedEnd, total - handedOver > 1 << 20
        else {
            return nil
        }
        reservedEnd = min(total, handedOver + PartWriter.reservation)
        return handedOver..<reservedEnd
    }

    /// Continues after bytes that a worker has already written into the file.
    func skip(to position: Int64) { handedOver = position }

    /// Continues after bytes that other connections have written, and queues them for hashing.
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

/// A buffer of received bytes on its way from the socket to the disk and then to the digest.
///
/// A chunk has one owner at a time. The transfer thread fills the chunk. Then a part's pipeline
/// writes it, reads it for the digest, and gives it back. No other code touches the chunk in
/// between, so it may cross threads.
final class Chunk: @unchecked Sendable {
    private let buffer: UnsafeMutableRawBufferPointer
    /// How many bytes are filled.
    private(set) var count = 0

    init(capacity: Int) {
        buffer = .allocate(byteCount: capacity, alignment: 4096)
    }

    deinit { buffer.deallocate() }

    /// How many more bytes fit.
    var room: Int { buffer.count - count }

    /// The filled bytes.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: buffer[..<count]) }

    /// The whole buffer, as the destination of a read.
    var space: UnsafeMutableRawBufferPointer { buffer }

    /// Appends as many bytes as fit, and returns their number.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let taken = min(room, bytes.count)
        UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(taken)))
        count += taken
        return taken
    }

    fileprivate func clear() { count = 0 }
}

/// Reusable buffers, so that a download allocates nothing while it runs.
final class ChunkPool: Sendable {
    private let state = Mutex<(free: [Chunk], inUse: Int)>(([], 0))
    private let capacity: Int
    private let kept: Int

    /// - Parameters:
    ///   - capacity: bytes in each buffer.
    ///   - kept: maximum number of free buffers that are kept.
    init(capacity: Int, kept: Int) {
        self.capacity = capacity
        self.kept = kept
    }

    /// Bytes of buffers that are in use.
    var bytesInUse: Int { state.withLock { $0.inUse } * capacity }

    /// Returns an empty buffer.
    func take() -> Chunk {
        let free = state.withLock { state in
            state.inUse += 1
            return state.free.popLast()
        }
        return free ?? Chunk(capacity: capacity)
    }

    /// Takes a buffer back.
    func give(_ chunk: Chunk) {
        chunk.clear()
        state.withLock { state in
            state.inUse -= 1
            if state.free.count < kept { state.free.append(chunk) }
        }
    }
}

/// The running digests of a file: sha256 always, and one more if it is wanted.
struct PipelineDigests: ~Copyable, Sendable {
    /// How many bytes were hashed.
    private(set) var length: Int64 = 0
    private var sha256 = ByteHasher(.sha256)
    private var other: ByteHasher?
    /// The length of the last milestone that was logged.
    var loggedLength: Int64 = 0
    /// The time of the last milestone, in milliseconds of the monotonic clock.
    var loggedAt: Int64 = 0
    /// Whether later bytes were left out. Then the digests no longer change.
    var isBroken = false

    init(other: DigestAlgorithm?) { self.other = other.map { ByteHasher($0) } }

    /// Continues from the digests of a verified part.
    mutating func adopt(_ part: consuming TrustedPart) {
        length = part.length
        loggedLength = part.length
        sha256 = part.sha256.copy()
        other = part.other?.copy()
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        sha256.update(bytes)
        other?.update(bytes)
        length += Int64(bytes.count)
    }

    /// The milestone of the bytes so far: their number and sha256.
    var milestone: Milestone { Milestone(length: length, sha256: sha256.snapshot()) }

    /// The digests of the bytes so far.
    func snapshots() -> [Digest] {
        var result = [sha256.snapshot()]
        if let second = other?.snapshot() { result.append(second) }
        return result
    }
}

extension PipelineDigests {
    /// Bytes after which a milestone is logged. A killed process loses these bytes and those that
    /// wait for their digest; both together are less than the 16 MiB that an interruption may cost.
    static let milestoneBytes: Int64 = 4 << 20
    /// Milliseconds after which a milestone is logged, half of the promised interval.
    static let milestoneAge: Int64 = 500

    /// Whether the bytes since the last milestone are many, or old.
    func isMilestoneDue(now: Int64) -> Bool {
        length - loggedLength >= PipelineDigests.milestoneBytes
            || now - loggedAt >= PipelineDigests.milestoneAge
    }

    /// Logs a milestone of the bytes so far, unless no bytes came since the last one. `start` is
    /// the offset in the part at which the bytes begin.
    mutating func log(
        _ part: String, from start: Int64 = 0, in parts: any PartStore, now: Int64
    ) throws(MirrorError) {
        guard length > loggedLength else { return }
        try parts.log(milestone, from: start, part: part)
        loggedLength = length
        loggedAt = now
    }
}
