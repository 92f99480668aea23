/// What the index knows of a target: the version that mirror put there, and what vouches for it.
public struct IndexRecord: Sendable, Hashable {
    // In an object, because a scan, a run and the promotion pass it on.
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
    public var target: Target {
        get { facts.value.target }
        set { facts.value.target = newValue }
    }

    /// The manifests that the target is of.
    public var owners: Owners {
        get { facts.value.owners }
        set { facts.value.owners = newValue }
    }

    /// The file as it was right after promotion.
    public var stamp: FileStamp {
        get { facts.value.stamp }
        set { facts.value.stamp = newValue }
    }

    /// The sha256 of the bytes.
    public var sha256: Digest {
        get { facts.value.sha256 }
        set { facts.value.sha256 = newValue }
    }

    /// A verified digest of another algorithm, strongest only.
    public var otherDigest: Digest? {
        get { facts.value.otherDigest }
        set { facts.value.otherDigest = newValue }
    }

    /// Where the version came from; nil when it was adopted or copied by digest.
    public var provenance: Provenance? {
        get { facts.value.provenance }
        set { facts.value.provenance = newValue }
    }

    /// The validators that the server sent with the version.
    public var validators: Validators {
        get { facts.value.validators }
        set { facts.value.validators = newValue }
    }

    /// The media type that was sent with it, without parameters.
    public var mediaType: String? {
        get { facts.value.mediaType }
        set { facts.value.mediaType = newValue }
    }

    /// Whether it was given mode 0755.
    public var isExecutable: Bool {
        get { facts.value.isExecutable }
        set { facts.value.isExecutable = newValue }
    }

    /// How its bytes were verified.
    public var verified: Verification {
        get { facts.value.verified }
        set { facts.value.verified = newValue }
    }

    /// When its bytes were promoted.
    public var promotedAt: Instant {
        get { facts.value.promotedAt }
        set { facts.value.promotedAt = newValue }
    }

    /// When the source last confirmed that this is the current version.
    public var confirmedAt: Instant {
        get { facts.value.confirmedAt }
        set { facts.value.confirmedAt = newValue }
    }

    /// Until when HTTP caching calls the answer fresh; nil when the answer did not say.
    public var freshUntil: Instant? {
        get { facts.value.freshUntil }
        set { facts.value.freshUntil = newValue }
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
