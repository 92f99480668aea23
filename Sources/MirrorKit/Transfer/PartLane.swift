internal import Glibc
internal import MirrorModel
internal import Synchronization

/// The way of one file's bytes after they were received: they are written, read back and hashed, on
/// worker threads and in the order in which they came.
///
/// A lane runs on one worker at a time and takes its work from its own queue, so the transfer thread
/// only hands over buffers and waits neither for the disk nor for a digest. One worker does all three
/// with a buffer, because it stays in that processor's cache. What is hashed is what the file holds: a
/// digest of bytes that were in memory only would vouch for a disk that says that it wrote and did not.
final class PartLane: Sendable {
    /// Work on the lane's digests.
    typealias Work = @Sendable (inout LaneDigests) -> Void

    private enum Item: Sendable {
        case bytes(Chunk, PartFile, at: Int64, write: Write)
        case file(PartFile, upTo: Int64)
        case work(Work)
    }

    /// Whether bytes are still to be written.
    enum Write: Sendable {
        /// They are in the file.
        case done
        /// They are not; room for a stretch of the file is to be found first, where one is given.
        case due(reserving: Range<Int64>?)
    }

    private struct Queue {
        var items: [Item] = []
        var bytes = 0
        var isRunning = false
    }

    private let queue = Mutex(Queue())
    private let digests: Mutex<LaneDigests>
    private let workers: WorkPool
    private let chunks: ChunkPool
    /// Called after bytes were taken in, on a worker.
    private let afterBytes: Work
    /// Called once when the file does not hold what it should; nothing is written or hashed after that.
    private let onLoss: @Sendable (Errno) -> Void
    private let isStopped = Atomic(false)

    /// - Parameters:
    ///   - other: a second algorithm besides sha256.
    ///   - afterBytes: called on a worker after each buffer.
    ///   - onLoss: called on a worker when bytes cannot be written, or the file does not hold what was.
    init(
        other: DigestAlgorithm?, workers: WorkPool, chunks: ChunkPool,
        afterBytes: @escaping Work, onLoss: @escaping @Sendable (Errno) -> Void
    ) {
        digests = Mutex(LaneDigests(other: other))
        self.workers = workers
        self.chunks = chunks
        self.afterBytes = afterBytes
        self.onLoss = onLoss
    }

    /// How many bytes wait to be written or hashed.
    var backlog: Int { queue.withLock { $0.bytes } }

    /// Hands over a buffer, which belongs at an offset of a file.
    func append(_ chunk: Chunk, to file: PartFile, at offset: Int64, write: Write) {
        add(.bytes(chunk, file, at: offset, write: write), bytes: chunk.count)
    }

    /// Adds bytes that are in the file already, from where the digests are up to an end: they came
    /// before those that lie in front of them, and are read from the page cache.
    func append(_ file: PartFile, upTo end: Int64) { add(.file(file, upTo: end), bytes: 0) }

    /// Ends the digests where they are: nobody waits for the rest any more.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Adds work after all bytes so far.
    func submit(_ work: @escaping Work) { add(.work(work), bytes: 0) }

    /// Asks for a milestone of all bytes so far, whenever the last one was.
    func logRest() {
        submit { [afterBytes] digests in
            digests.loggedAt = 0
            afterBytes(&digests)
        }
    }

    private func add(_ item: Item, bytes: Int) {
        let mustStart = queue.withLock { queue in
            queue.items.append(item)
            queue.bytes += bytes
            defer { queue.isRunning = true }
            return !queue.isRunning
        }
        if mustStart { workers.submit { self.run() } }
    }

    private func run() {
        while true {
            let items = queue.withLock { queue in
                let items = queue.items
                queue.items = []
                if items.isEmpty { queue.isRunning = false }
                return items
            }
            if items.isEmpty { return }
            for item in items { run(item) }
        }
    }

    private func run(_ item: Item) {
        switch item {
        case .bytes(let chunk, let file, let offset, let write):
            digests.withLock { digests in
                guard !digests.isBroken else { return }
                do throws(Errno) {
                    if case .due(let room) = write {
                        if let room { file.reserve(room) }
                        try file.write(chunk.bytes, at: offset)
                    }
                    try confirm(chunk, in: file, at: offset)
                    digests.update(chunk.bytes)
                    afterBytes(&digests)
                } catch {
                    digests.isBroken = true
                    onLoss(error)
                }
            }
            let count = chunk.count
            chunks.give(chunk)
            queue.withLock { $0.bytes -= count }
        case .file(let file, let end): digests.withLock { read(file, upTo: end, into: &$0) }
        case .work(let work): digests.withLock { work(&$0) }
        }
    }

    private func confirm(_ chunk: Chunk, in file: PartFile, at offset: Int64) throws(Errno) {
        let copy = chunks.take()
        defer { chunks.give(copy) }
        try file.confirm(chunk.bytes, at: offset, with: copy.space)
    }

    private func read(_ file: PartFile, upTo end: Int64, into digests: inout LaneDigests) {
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
            }
        } catch { onLoss(error) }
        digests.isBroken = digests.length < end
    }
}

/// The running digests of a file: sha256 always, and one more where it is wanted.
struct LaneDigests: ~Copyable, Sendable {
    /// How many bytes were taken in.
    private(set) var length: Int64 = 0
    private var sha256 = ByteHasher(.sha256)
    private var other: ByteHasher?
    /// The last milestone that was logged.
    var loggedLength: Int64 = 0
    /// When that was, in milliseconds of the monotonic clock.
    var loggedAt: Int64 = 0
    /// Whether bytes after these were left out: the digests stay what they are.
    var isBroken = false

    init(other: DigestAlgorithm?) { self.other = other.map { ByteHasher($0) } }

    /// Goes on from a part that was vouched for.
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

    /// What the bytes so far are.
    var milestone: Milestone { Milestone(length: length, sha256: sha256.snapshot()) }

    /// The digests of the bytes so far.
    func snapshots() -> [Digest] {
        var result = [sha256.snapshot()]
        if let second = other?.snapshot() { result.append(second) }
        return result
    }
}
