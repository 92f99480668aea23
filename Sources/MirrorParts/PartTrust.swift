internal import Glibc
package import MirrorModel
package import MirrorSystem

/// What of a part was vouched for, with the digests that go on from there.
package struct TrustedPart: ~Copyable, Sendable {
    /// How many bytes from the start hold.
    package let length: Int64
    /// The sha256 of those bytes, to be continued.
    package var sha256: ByteHasher
    /// The digest of a second algorithm over the same bytes.
    package var other: ByteHasher?
    /// What holds beyond that: ascending, and no two overlap.
    package var rangesBeyond: [Range<Int64>] = []
}

/// Finds out how far an interrupted part can be trusted.
///
/// Size, age and boot id prove nothing after a power cut: a file can have its length and not its
/// bytes. So the part is read from its start and held against the digests that the index logged, and
/// what lies beyond the last one that holds is cut off. The reading is not extra work: the digest of
/// the whole file needs those bytes anyway. Extents that further connections fetched are read and
/// held against their own digests; what lies between them is nothing, whatever the file says.
package struct PartTrust: ~Copyable {
    private let file: PartFile
    private let isCancelled: () -> Bool
    private let buffer: UnsafeMutableRawBufferPointer
    private var length: Int64 = 0
    private var sha256 = ByteHasher(.sha256)
    private var other: ByteHasher?
    private var rangesBeyond: [Range<Int64>] = []
    private var wasCancelled = false

    /// Reads, hashes, and cuts the file. `isCancelled` is asked once a MiB; when it says so, the
    /// part is left as it is and nil comes back.
    package static func establish(
        _ record: PartRecord, file: PartFile, other: DigestAlgorithm?,
        isCancelled: @escaping () -> Bool = { false }
    ) throws(Errno) -> TrustedPart? {
        var trust = PartTrust(file: file, other: other, isCancelled: isCancelled)
        for milestone in record.milestones {
            if try !trust.reach(milestone.length, milestone.sha256) { break }
        }
        for extent in record.extents { try trust.read(extent) }
        try trust.join()
        return try trust.cut()
    }

    private init(file: PartFile, other: DigestAlgorithm?, isCancelled: @escaping () -> Bool) {
        self.file = file
        self.other = other.map { ByteHasher($0) }
        self.isCancelled = isCancelled
        buffer = .allocate(byteCount: 1 << 20, alignment: 4096)
    }

    deinit { buffer.deallocate() }

    /// Goes on from the start up to an end; false when the bytes up to there do not have the digest,
    /// where there is one. A wrong byte spoils every later prefix too.
    private mutating func reach(_ end: Int64, _ digest: Digest?) throws(Errno) -> Bool {
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

    /// Holds an extent against its milestones.
    private mutating func read(_ extent: Extent) throws(Errno) {
        // What lies within the front, or within the extents before, needs no second look.
        guard extent.range.upperBound > max(length, rangesBeyond.last?.upperBound ?? 0) else {
            return
        }
        var hasher = ByteHasher(.sha256)
        var end = extent.start
        for milestone in extent.milestones where extent.start + milestone.length > end {
            let next = extent.start + milestone.length
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

    /// Goes on from the front over what begins there, or before, and holds.
    private mutating func join() throws(Errno) {
        while let next = rangesBeyond.first, next.lowerBound <= length {
            if try !reach(next.upperBound, nil) { break }
            rangesBeyond.removeFirst()
        }
        // Only where the file became shorter meanwhile: an rangeBeyond never lies within the front.
        rangesBeyond.removeAll { $0.lowerBound <= length }
    }

    private consuming func cut() throws(Errno) -> TrustedPart? {
        if wasCancelled { return nil }
        try file.truncate(to: max(length, rangesBeyond.last?.upperBound ?? 0))
        return TrustedPart(
            length: length, sha256: sha256.copy(), other: other?.copy(), rangesBeyond: rangesBeyond)
    }

    /// Reads a range of the file; false when it is not all there, or nobody wants it any more.
    private mutating func read(
        _ range: Range<Int64>, _ take: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) -> Bool {
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
}
