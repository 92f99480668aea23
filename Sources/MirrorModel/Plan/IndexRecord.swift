/// What the index knows of a target: the version that mirror put there, and what vouches for it.
public struct IndexRecord: Sendable {
    /// The facts, as an object: a run passes records on very often, and a copy then counts one
    /// reference. It is changed only while nobody else has it, and copied for that otherwise.
    private final class Content: @unchecked Sendable {
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

        init(
            target: Target, owners: Owners, stamp: FileStamp, sha256: Digest, otherDigest: Digest?,
            provenance: Provenance?, validators: Validators, mediaType: String?,
            isExecutable: Bool, verified: Verification, promotedAt: Instant, confirmedAt: Instant,
            freshUntil: Instant?
        ) {
            self.target = target
            self.owners = owners
            self.stamp = stamp
            self.sha256 = sha256
            self.otherDigest = otherDigest
            self.provenance = provenance
            self.validators = validators
            self.mediaType = mediaType
            self.isExecutable = isExecutable
            self.verified = verified
            self.promotedAt = promotedAt
            self.confirmedAt = confirmedAt
            self.freshUntil = freshUntil
        }

        var copy: Content {
            Content(
                target: target, owners: owners, stamp: stamp, sha256: sha256,
                otherDigest: otherDigest, provenance: provenance, validators: validators,
                mediaType: mediaType, isExecutable: isExecutable, verified: verified,
                promotedAt: promotedAt, confirmedAt: confirmedAt, freshUntil: freshUntil)
        }
    }

    private var content: Content

    /// A record of a file that was just promoted, with nothing said by a server.
    public init(
        target: Target, owner: String, stamp: FileStamp, sha256: Digest, verified: Verification,
        promotedAt: Instant
    ) {
        self.init(
            target: target, owners: Owners(owner), stamp: stamp, sha256: sha256,
            verified: verified, promotedAt: promotedAt)
    }

    /// A record of which everything is known; by default of a target that may be of several
    /// manifests, just promoted, with nothing said by a server.
    package init(
        target: Target, owners: Owners, stamp: FileStamp, sha256: Digest,
        otherDigest: Digest? = nil, provenance: Provenance? = nil,
        validators: Validators = Validators(), mediaType: String? = nil,
        isExecutable: Bool = false, verified: Verification, promotedAt: Instant,
        confirmedAt: Instant? = nil, freshUntil: Instant? = nil
    ) {
        content = Content(
            target: target, owners: owners, stamp: stamp, sha256: sha256, otherDigest: otherDigest,
            provenance: provenance, validators: validators, mediaType: mediaType,
            isExecutable: isExecutable, verified: verified, promotedAt: promotedAt,
            confirmedAt: confirmedAt ?? promotedAt, freshUntil: freshUntil)
    }

    /// The facts to change.
    private var own: Content {
        mutating get {
            if !isKnownUniquelyReferenced(&content) { content = content.copy }
            return content
        }
    }
}

extension IndexRecord {
    /// The target.
    public var target: Target {
        get { content.target }
        set { own.target = newValue }
    }

    /// The manifests that the target is of.
    public var owners: Owners {
        get { content.owners }
        set { own.owners = newValue }
    }

    /// The file as it was right after promotion.
    public var stamp: FileStamp {
        get { content.stamp }
        set { own.stamp = newValue }
    }

    /// The sha256 of the bytes.
    public var sha256: Digest {
        get { content.sha256 }
        set { own.sha256 = newValue }
    }

    /// A verified digest of another algorithm, strongest only.
    public var otherDigest: Digest? {
        get { content.otherDigest }
        set { own.otherDigest = newValue }
    }

    /// Where the version came from; nil when it was adopted or copied by digest.
    public var provenance: Provenance? {
        get { content.provenance }
        set { own.provenance = newValue }
    }

    /// The validators that the server sent with the version.
    public var validators: Validators {
        get { content.validators }
        set { own.validators = newValue }
    }

    /// The media type that was sent with it, without parameters.
    public var mediaType: String? {
        get { content.mediaType }
        set { own.mediaType = newValue }
    }

    /// Whether it was given mode 0755.
    public var isExecutable: Bool {
        get { content.isExecutable }
        set { own.isExecutable = newValue }
    }

    /// How its bytes were verified.
    public var verified: Verification {
        get { content.verified }
        set { own.verified = newValue }
    }

    /// When its bytes were promoted.
    public var promotedAt: Instant {
        get { content.promotedAt }
        set { own.promotedAt = newValue }
    }

    /// When the source last confirmed that this is the current version.
    public var confirmedAt: Instant {
        get { content.confirmedAt }
        set { own.confirmedAt = newValue }
    }

    /// Until when HTTP caching calls the answer fresh; nil when the answer did not say.
    public var freshUntil: Instant? {
        get { content.freshUntil }
        set { own.freshUntil = newValue }
    }
}

extension IndexRecord: Hashable {
    /// Whether all facts are equal.
    public static func == (one: IndexRecord, other: IndexRecord) -> Bool {
        one.content === other.content
            || one.target == other.target && one.owners == other.owners && one.stamp == other.stamp
                && one.sha256 == other.sha256 && one.otherDigest == other.otherDigest
                && one.provenance == other.provenance && one.validators == other.validators
                && one.mediaType == other.mediaType && one.isExecutable == other.isExecutable
                && one.verified == other.verified && one.promotedAt == other.promotedAt
                && one.confirmedAt == other.confirmedAt && one.freshUntil == other.freshUntil
    }

    /// Hashes what tells versions apart.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(target)
        hasher.combine(stamp)
        hasher.combine(sha256)
    }
}

/// How a file's bytes were verified before its promotion.
public enum Verification: String, Sendable, Hashable {
    /// A declared digest that proves the bytes.
    case digest
    /// A length: declared, or promised by the server's framing.
    case size
    /// Nothing: the end of the connection was the end of the file.
    case none
}

extension IndexRecord {
    /// The digest of an algorithm that the bytes are known to have.
    public func digest(of algorithm: DigestAlgorithm) -> Digest? {
        if algorithm == .sha256 { return sha256 }
        return otherDigest.flatMap { $0.algorithm == algorithm ? $0 : nil }
    }

    /// Whether a declared digest proves the bytes: it is strong, and the record has it.
    package func isProven(by declared: Digest) -> Bool {
        declared.algorithm.isStrong && digest(of: declared.algorithm) == declared
    }

    /// The version that mirror put there, whether or not a server can be asked about it.
    var version: LocalVersion {
        LocalVersion(
            provenance: provenance, validators: validators, size: stamp.size, sha256: sha256)
    }

    /// The version for a conditional request; nil when no source vouched for it.
    public var localVersion: LocalVersion? { version.isConfirmable ? version : nil }
}
