internal import Synchronization

/// A buffer of received bytes on its way from the socket to the disk and then to the digest.
///
/// It has one owner at a time: the transfer thread fills it; then a part's pipeline writes it,
/// reads it for the digest, and gives it back. No other code touches it in between. That is why it
/// may cross threads.
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

    /// Takes as many bytes as fit, and returns their number.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let taken = min(room, bytes.count)
        UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(taken)))
        count += taken
        return taken
    }

    fileprivate func clear() { count = 0 }
}

/// Reusable buffers, so that a transfer allocates nothing while it runs.
final class ChunkPool: Sendable {
    private struct State {
        var free: [Chunk] = []
        var inUse = 0
    }

    private let state = Mutex(State())
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

    /// An empty buffer.
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
