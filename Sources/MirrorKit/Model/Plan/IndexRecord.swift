/// What the index knows of a target: the version that mirror put there, and what vouches for it.
struct IndexRecord: Sendable, Hashable {
    // An object, because a scan, a run and the promotion copy the record.
    private var facts: ValueObject<Facts>

    private struct Facts: Hashable {
        var target: Target
        var owners: Owners
        var stamp: FileStamp
        var sha256: Digest
        var otherDigest: Digest?
        var provenance: Provenance?
        var validators: Validators
        var mediaType: String?
        var isExecutable: Bool
        var verified: Verification
        var promotedAt: Instant
        var confirmedAt: Instant
        var freshUntil: Instant?
    }

    /// Makes the record of a file that was just promoted, without values from a server.
    init(
        target: Target, owner: String, stamp: FileStamp, sha256: Digest, verified: Verification,
        promotedAt: Instant
    ) {
        self.init(
            target: target, owners: Owners(owner), stamp: stamp, sha256: sha256,
            verified: verified, promotedAt: promotedAt)
    }

    /// Makes a record from all its values.
    ///
    /// The defaults are those of a file that was just promoted, without values from a server.
    init(
        target: Target, owners: Owners, stamp: FileStamp, sha256: Digest,
        otherDigest: Digest? = nil, provenance: Provenance? = nil,
        validators: Validators = Validators(), mediaType: String? = nil,
        isExecutable: Bool = false, verified: Verification, promotedAt: Instant,
        confirmedAt: Instant? = nil, freshUntil: Instant? = nil
    ) {
        facts = ValueObject(
            Facts(
                target: target, owners: owners, stamp: stamp, sha256: sha256,
                otherDigest: otherDigest, provenance: provenance, validators: validators,
                mediaType: mediaType, isExecutable: isExecutable, verified: verified,
                promotedAt: promotedAt, confirmedAt: confirmedAt ?? promotedAt,
                freshUntil: freshUntil))
    }
}

extension IndexRecord {
    /// The target.
    var target: Target {
        get { facts.value.target }
        set { facts.value.target = newValue }
    }

    /// The manifests that own the target.
    var owners: Owners {
        get { facts.value.owners }
        set { facts.value.owners = newValue }
    }

    /// The file's stamp after its promotion, or when mirror last saw the same bytes in it.
    var stamp: FileStamp {
        get { facts.value.stamp }
        set { facts.value.stamp = newValue }
    }

    /// The sha256 of the bytes.
    var sha256: Digest {
        get { facts.value.sha256 }
        set { facts.value.sha256 = newValue }
    }

    /// The strongest verified digest of another algorithm.
    var otherDigest: Digest? {
        get { facts.value.otherDigest }
        set { facts.value.otherDigest = newValue }
    }

    /// Where the version came from. `nil` means that no source gave it: the file was adopted.
    var provenance: Provenance? {
        get { facts.value.provenance }
        set { facts.value.provenance = newValue }
    }

    /// The validators that the server sent with the version.
    var validators: Validators {
        get { facts.value.validators }
        set { facts.value.validators = newValue }
    }

    /// The media type that the server sent with the version, without parameters.
    var mediaType: String? {
        get { facts.value.mediaType }
        set { facts.value.mediaType = newValue }
    }

    /// Whether the file was given mode 0755.
    var isExecutable: Bool {
        get { facts.value.isExecutable }
        set { facts.value.isExecutable = newValue }
    }

    /// How the file's bytes were verified.
    var verified: Verification {
        get { facts.value.verified }
        set { facts.value.verified = newValue }
    }

    /// When the file's bytes were promoted.
    var promotedAt: Instant {
        get { facts.value.promotedAt }
        set { facts.value.promotedAt = newValue }
    }

    /// When the source last confirmed that the version is the current one.
    var confirmedAt: Instant {
        get { facts.value.confirmedAt }
        set { facts.value.confirmedAt = newValue }
    }

    /// Until when HTTP caching calls the answer fresh. `nil` means that the answer did not say.
    var freshUntil: Instant? {
        get { facts.value.freshUntil }
        set { facts.value.freshUntil = newValue }
    }
}

/// How a file's bytes were verified before its promotion.
public enum Verification: String, Sendable, Hashable {
    /// A declared digest proved the bytes.
    case digest
    /// The length was right: the declared one, or the one promised by the server's framing.
    case size
    /// Nothing verified the bytes: the end of the connection was the end of the file.
    case none
}

