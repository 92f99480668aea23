internal import Glibc
internal import MirrorModel

/// The bytes of a manifest, a chunk at a time; they can be read a second time.
///
/// Readers share one object: what a pipe gave to the first of them is kept for the next. Every chunk
/// but the last is full, however little a pipe gives at a time.
final class ManifestBytes {
    /// The length of a chunk.
    let chunkSize: Int
    /// The length of the first chunk, never less than what tells notation and encoding.
    var firstChunkSize: Int { max(chunkSize, 256) }

    private enum Store {
        /// A file that can be read at any offset, and the offset that the manifest begins at.
        case file(Int32, start: off_t)
        /// A pipe or a socket: what came out of it is kept, because it comes only once.
        case stream(Int32)
        case memory
    }

    private let store: Store
    private var kept: [UInt8] = []
    private var offset = 0

    /// Reads from an open descriptor, from where it stands; the caller closes it.
    init(descriptor: Int32) {
        chunkSize = 64 << 10
        let start = lseek(descriptor, 0, SEEK_CUR)
        store = start >= 0 ? .file(descriptor, start: start) : .stream(descriptor)
    }

    /// Bytes that are all at hand.
    init(_ bytes: [UInt8], chunkSize: Int = 64 << 10) {
        self.chunkSize = chunkSize
        store = .memory
        kept = bytes
    }

    /// Begins again.
    func rewind() { offset = 0 }

    /// Replaces a chunk by the next one; it is empty at the end.
    func next(_ chunk: inout [UInt8]) throws(DecodingStop) {
        chunk.removeAll(keepingCapacity: true)
        switch store {
        case .file(let descriptor, let start):
            let at = start + off_t(offset)
            try fill(&chunk) { pread(descriptor, $0.baseAddress, $0.count, at + off_t($1)) }
        case .stream(let descriptor) where offset == kept.count:
            try fill(&chunk) { buffer, _ in read(descriptor, buffer.baseAddress, buffer.count) }
            kept += chunk
        case .stream, .memory:
            chunk +=
                kept[offset..<min(offset + (offset == 0 ? firstChunkSize : chunkSize), kept.count)]
        }
        offset += chunk.count
    }

    /// Fills a chunk with what `read` gives for a buffer and how much came before it.
    private func fill(
        _ chunk: inout [UInt8], from read: (UnsafeMutableRawBufferPointer, Int) -> Int
    ) throws(DecodingStop) {
        var failure: Int32 = 0
        chunk = [UInt8](unsafeUninitializedCapacity: chunkSize) { buffer, count in
            while count < chunkSize {
                let rest = UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                let length = read(rest, count)
                if length < 0, errno == EINTR { continue }
                failure = length < 0 ? errno : 0
                if length <= 0 { return }
                count += length
            }
        }
        guard failure == 0 else {
            let reason = failure == EISDIR ? "it is a folder" : String(cString: strerror(failure))
            throw .unreadable(
                MirrorError(.manifestUnreadable, "The manifest cannot be read: \(reason)."))
        }
    }
}
