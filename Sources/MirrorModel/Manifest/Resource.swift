/// One wanted file: a target, one or more sources, and the known facts about its bytes.
public struct Resource: Sendable, Hashable {
    /// Where the file belongs; for a name that the server gives, the name that the URL suggests.
    public var target: Target
    /// Whether the server may name the file within the target's folder (a `path` ending in `/`).
    public var isNamedByServer = false
    /// Where the bytes are asked for first.
    public var primary: Source
    /// Other sources of the same bytes, in the order in which they are tried.
    public var mirrors: [Source] = []
    /// The size in bytes, where declared.
    public var size: Int64?
    /// The size that a directory listing gives, in bytes: a hint for the plan, and no proof.
    package var likelySize: Int64?
    /// The declared digests, strongest first in whatever order they are set; empty when none is
    /// declared.
    public var digests: [Digest] = [] {
        didSet { if digests.count > 1 { digests.sort { $0.algorithm > $1.algorithm } } }
    }
    /// Digests of consecutive pieces, where declared.
    public var pieces: Pieces?
    /// The media type that the server must answer with, where declared; `*/*` is any.
    public var mediaType: MediaRange?
    /// When it is asked for again.
    public var refresh: Refresh
    /// How it is asked for.
    public var method: RequestMethod = .get
    /// Higher first.
    public var priority: Int32 = 0
    /// Whether the file gets mode 0755 instead of 0644.
    public var isExecutable = false
    /// Whether a failure leaves the run successful.
    public var isOptional = false
    /// Whether it is fetched even outside the permitted hours, networks and budget.
    public var isUrgent = false
    /// Labels for choosing resources on the command line.
    public var tags: [String] = []
    /// The line of the manifest that the resource begins in, from 1; 0 when it was made in code.
    public var line: Int = 0
    /// The column in that line, in Unicode scalars from 1; 0 when it was made in code.
    public var column: Int = 0

    /// A resource with one source and defaults for everything else.
    public init(target: Target, url: SourceURL, headers: [HeaderField] = []) {
        self.target = target
        self.primary = Source(url: url, headers: headers)
        self.refresh = .always
    }

    /// A resource whose target and URL its reader still has to set.
    package static let unnamed = Resource(
        target: Target(unchecked: ""),
        url: SourceURL(URLAuthority(Origin(scheme: .file, host: "", port: 0)), pathAndQuery: "/"))

    /// All sources in the order in which they are tried, the primary one first.
    public var sources: [Source] { [primary] + mirrors }

    /// The strongest declared digest that proves the bytes (sha256 or better); nil when unpinned.
    public var pin: Digest? { digests.first.flatMap { $0.algorithm.isStrong ? $0 : nil } }
}

/// A URL that serves a resource's bytes, and the headers that go to its origin.
public struct Source: Sendable, Hashable {
    /// Where the bytes are.
    public var url: SourceURL
    /// Sent to the URL's own origin only.
    public var headers: [HeaderField]

    /// Takes a URL and its headers.
    public init(url: SourceURL, headers: [HeaderField] = []) {
        self.url = url
        self.headers = headers
    }
}

/// How a resource is asked for.
public enum RequestMethod: Sendable, Hashable {
    /// A GET without a body.
    case get
    /// A POST with this body: never conditional, never resumed.
    case post(body: Template)
}
