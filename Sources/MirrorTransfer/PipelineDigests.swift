internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// The running digests of a file: sha256 always, and one more where it is wanted.
struct PipelineDigests: ~Copyable, Sendable {
    /// How many bytes were taken in.
    private(set) var length: Int64 = 0
    private var sha256 = ByteHasher(.sha256)
    private var other: ByteHasher?
    /// The last milestone that was logged.
    var loggedLength: Int64 = 0
    /// The time of the last milestone, in milliseconds of the monotonic clock.
    var loggedAt: Int64 = 0
    /// Whether later bytes were left out; the digests no longer change.
    var isBroken = false

    init(other: DigestAlgorithm?) { self.other = other.map { ByteHasher($0) } }

    /// Continues from a part that was verified.
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

    /// The milestone of the bytes so far.
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
