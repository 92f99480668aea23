/// The declarations of a manifest about the bytes of a resource.
///
/// An object, because the job, the state machine and each evaluation of a response have it.
package final class Expectation: Sendable {
    /// The declared size in bytes.
    package let size: Int64?
    /// The declared digests, strongest first.
    package let digests: [Digest]
    /// Declared digests of pieces.
    package let pieces: Pieces?
    /// The media type that an answer must have.
    package let mediaType: MediaRange?
    /// Whether an answer of `text/html` is refused because the target cannot be HTML: it is
    /// unpinned, declares no type, and its extension or its stored version says otherwise.
    package let refusesHTML: Bool

    /// Takes what the manifest says.
    package init(
        size: Int64? = nil, digests: [Digest] = [], pieces: Pieces? = nil,
        mediaType: MediaRange? = nil, refusesHTML: Bool = false
    ) {
        self.size = size
        self.digests = digests
        self.pieces = pieces
        self.mediaType = mediaType
        self.refusesHTML = refusesHTML
    }

    /// Takes the declarations of a resource. The media type of the stored version, if known,
    /// decides whether the next one may be an HTML page.
    package convenience init(of resource: Resource, replacing storedMediaType: String?) {
        self.init(
            size: resource.size, digests: resource.digests, pieces: resource.pieces,
            mediaType: resource.mediaType,
            refusesHTML: resource.pin == nil && resource.mediaType == nil
                && Self.refusesHTML(at: resource.target, replacing: storedMediaType))
    }

    /// Whether a target's extension or its stored version says that it is no HTML page.
    static func refusesHTML(at target: Target, replacing storedMediaType: String?) -> Bool {
        if let storedMediaType, !MediaRange.isPage(storedMediaType) { return true }
        return target.fileExtension.map { !pageExtensions.contains($0) } ?? false
    }

    /// Extensions of files that are HTML pages.
    private static let pageExtensions: Set<String> = [
        "html", "htm", "xhtml", "xht", "shtml", "php", "asp", "aspx", "jsp", "cgi",
    ]

    /// The strongest declared digest that proves the bytes; nil when unpinned.
    package var pin: Digest? { digests.first.flatMap { $0.algorithm.isStrong ? $0 : nil } }

    /// The strongest declared algorithm besides sha256; the bytes are verified with it too.
    package var otherAlgorithm: DigestAlgorithm? {
        digests.lazy.map(\.algorithm).filter { $0 != .sha256 }.max()
    }
}

/// The version that mirror put at the target, with which a response is compared.
///
/// An object, because a step is copied often, and a copy would count a reference for each text.
public final class LocalVersion: Sendable {
    /// Where it came from; nil when it is not known, and so no source can be asked about it.
    public let provenance: Provenance?
    /// The facts from the response.
    public let validators: Validators
    /// Its size in bytes.
    public let size: Int64
    /// The sha256 of its bytes.
    public let sha256: Digest
    /// Whether a request can be made conditional on it.
    public let isConfirmable: Bool

    /// Takes what the index knows.
    public init(provenance: Provenance?, validators: Validators, size: Int64, sha256: Digest) {
        isConfirmable = provenance != nil && validators.isUsableAsCondition
        self.provenance = provenance
        self.validators = validators
        self.size = size
        self.sha256 = sha256
    }
}

extension LocalVersion: Hashable {
    /// Whether all facts are equal.
    public static func == (one: LocalVersion, other: LocalVersion) -> Bool {
        one === other
            || (one.provenance == other.provenance && one.validators == other.validators
                && one.size == other.size && one.sha256 == other.sha256)
    }

    /// Hashes the digest, which tells versions apart.
    public func hash(into hasher: inout Hasher) { hasher.combine(sha256) }
}

/// How often a transfer is tried again, how long it waits, and which bytes it accepts.
public struct TransferPolicy: Sendable, Hashable {
    /// How often a transfer is tried again after all its sources failed in a passing way.
    public var retries = 7
    /// The longest wait before a retry, in seconds; a longer Retry-After fails the source.
    public var longestWait: Int64 = 300
    /// How long fewer than 1 KiB/s may arrive, in seconds.
    public var stallTimeout: Int64 = 30
    /// How long a connection may take, in seconds.
    public var connectTimeout: Int64 = 15
    /// The greatest body of undeclared size, in bytes; nil is no limit.
    public var sizeLimit: Int64?
    /// Whether bytes without a size or digest to prove them are refused.
    public var isStrict = false

    /// The defaults.
    public init() {}

    /// The defaults, but for two limits.
    package init(retries: Int, longestWait: Int64) {
        self.retries = retries
        self.longestWait = longestWait
    }
}
