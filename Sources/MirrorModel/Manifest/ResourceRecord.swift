/// One resource as the table keeps it: 40 bytes, and its path, URL and digest in the arena.
///
/// A table may hold a million records. Values that most resources share (origin, headers, tags) and
/// values that few have (mirrors, pieces, a body) are kept elsewhere and referred to by number.
struct ResourceRecord: Sendable {
    /// Where path, URL and digest begin, one after the other.
    var position: ByteArena.Position
    /// The declared size; -1 when none is declared.
    var size: Int64
    var line: UInt32
    var column: UInt32
    /// The number of its traits.
    var traits: UInt32
    /// The number of its rarities, from 1; 0 when it has none.
    var rarity: UInt32
    /// The path's length in the lower 12 bits, the digest's kind in the upper 4.
    private var lengthAndKind: UInt16
    /// The length in bytes of the URL's path and query that the arena holds.
    var urlLength: UInt16
    /// The length of the URL's end that is also the path's end, and is not stored again.
    var sharedLength: UInt16
    /// The number of the URL's authority.
    var authority: UInt16

    init(position: ByteArena.Position, pathLength: Int, digest: DigestAlgorithm?) {
        self.position = position
        let kind = digest.flatMap { DigestAlgorithm.allCases.firstIndex(of: $0) }.map { $0 + 1 }
        lengthAndKind = UInt16(pathLength) | UInt16(kind ?? 0) << 12
        size = -1
        (line, column, traits, rarity) = (0, 0, 0, 0)
        (urlLength, sharedLength, authority) = (0, 0, 0)
    }

    var pathLength: Int { Int(lengthAndKind & 0xFFF) }

    /// The algorithm of the digest in the arena; nil when there is none.
    var digest: DigestAlgorithm? {
        let kind = Int(lengthAndKind >> 12)
        return kind == 0 ? nil : DigestAlgorithm.allCases[kind - 1]
    }
}

/// The values that most resources of one manifest share.
struct ResourceTraits: Sendable, Hashable {
    var headers: [HeaderField]
    var refresh: Refresh
    var mediaType: MediaRange?
    var priority: Int32
    var isExecutable: Bool
    var isOptional: Bool
    var isUrgent: Bool
    var tags: [String]

    init(_ resource: Resource) {
        headers = resource.primary.headers
        refresh = resource.refresh
        mediaType = resource.mediaType
        priority = resource.priority
        isExecutable = resource.isExecutable
        isOptional = resource.isOptional
        isUrgent = resource.isUrgent
        tags = resource.tags
    }
}

/// The values that few resources have.
struct ResourceRarity: Sendable {
    var isNamedByServer = false
    /// Every source, where there is more than one or the record has no room for the URL.
    var sources: [Source] = []
    /// Every digest, where there is not exactly one.
    var digests: [Digest] = []
    var pieces: Pieces?
    var method = RequestMethod.get
}

/// Scheme, user, host and port, shared by URLs that differ in path and query only.
struct URLAuthority: Sendable, Hashable {
    var scheme: URLScheme
    var userInfo: String?
    var host: String
    var port: UInt16
    /// Everything but the user, as text.
    let site: String

    init(_ url: SourceURL) {
        (scheme, userInfo, host, port) = (url.scheme, url.userInfo, url.host, url.port)
        site = url.site
    }

    /// The origin, without the user.
    var origin: Origin { Origin(scheme: scheme, host: host, port: port) }

    /// Makes a URL of this authority from its path and, after a question mark, its query.
    func url(_ rest: String) -> SourceURL {
        let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?"))
        return SourceURL(
            scheme: scheme, userInfo: userInfo, host: host, port: port,
            path: mark.map { String(rest[..<$0]) } ?? rest,
            query: mark.map { String(rest[rest.utf8.index(after: $0)...]) }, site: site)
    }
}

/// Equal values, kept once and referred to by number.
struct InternTable<Value: Hashable & Sendable>: Sendable {
    private(set) var values: [Value] = []
    private var numbers: [Value: Int] = [:]
    private var last: (value: Value, number: Int)?

    mutating func number(of value: Value) -> Int {
        // Neighbours are mostly alike, and comparing shared storage is faster than hashing it.
        if let last, last.value == value { return last.number }
        let number = numbers[value] ?? values.count
        if number == values.count {
            values.append(value)
            numbers[value] = number
        }
        last = (value, number)
        return number
    }
}