extension IndexRecord {
    /// Returns the known digest of the bytes for an algorithm. Returns nil if it is not known.
    func digest(of algorithm: DigestAlgorithm) -> Digest? {
        if algorithm == .sha256 { return sha256 }
        return otherDigest.flatMap { $0.algorithm == algorithm ? $0 : nil }
    }

    /// Whether a declared digest proves the bytes: the digest is strong, and the record has it.
    func isProven(by declared: Digest) -> Bool {
        declared.algorithm.isStrong && digest(of: declared.algorithm) == declared
    }

    /// The version that mirror put there, even if no server can be asked about it.
    var version: LocalVersion {
        LocalVersion(
            provenance: provenance, validators: validators, size: stamp.size, sha256: sha256)
    }

    /// The version for a conditional request. `nil` means that no source vouched for it.
    var localVersion: LocalVersion? { version.isConfirmable ? version : nil }
}

/// The name under which a source is remembered: origin and path, and a hash of the query.
///
/// A query may hold a token, so the index keeps only its SHA-256. Two URLs are the same source when
/// their keys are equal.
package struct SourceKey: Sendable, Hashable, CustomStringConvertible {
    /// `https://host/path`, followed by `?` and 64 hexadecimal digits where there is a query.
    let text: String

    /// Takes the text as it was stored or made.
    init(text: String) { self.text = text }

    /// The key for people: origin and path alone.
    package var description: String { (text.halves(atLast: "?")?.before).map(String.init) ?? text }
}

/// The index's row of an unfinished download.
struct PartRecord: Sendable, Hashable {
    /// The part's file name in `tmp/`.
    var name: String
    /// The target that the part is for.
    var target: Target
    /// The version that the part's bytes belong to.
    var identity: PartIdentity
    /// The size of the whole file, where known.
    var total: Int64?
    /// The sources of the part's bytes, in order; several only if a pin proves the bytes.
    var provenances: [Provenance]
    /// The validators sent with the answer that began the part.
    var validators: Validators
    /// The media type sent with the answer that began the part, without parameters.
    var mediaType: String?
    /// The file name that the answer which began the part suggests, last component only.
    var suggestedName: String?
    /// The lengths from the start up to which a digest vouches for the bytes, ascending.
    var milestones: [Milestone]
    /// Ranges beyond the last milestone that further connections fetched, by start.
    var extents: [Extent]
    /// How many runs wrote to the part, from 1.
    var runs: Int

    /// Takes the facts that are known when a part begins.
    init(
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

/// The version that the bytes of a part belong to. It decides which sources may continue the part.
enum PartIdentity: Sendable, Hashable {
    /// A declared digest: any source of the same resource may continue the part.
    case digest(Digest)
    /// A version of one source, named by its strong validator: only this source may continue.
    case version(Provenance, StrongValidator)
    /// Nothing that could be recognised again, so the part is never resumed.
    case anonymous
}

/// A length of a part, with the sha256 of all bytes before it.
struct Milestone: Sendable, Hashable {
    /// The number of bytes from the start.
    var length: Int64
    /// The sha256 of the first `length` bytes.
    var sha256: Digest
}

/// A range of a part that does not begin at the start of the file.
struct Extent: Sendable, Hashable {
    /// The position of the first byte.
    var start: Int64
    /// The lengths from `start` up to which a digest vouches for the bytes, ascending.
    var milestones: [Milestone]

    /// The range from `start` to the last milestone.
    var range: Range<Int64> {
        let (end, isTooFar) = start.addingReportingOverflow(milestones.last?.length ?? 0)
        return start..<max(start, isTooFar ? start : end)
    }
}

extension PartRecord {
    /// The length in bytes of the last milestone; 0 if there is none.
    var loggedLength: Int64 { milestones.last?.length ?? 0 }

    /// How many bytes milestones vouch for: from the start, and in the extents beyond.
    var loggedBytes: Int64 {
        var (bytes, end) = (loggedLength, loggedLength)
        for range in extents.lazy.map(\.range) where range.upperBound > end {
            bytes += range.upperBound - max(end, range.lowerBound)
            end = range.upperBound
        }
        return bytes
    }
}
