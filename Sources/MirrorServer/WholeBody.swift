internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// A whole file on its way to a client, which gets the end only if the digest is right.
///
/// A program that writes to a file in its place may change bytes that were sent already, or are about
/// to be sent. A mapped file may change without a new modification time (mmap(2)). So the bytes that
/// are sent are hashed, and the last ones wait for the digest.
final class WholeBody {
    /// How many bytes at the end wait for the digest.
    static let heldBack: Int64 = 64 << 10

    private let file: Descriptor
    private let size: Int64
    private let sha256: Digest
    /// Is told that the file has other bytes.
    private let doubt: (Descriptor) -> Void
    private var hasher = ByteHasher(.sha256)
    private var hashed: Int64 = 0
    /// The bytes that were held back, once they are known to be right.
    private var end: [UInt8]?

    init(
        _ file: Descriptor, size: Int64, sha256: Digest, doubt: @escaping (Descriptor) -> Void
    ) {
        self.file = file
        self.size = size
        self.sha256 = sha256
        self.doubt = doubt
    }

    /// Reads the bytes at an offset, and returns how many; nil where the body must not go on.
    ///
    /// The offset is the sum of what earlier calls returned.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int? {
        let start = max(0, size - WholeBody.heldBack)
        if offset < start {
            let count = min(buffer.count, Int(start - offset))
            let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count))
            return offset == hashed && hash(bytes) ? count : nil
        }
        guard let end = end ?? checkedEnd(from: start) else { return nil }
        let rest = end.dropFirst(Int(offset - start)).prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
    }

    private func checkedEnd(from start: Int64) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Int(size - start))
        guard start == hashed, bytes.withUnsafeMutableBytes(hash), hasher.snapshot() == sha256
        else {
            doubt(file)
            return nil
        }
        end = bytes
        return bytes
    }

    /// Fills a buffer with the next bytes, and hashes them; false where the file has become shorter.
    private func hash(_ bytes: UnsafeMutableRawBufferPointer) -> Bool {
        guard (try? file.read(into: bytes, at: hashed, path: "")) == bytes.count else {
            return false
        }
        hasher.update(UnsafeRawBufferPointer(bytes))
        hashed += Int64(bytes.count)
        return true
    }
}
