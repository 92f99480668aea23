internal import Glibc
internal import MirrorModel

/// The bytes of a manifest, a chunk at a time; they can be read a second time.
///
/// Readers share one object: what a pipe gave to the first of them is kept for the next.
final class ManifestBytes {
    /// The greatest length of a chunk.
    static let chunkSize = 64 << 10

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
        let start = lseek(descriptor, 0, SEEK_CUR)
        store = start >= 0 ? .file(descriptor, start: start) : .stream(descriptor)
    }

    /// Bytes that are all at hand.
    init(_ bytes: [UInt8]) {
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
            try fill(&chunk) { pread(descriptor, $0.baseAddress, $0.count, at) }
        case .stream(let descriptor) where offset == kept.count:
            try fill(&chunk) { read(descriptor, $0.baseAddress, $0.count) }
            kept += chunk
        case .stream, .memory:
            chunk += kept[offset..<min(offset + Self.chunkSize, kept.count)]
        }
        offset += chunk.count
    }

    private func fill(
        _ chunk: inout [UInt8], from read: (UnsafeMutableBufferPointer<UInt8>) -> Int
    ) throws(DecodingStop) {
        var failure: Int32 = 0
        chunk = [UInt8](unsafeUninitializedCapacity: Self.chunkSize) { buffer, count in
            while true {
                let length = read(buffer)
                if length < 0, errno == EINTR { continue }
                count = max(length, 0)
                failure = length < 0 ? errno : 0
                return
            }
        }
        guard failure == 0 else {
            let reason = failure == EISDIR ? "it is a folder" : String(cString: strerror(failure))
            throw .unreadable(
                MirrorError(.manifestUnreadable, "The manifest cannot be read: \(reason)."))
        }
    }
}
