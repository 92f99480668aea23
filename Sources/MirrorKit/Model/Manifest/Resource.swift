/// One wanted file: a target, one or more sources, and the known facts about its bytes.
public struct Resource: Sendable, Hashable {
    /// Where the file belongs in the tree.
    ///
    /// If the server names the file, this is the name that the URL suggests.
    public var target: Target
    /// Whether the server may name the file within the target's folder (a `path` ending in `/`).
    public var isNamedByServer = false
    /// The source that mirror asks first.
    public var primary: Source
    /// Other sources of the same bytes, in the order in which mirror tries them.
    public var mirrors: [Source] = []
    /// The declared size in bytes. `nil` means that none is declared.
    public var size: Int64?
    /// The size in bytes that a directory listing gives: a hint for the plan, and no proof.
    var likelySize: Int64?
    /// The declared digests, sorted when set, the strongest first. Empty if none is declared.
    public var digests: [Digest] = [] {
        didSet { if digests.count > 1 { digests.sort { $0.algorithm > $1.algorithm } } }
    }
    /// The declared digests of consecutive pieces. `nil` means that none are declared.
    var pieces: Pieces?
    /// The declared media type of a response. `*/*` is any. `nil` means that none is declared.
    var mediaType: MediaRange?
    /// When mirror asks for the file again.
    public var refresh: Refresh
    /// The method of the request, with its body.
    var method: RequestMethod = .get
    /// The rank among transfers: those with a higher priority start first.
    public var priority: Int32 = 0
    /// Whether the file gets mode 0755 instead of 0644.
    public var isExecutable = false
    /// Whether the run still succeeds if this resource fails.
    public var isOptional = false
    /// Whether mirror fetches the file even outside the permitted hours, networks and budget.
    public var isUrgent = false
    /// Labels for choosing resources on the command line.
    public var tags: [String] = []
    /// The line of the manifest on which the resource begins, from 1. 0 if a program made it.
    public var line: Int = 0
    /// The column in that line, in Unicode scalars from 1. 0 if a program made the resource.
    public var column: Int = 0

    /// Creates a resource as a manifest's entry does.
    ///
    /// Throws `MirrorError` with `manifestInvalid`, which names the text that is wrong.
    ///
    /// - Parameters:
    ///   - path: the target, e.g. `Documents/maps/world.pmtiles`.
    ///   - url: the http, https or file URL that mirror asks first.
    ///   - mirrors: other URLs of the same bytes, in the order in which mirror tries them.
    ///   - size: the declared size in bytes.
    ///   - sha256: the declared digest, as 64 hexadecimal digits.
    ///   - refresh: when mirror asks again. `nil` means never with a digest, else on every run.
    ///   - headers: headers of the request, sent as they are: `${NAME}` has no meaning here. mirror
    ///     sends them to the origin of `url` only, also for mirrors at that origin.
    public init(
        _ path: String, from url: String, mirrors: [String] = [], size: Int64? = nil,
        sha256: String? = nil, refresh: Refresh? = nil, headers: [String: String] = [:]
    ) throws(MirrorError) {
        do {
            let fields = try headers.sorted { $0.key < $1.key }.map {
                try HeaderField($0.key, $0.value)
            }
            self.init(target: try Target(path), url: try SourceURL(url), headers: fields)
            self.mirrors = try mirrors.map { text in
                let mirror = try SourceURL(text)
                let isAtOrigin = mirror.origin == primary.url.origin
                return Source(url: mirror, headers: isAtOrigin ? fields : [])
            }
            self.size = size
            digests = try sha256.map { [try Digest(.sha256, declared: $0)] } ?? []
        } catch {
            throw MirrorError(.manifestInvalid, "\(path): \(error).")
        }
        self.refresh = refresh ?? assumedRefresh
    }

    /// Creates a resource with one source, and with defaults for all other values.
    package init(target: Target, url: SourceURL, headers: [HeaderField] = []) {
        self.target = target
        self.primary = Source(url: url, headers: headers)
        self.refresh = .always
    }

    /// A resource whose target and URL the reader of a manifest still has to set.
    static let unnamed = Resource(
        target: Target(unchecked: ""),
        url: SourceURL(URLAuthority(Origin(scheme: .file, host: "", port: 0)), pathAndQuery: "/"))

    /// The refresh that readers assume for a resource whose manifest declares none.
    var assumedRefresh: Refresh { pin != nil ? .never : .always }

