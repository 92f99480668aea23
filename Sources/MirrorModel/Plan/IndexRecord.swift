/// What the index knows of a target: the version that mirror put there, and what vouches for it.
public struct IndexRecord: Sendable, Hashable {
    /// The target.
    public var target: Target
    /// The manifests that the target is of.
    public var owners: Owners
    /// The file as it was right after promotion.
    public var stamp: FileStamp
    /// The sha256 of the bytes.
    public var sha256: Digest
    /// A verified digest of another algorithm, strongest only.
    public var otherDigest: Digest?
    /// Where the version came from; nil when it was adopted or copied by digest.
    public var provenance: Provenance?
    /// The validators that the server sent with the version.
    public var validators = Validators()
    /// The media type that was sent with it, without parameters.
    public var mediaType: String?
    /// Whether it was given mode 0755.
    public var isExecutable = false
    /// How its bytes were verified.
    public var verified: Verification
    /// When its bytes were promoted.
    public var promotedAt: Instant
    /// When the source last confirmed that this is the current version.
    public var confirmedAt: Instant
    /// Until when HTTP caching calls the answer fresh; nil when the answer did not say.
    public var freshUntil: Instant?

    /// A record of a file that was just promoted, with nothing said by a server.
    public init(
        target: Target, owner: String, stamp: FileStamp, sha256: Digest, verified: Verification,
        promotedAt: Instant
    ) {
        self.init(
            target: target, owners: Owners(owner), stamp: stamp, sha256: sha256,
            verified: verified, promotedAt: promotedAt)
    }

    /// The same for a target that may be of several manifests.
    init(
        target: Target, owners: Owners, stamp: FileStamp, sha256: Digest, verified: Verification,
        promotedAt: Instant
    ) {
        self.target = target
        self.owners = owners
        self.stamp = stamp
        self.sha256 = sha256
        self.verified = verified
        self.promotedAt = promotedAt
        self.confirmedAt = promotedAt
    }

    /// A record of which everything is known.
    package init(
        target: Target, owners: Owners, stamp: FileStamp, sha256: Digest, otherDigest: Digest?,
        provenance: Provenance?, validators: Validators, mediaType: String?, isExecutable: Bool,
        verified: Verification, promotedAt: Instant, confirmedAt: Instant, freshUntil: Instant?
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
