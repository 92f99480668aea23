/// The declarations of a manifest about the bytes of a resource.
///
/// An object, because the job, the state machine and each evaluation of a response share it.
final class Expectation: Sendable {
    /// The declared size in bytes.
    let size: Int64?
    /// The declared digests, strongest first.
    let digests: [Digest]
    /// The declared digests of pieces.
    let pieces: Pieces?
    /// The media type that a response must have. `nil` means that none is declared.
    let mediaType: MediaRange?
    /// Whether a `text/html` response is refused, because the target cannot be HTML.
    ///
    /// True if the resource has neither pin nor media type, and its extension or stored version is
    /// not that of an HTML page.
    let refusesHTML: Bool

    /// Creates an expectation from declared values.
    init(
        size: Int64? = nil, digests: [Digest] = [], pieces: Pieces? = nil,
        mediaType: MediaRange? = nil, refusesHTML: Bool = false
    ) {
        self.size = size
        self.digests = digests
        self.pieces = pieces
        self.mediaType = mediaType
        self.refusesHTML = refusesHTML
    }

    /// Takes the declarations of a resource.
    ///
    /// The media type of the stored version, if known, decides whether the next version may be an
    /// HTML page.
    convenience init(of resource: Resource, replacing storedMediaType: String?) {
        self.init(
            size: resource.size, digests: resource.digests, pieces: resource.pieces,
            mediaType: resource.mediaType,
            refusesHTML: resource.pin == nil && resource.mediaType == nil
                && Self.refusesHTML(at: resource.target, replacing: storedMediaType))
    }

    /// Whether a target's extension or its stored version shows that the file is no HTML page.
    static func refusesHTML(at target: Target, replacing storedMediaType: String?) -> Bool {
        if let storedMediaType, !MediaRange.isPage(storedMediaType) { return true }
        return target.fileExtension.map { !pageExtensions.contains($0) } ?? false
    }

    /// Extensions of files that are HTML pages.
    private static let pageExtensions: Set<String> = [
        "html", "htm", "xhtml", "xht", "shtml", "php", "asp", "aspx", "jsp", "cgi",
    ]

    /// The strongest declared digest that proves the bytes. `nil` means that there is none.
    var pin: Digest? { digests.first.flatMap { $0.algorithm.isStrong ? $0 : nil } }

    /// The strongest declared algorithm besides sha256. The bytes are verified with that one too.
    var otherAlgorithm: DigestAlgorithm? {
        digests.lazy.map(\.algorithm).filter { $0 != .sha256 }.max()
    }
}

/// The version that mirror put at the target. Responses are compared with it.
///
/// An object, because a step is copied often, and a copy of a struct would count a reference for
/// each text.
final class LocalVersion: Sendable {
    /// Where the version came from. `nil` means unknown, so mirror can ask no source about it.
    let provenance: Provenance?
    /// The ETag and the Last-Modified that came with the version.
    let validators: Validators
    /// The version's size in bytes.
    let size: Int64
    /// The sha256 of the version's bytes.
    let sha256: Digest
    /// Whether a request can be made conditional on this version.
    let isConfirmable: Bool

    /// Creates a value from what the index knows.
    init(provenance: Provenance?, validators: Validators, size: Int64, sha256: Digest) {
        isConfirmable = provenance != nil && validators.isUsableAsCondition
        self.provenance = provenance
        self.validators = validators
        self.size = size
        self.sha256 = sha256
    }
}

extension LocalVersion: Hashable {
    /// Whether all facts are equal.
    static func == (one: LocalVersion, other: LocalVersion) -> Bool {
        one === other
            || (one.provenance == other.provenance && one.validators == other.validators
                && one.size == other.size && one.sha256 == other.sha256)
    }

    /// Hashes the digest only, which differs between versions.
    func hash(into hasher: inout Hasher) { hasher.combine(sha256) }
}

/// How often mirror tries a transfer again, how long it waits, and which bytes it accepts.
public struct TransferPolicy: Sendable, Hashable {
    /// How often mirror tries a transfer again after all its sources failed temporarily.
    public var retries = 7
    /// The longest wait before a retry, in seconds. A longer Retry-After fails the source.
    public var maxWait = Duration.seconds(300)
    /// How long a transfer may bring fewer than 1 KiB/s before it counts as stalled, in seconds.
    public var stallTimeout = Duration.seconds(30)
    /// How long it may take to open a connection, in seconds.
    public var connectTimeout = Duration.seconds(15)
    /// The largest body in bytes where the manifest declares no size. `nil` means no limit.
    public var maxSize: Int64?
    /// Whether mirror refuses bytes that no declared size or digest proves.
    public var strict = false

    /// Creates the defaults.
    public init() {}

    /// Creates the defaults with other values for two limits.
    init(retries: Int, maxWait: Duration) {
        self.retries = retries
        self.maxWait = maxWait
    }
}