    /// All sources in the order in which mirror tries them, the primary one first.
    public var sources: [Source] { [primary] + mirrors }

    /// The strongest declared digest that proves the bytes (sha256 or better).
    /// `nil` if there is none.
    public var pin: Digest? { digests.first.flatMap { $0.algorithm.isStrong ? $0 : nil } }
}

/// A URL that serves a resource's bytes, and the headers that go to its origin.
public struct Source: Sendable, Hashable {
    /// The URL of the bytes.
    public var url: SourceURL
    /// The headers of the request. mirror sends them to the URL's own origin only.
    public var headers: [HeaderField]

    /// Creates a source from a URL and its headers.
    public init(url: SourceURL, headers: [HeaderField] = []) {
        self.url = url
        self.headers = headers
    }
}

/// The method of a request for a resource.
enum RequestMethod: Sendable, Hashable {
    /// A GET without a body.
    case get
    /// A POST with this body. Such a request is never conditional, and never resumed.
    case post(body: Template)
}

/// When mirror asks again for a file that is in the tree.
public enum Refresh: Sendable, Hashable {
    /// On every run.
    case always
    /// Never, once the file is there.
    case never
    /// As the server's Cache-Control and Expires say (RFC 9111 §4.2).
    case http
    /// After this time since the last confirmation. At least a second, and whole seconds count.
    case after(Duration)

    /// Reads `always`, `never`, `http` or a duration with its unit. Returns nil for any other text.
    public init?(_ text: String) {
        switch text {
        case "always": self = .always
        case "never": self = .never
        case "http": self = .http
        default:
            guard let unit = text.utf8.last, !(0x30...0x39).contains(unit),
                let duration = DurationText(text: text), duration.seconds > 0
            else { return nil }
            self = .after(duration.duration)
        }
    }
}

extension Refresh: CustomStringConvertible {
    /// The text as a manifest writes it. A duration is in the largest unit that divides it.
    public var description: String {
        switch self {
        case .always: return "always"
        case .never: return "never"
        case .http: return "http"
        case .after(let time):
            let seconds = time.wholeSeconds
            let units: [(Int64, String)] = [(604_800, "w"), (86400, "d"), (3600, "h"), (60, "m")]
            let unit = units.first { seconds.isMultiple(of: $0.0) } ?? (1, "s")
            return "\(seconds / unit.0)\(unit.1)"
        }
    }
}

/// The resources of lists, in which several entries may describe one file.
///
/// The resources are stored as compactly as in a manifest.
struct JoinedResources {
    private var table = ResourceTable()
    /// Resources that were joined, by their positions. Each replaces the one in `table`.
    private var joined: [Int: Resource] = [:]
    /// The last position of each target, by the target's hash.
    private var positions: [Int: UInt32] = [:]
    /// The sources of each joined resource, by its position.
    private var sources: [Int: Set<Source>] = [:]

    init() {}

    /// The number of resources.
    var count: Int { table.count }

    /// The resource at a position, in the order of the first descriptions.
    subscript(position: Int) -> Resource { joined[position] ?? table[position] }

    /// The resources, in the order of their first descriptions.
    var resources: ResourceTable {
        joined.isEmpty ? table : ResourceTable(table.indices.lazy.map { self[$0] })
    }

    /// Adds a resource, or joins it with an earlier one of the same target and the same bytes.
    ///
    /// Returns false if the resource was joined.
    mutating func add(_ resource: Resource) -> Bool {
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
        // The resource and its sources are taken out, so that a change does not copy them.
        var resource = joined.removeValue(forKey: position) ?? table[position]
        var known = sources.removeValue(forKey: position) ?? Set(resource.sources)
        resource.join(other, &known)
        joined[position] = resource
        sources[position] = known
        return true
    }
}

extension Resource {
    /// Whether another resource describes the same bytes, and does not contradict this one.
    ///
    /// The bytes are the same if both have one primary URL, or the same pin.
    fileprivate func describesSameBytes(as other: Resource) -> Bool {
        let contradicts = other.digests.contains { digest in
            digests.contains { $0.algorithm == digest.algorithm && $0 != digest }
        }
        let isSame = primary.url == other.primary.url || (pin != nil && pin == other.pin)
        return isSame && !contradicts && (size == nil || other.size == nil || size == other.size)
    }

    /// Adds the declarations of another resource about the same bytes.
    ///
    /// Only tags of both resources stay: a file that one entry wants without a tag is wanted
    /// without it.
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
