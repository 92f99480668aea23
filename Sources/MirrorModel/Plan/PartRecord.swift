/// The index's row of an unfinished download.
public struct PartRecord: Sendable, Hashable {
    /// The part's file name in `tmp/`.
    public var name: String
    /// The target that the part is for.
    public var target: Target
    /// The version that its bytes belong to.
    public var identity: PartIdentity
    /// The size of the whole file, where known.
    public var total: Int64?
    /// Where its bytes came from, the first first; several only under a pin.
    public var provenances: [Provenance]
    /// The validators sent with the answer that began it.
    public var validators: Validators
    /// The media type sent with the answer that began it, without parameters.
    public var mediaType: String?
    /// The file name that the answer which began it suggests, last component only.
    public var suggestedName: String?
    /// How far the bytes were vouched for, by length, ascending.
    public var milestones: [Milestone]
    /// Ranges that further connections fetched beyond that, by start.
    public var extents: [Extent]
    /// How many runs wrote to it; from 1.
    public var runs: Int

    /// Takes the facts that are known when a part begins.
    public init(
        name: String, target: Target, identity: PartIdentity, total: Int64?,
        provenance: Provenance, validators: Validators
    ) {
        self.name = name
        self.target = target
        self.identity = identity
        self.total = total
        self.provenances = [provenance]
        self.validators = validators
        self.milestones = []
        self.extents = []
        self.runs = 1
    }
}

/// The version that the bytes of a part belong to, and so the source that may continue it.
public enum PartIdentity: Sendable, Hashable {
    /// A declared digest: any source of the same resource may continue it.
    case digest(Digest)
    /// A version of one source, named by its strong validator.
    case version(Provenance, StrongValidator)
    /// Nothing that could be recognised again: it is never resumed.
    case anonymous
}

/// A length of a part, and the sha256 of its bytes up to there.
public struct Milestone: Sendable, Hashable {
    /// Bytes from the start.
    public var length: Int64
    /// The sha256 of those bytes.
    public var sha256: Digest

    /// Takes a length and the digest of the bytes up to it.
    public init(length: Int64, sha256: Digest) {
        self.length = length
        self.sha256 = sha256
    }
}

/// Bytes of a part that do not begin at its start.
public struct Extent: Sendable, Hashable {
    /// The position of the first byte.
    public var start: Int64
    /// How far its bytes were vouched for, counted from `start`, ascending.
    public var milestones: [Milestone]

    /// Takes a position, and what was logged from there.
    public init(start: Int64, milestones: [Milestone]) {
        self.start = start
        self.milestones = milestones
    }

    /// The greatest range that was logged.
    public var range: Range<Int64> {
        let (end, isTooFar) = start.addingReportingOverflow(milestones.last?.length ?? 0)
        return start..<max(start, isTooFar ? start : end)
    }
}

extension PartRecord {
    /// The greatest logged length in bytes; 0 when nothing was logged.
    public var loggedLength: Int64 { milestones.last?.length ?? 0 }

    /// How many bytes were logged: from the start, and what lies beyond.
    public var loggedBytes: Int64 {
        var (bytes, end) = (loggedLength, loggedLength)
        for range in extents.lazy.map(\.range) where range.upperBound > end {
            bytes += range.upperBound - max(end, range.lowerBound)
            end = range.upperBound
        }
        return bytes
    }
}
