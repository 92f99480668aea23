internal import Glibc

/// The verified bytes of an interrupted part, with the digests that continue from there.
///
/// Size, age and boot id prove nothing after a power cut: a file can have its length and not its
/// bytes. So `establish` reads the part from its start and compares it with the digests in the
/// index. Bytes beyond the last matching digest are cut off. The read is not extra work, because
/// the digest of the whole file needs these bytes anyway. Extents that further connections fetched
/// are compared with their own digests. Bytes between extents do not count, whatever the file holds
/// there.
struct TrustedPart: ~Copyable, Sendable {
    /// Number of bytes from the start that are verified.
    private(set) var length: Int64 = 0
    /// The sha256 of the verified bytes, which a later download continues.
    var sha256 = ByteHasher(.sha256)
    /// The digest of a second algorithm over the same bytes. `nil` means that none is wanted.
    var other: ByteHasher?
    /// The verified ranges beyond the front: ascending, and no two overlap.
    private(set) var rangesBeyond: [Range<Int64>] = []

    /// Reads a range of the file.
    /// Returns false if the file is too short, or if the read was cancelled.
    private typealias Read =
        (_ range: Range<Int64>, _ take: (UnsafeRawBufferPointer) -> Void) throws(Errno) -> Bool

    private init(other: DigestAlgorithm?) { self.other = other.map { ByteHasher($0) } }

    /// Reads and hashes the file, and cuts it after the last verified byte.
    /// `isCancelled` is called once a MiB. If it returns true, the part stays unchanged, and the
    /// result is nil.
    static func establish(
        _ record: PartRecord, file: PartFile, other: DigestAlgorithm?,
        isCancelled: @escaping () -> Bool = { false }
    ) throws(Errno) -> TrustedPart? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var wasCancelled = false
        let read: Read = { (range, take) throws(Errno) in
            var offset = range.lowerBound
            while offset < range.upperBound {
                wasCancelled = wasCancelled || isCancelled()
                if wasCancelled { return false }
                let wanted = Int(min(Int64(buffer.count), range.upperBound - offset))
                let window = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                let count = try file.read(into: window, at: offset)
                guard count == wanted else { return false }
                take(UnsafeRawBufferPointer(window))
                offset += Int64(count)
            }
            return true
        }
        var part = TrustedPart(other: other)
        for milestone in record.milestones {
            if try !part.reach(milestone.length, milestone.sha256, read) { break }
        }
        for extent in record.extents { try part.add(extent, read) }
        try part.join(read)
        if wasCancelled { return nil }
        try file.truncate(to: max(part.length, part.rangesBeyond.last?.upperBound ?? 0))
        return part
    }

    /// Extends the verified prefix to an offset.
    /// If `digest` is given, returns false when the bytes up to the offset do not have it. A wrong
    /// byte makes every longer prefix wrong too.
    private mutating func reach(
        _ end: Int64, _ digest: Digest?, _ read: Read
    ) throws(Errno) -> Bool {
        guard end > length else { return true }
        var first = sha256.copy()
        var second = other?.copy()
        let isRead = try read(length..<end) { bytes in
            first.update(bytes)
            second?.update(bytes)
        }
        guard isRead, digest == nil || first.snapshot() == digest else { return false }
        length = end
        sha256 = first
        other = second
        return true
    }

    /// Compares an extent with its milestones, and adds the verified range.
    private mutating func add(_ extent: Extent, _ read: Read) throws(Errno) {
        // Bytes within the front, or within earlier extents, need no second check.
        guard extent.range.upperBound > max(length, rangesBeyond.last?.upperBound ?? 0) else {
            return
        }
        var hasher = ByteHasher(.sha256)
        var end = extent.start
        for milestone in extent.milestones {
            // A damaged row may hold any number, so the sum may overflow.
            let (next, isTooFar) = extent.start.addingReportingOverflow(milestone.length)
            if isTooFar { break }
            if next <= end { continue }
            guard try read(end..<next, { hasher.update($0) }),
                hasher.snapshot() == milestone.sha256
            else { break }
            end = next
        }
        guard end > extent.start else { return }
        if let last = rangesBeyond.last, last.upperBound >= extent.start {
            rangesBeyond[rangesBeyond.count - 1] = last.lowerBound..<max(last.upperBound, end)
        } else {
            rangesBeyond.append(extent.start..<end)
        }
    }

    /// Extends the front over verified ranges that begin at the front or before it.
    private mutating func join(_ read: Read) throws(Errno) {
        while let next = rangesBeyond.first, next.lowerBound <= length {
            if try !reach(next.upperBound, nil, read) { break }
            rangesBeyond.removeFirst()
        }
        // A remaining range within the front means that the file became shorter, so it cannot be
        // used.
        rangesBeyond.removeAll { $0.lowerBound <= length }
    }
}
