internal import Glibc
internal import MirrorModel

/// The beginning of a part that was vouched for, with the digests that go on from there.
struct TrustedPart: ~Copyable, Sendable {
    /// How many bytes hold; the file was cut there.
    let length: Int64
    /// The sha256 of those bytes, to be continued.
    var sha256: ByteHasher
    /// The digest of a second algorithm over the same bytes.
    var other: ByteHasher?
}

/// Finds out how far an interrupted part can be trusted.
///
/// Size, age and boot id prove nothing after a power cut: a file can have its length and not its
/// bytes. So the part is read from its start and held against the digests that the index logged, and
/// what lies beyond the last one that holds is cut off. The reading is not extra work: the digest of
/// the whole file needs those bytes anyway.
enum PartTrust {
    /// Reads, hashes, and cuts the file. `isCancelled` is asked once a MiB; when it says so, the
    /// part is left as it is and nil comes back.
    static func establish(
        _ record: PartRecord, file: PartFile, other: DigestAlgorithm?,
        isCancelled: () -> Bool = { false }
    ) throws(Errno) -> TrustedPart? {
        var sha256 = ByteHasher(.sha256)
        var second = other.map { ByteHasher($0) }
        var best = TrustedPart(length: 0, sha256: sha256.copy(), other: second?.copy())
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        reading: for milestone in record.milestones where milestone.length > offset {
            while offset < milestone.length {
                if isCancelled() { return nil }
                let wanted = Int(min(Int64(buffer.count), milestone.length - offset))
                let window = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                let count = try file.read(into: window, at: offset)
                let bytes = UnsafeRawBufferPointer(rebasing: window[..<count])
                sha256.update(bytes)
                second?.update(bytes)
                offset += Int64(count)
                if count < wanted { break reading }
            }
            // A wrong byte spoils every later prefix too: the first that fails ends the search.
            guard sha256.snapshot() == milestone.sha256 else { break }
            best = TrustedPart(
                length: offset, sha256: sha256.copy(), other: second?.copy())
        }
        try file.truncate(to: best.length)
        return best
    }
}
