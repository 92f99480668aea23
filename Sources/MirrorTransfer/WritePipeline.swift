internal import Glibc
internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem
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
    private let writeback = Mutex(Writeback())
    private let pages: Mutex<PageRelease>
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
    ///   - letsGo: whether its bytes leave memory when they are hashed and on the disk; for a
    ///     pipeline that hashes the file from its start, and is the last to read it.
    ///   - afterBytes: called on a worker after each buffer.
    ///   - onLoss: called on a worker when bytes cannot be written, or when the file does not hold
    ///     the written bytes.
    init(
        other: DigestAlgorithm?, letsGo: Bool = false, workers: any Workers, chunks: ChunkPool,
        afterBytes: @escaping Work, onLoss: @escaping @Sendable (Errno) -> Void
    ) {
        digests = Mutex(PipelineDigests(other: other))
        writing = SerialWork(on: workers)
        hashing = SerialWork(on: workers)
        pages = Mutex(PageRelease(letsGo: letsGo))
        self.chunks = chunks
        self.afterBytes = afterBytes
        self.onLoss = onLoss
    }

    /// How many bytes wait to be written or hashed.
    var backlog: Int { waitingBytes.load(ordering: .relaxed) }

    /// The position after the last byte that was read back from the file unchanged; 0 before the
    /// first.
    var heldEnd: Int64 { lastHeld.load(ordering: .acquiring) }

    /// Hands over a buffer, to be written at an offset of a file. If `room` is given, that range of
    /// the file is reserved first.
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
            if holds { writeback.withLock { $0.wrote(upTo: end, in: file) } }
        }
    }

    /// Adds bytes that are already in the file, from the end of the digests up to an offset. These
    /// bytes arrived before the bytes in front of them. They are read from the page cache.
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

    /// Adds work after all bytes so far.
    func submit(_ work: @escaping Work) {
        writing.add { [self] in
            hashing.add { [self] in digests.withLock { work(&$0) } }
        }
    }

    /// Works on the digests on this thread; nothing was handed over yet.
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

    /// Writes a buffer; returns whether the file holds its bytes.
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
            pages.withLock { $0.hashed(upTo: digests.length, in: file) }
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
                pages.withLock { $0.hashed(upTo: digests.length, in: file) }
            }
        } catch { lose(error) }
        digests.isBroken = digests.length < end
    }
}
