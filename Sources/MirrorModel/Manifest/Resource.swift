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

/// When a resource that is there is asked for again.
public enum Refresh: Sendable, Hashable {
    /// On every run.
    case always
    /// Never, once it is there.
    case never
    /// As the server's Cache-Control and Expires say (RFC 9111 §4.2).
    case http
    /// After this many seconds since the last confirmation; greater than 0.
    case after(seconds: Int64)

    /// Reads `always`, `never`, `http` or a duration with its unit; nil for anything else.
    public init?(_ text: String) {
        switch text {
        case "always": self = .always
        case "never": self = .never
        case "http": self = .http
        default:
            guard let unit = text.utf8.last, !(0x30...0x39).contains(unit),
                let duration = DurationText(text: text), duration.seconds > 0
            else { return nil }
            self = .after(seconds: duration.seconds)
        }
    }
}

extension Refresh: CustomStringConvertible {
    /// The text as a manifest has it, a duration in its greatest whole unit.
    public var description: String {
        switch self {
        case .always: return "always"
        case .never: return "never"
        case .http: return "http"
        case .after(let seconds):
            let units: [(Int64, String)] = [(604_800, "w"), (86400, "d"), (3600, "h"), (60, "m")]
            let unit = units.first { seconds.isMultiple(of: $0.0) } ?? (1, "s")
            return "\(seconds / unit.0)\(unit.1)"
        }
    }
}

/// Resources of lists, in which one file may be described several times; kept as compactly as in a
/// manifest.
package struct JoinedResources {
    private var table = ResourceTable()
    /// The resources that have been joined, which differ from those in the table.
    private var joined: [Int: Resource] = [:]
    /// The positions of the targets, by their hashes.
    private var positions: [Int: UInt32] = [:]
    /// The sources of the resources that have been joined.
    private var sources: [Int: Set<Source>] = [:]

    package init() {}

    /// How many resources there are.
    package var count: Int { table.count }

    /// A resource, in the order of the first descriptions.
    package subscript(position: Int) -> Resource { joined[position] ?? table[position] }

    /// The resources, in the order of their first descriptions.
    package var resources: ResourceTable {
        joined.isEmpty ? table : ResourceTable(table.indices.lazy.map { self[$0] })
    }

    /// Adds a resource, or joins it with an earlier one of its target if they do not contradict each
    /// other; false if it was joined.
    package mutating func add(_ resource: Resource) -> Bool {
        let hash = resource.target.hashValue
        if let known = positions[hash], table.target(at: Int(known)) == resource.target,
            join(resource, at: Int(known))
        {
            return false
        }
        positions[hash] = UInt32(table.count)
        table.append(resource)
        return true
    }

    private mutating func join(_ other: Resource, at position: Int) -> Bool {
        guard self[position].describesSameBytes(as: other) else { return false }
        // Taken out, so that its sources are not copied for each that is added.
        var resource = joined.removeValue(forKey: position) ?? table[position]
        var known = sources.removeValue(forKey: position) ?? Set(resource.sources)
        resource.join(other, &known)
        joined[position] = resource
        sources[position] = known
        return true
    }
}

extension Resource {
    /// Whether another resource is about the same bytes, and does not contradict this one.
    ///
    /// The bytes are the same if their URL is, or if a digest proves it.
    fileprivate func describesSameBytes(as other: Resource) -> Bool {
        let contradicts = other.digests.contains { digest in
            digests.contains { $0.algorithm == digest.algorithm && $0 != digest }
        }
        let isSame = primary.url == other.primary.url || (pin != nil && pin == other.pin)
        return isSame && !contradicts && (size == nil || other.size == nil || size == other.size)
    }

    /// Adds what another says of the same bytes. Tags stay that both have, because a file that is
    /// needed without a tag is needed.
    fileprivate mutating func join(_ other: Resource, _ known: inout Set<Source>) {
        let wasPinned = pin != nil
        size = size ?? other.size
        for digest in other.digests where !digests.contains(digest) { digests.append(digest) }
        for source in other.sources where known.insert(source).inserted { mirrors.append(source) }
        let others = Set(other.tags)
        tags.removeAll { !others.contains($0) }
        if pin != nil, !wasPinned { refresh = other.refresh }
    }
}
