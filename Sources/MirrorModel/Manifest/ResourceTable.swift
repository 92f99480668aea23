/// The resources of a manifest, kept compactly: about 130 bytes for a pinned one.
///
/// A resource is built on demand. Its target, which is often needed alone, is available without the
/// rest.
public struct ResourceTable: Sendable, RandomAccessCollection {
    private(set) var columns = Columns()

    /// The table's storage, as an object: tables are passed on very often, and a copy then counts
    /// one reference.
    final class Columns: @unchecked Sendable {
        // Changed only through `own`, by the one table that holds them.
        var arena = ByteArena()
        var records = BlockArray<ResourceRecord>()
        var authorities = InternTable<URLAuthority>()
        var traits = InternTable<ResourceTraits>()
        var rarities = BlockArray<ResourceRarity>()

        init() {}

        init(copying other: Columns) {
            arena = other.arena
            records = other.records
            authorities = other.authorities
            traits = other.traits
            rarities = other.rarities
        }
    }

    /// Makes the columns this table's own; called before every change.
    mutating func own() {
        if !isKnownUniquelyReferenced(&columns) { columns = Columns(copying: columns) }
    }

    /// Takes resources in their order.
    public init(_ resources: some Sequence<Resource> = EmptyCollection<Resource>()) {
        for resource in resources { append(resource) }
    }

    /// 0.
    public var startIndex: Int { 0 }
    /// How many resources there are.
    public var endIndex: Int { columns.records.count }

    /// Adds a resource at the end.
    public mutating func append(_ resource: Resource) {
        own()
        let digest = resource.digests.count == 1 ? resource.digests[0] : nil
        var rarity = Rarity(resource)
        var path = resource.target.path
        let url = resource.primary.url
        let authority = columns.authorities.number(of: url.authority)
        let (urlLength, shared) = path.withUTF8 { path in
            url.withPathAndQuery { url in
                let shared = Self.sharedSuffix(path, url)
                return (url.count - shared, shared)
            }
        }
        let fits = urlLength <= Int(UInt16.max) && authority <= Int(UInt16.max)
        if !fits { rarity.keepSources(of: resource) }

        let length = path.utf8.count + (fits ? urlLength : 0) + (digest?.bytes.count ?? 0)
        var record = ResourceRecord(
            position: columns.arena.reserve(length), pathLength: path.utf8.count,
            digest: digest?.algorithm)
        path.withUTF8 { columns.arena.append($0) }
        if fits {
            url.withPathAndQuery {
                columns.arena.append(UnsafeBufferPointer(rebasing: $0.prefix(urlLength)))
            }
            record.urlLength = UInt16(urlLength)
            record.sharedLength = UInt16(shared)
            record.authority = UInt16(authority)
        }
        digest?.bytes.withUnsafeBufferPointer { columns.arena.append($0) }
        record.size = resource.size ?? -1
        record.line = UInt32(clamping: resource.line)
        record.column = UInt32(clamping: resource.column)
        record.traits = UInt32(columns.traits.number(of: ResourceTraits(resource)))
        if let value = rarity.value {
            columns.rarities.append(value)
            record.rarity = UInt32(columns.rarities.count)
        }
        columns.records.append(record)
    }

    /// The resource at a position, in the order of the manifest.
    public subscript(position: Int) -> Resource {
        let record = columns.records[position]
        let traits = columns.traits.values[Int(record.traits)]
        let rarity = record.rarity > 0 ? columns.rarities[Int(record.rarity) - 1] : nil
        var resource: Resource
        if let sources = rarity?.sources, let first = sources.first {
            resource = Resource(
                target: target(at: position), url: first.url, headers: first.headers)
            resource.mirrors = Array(sources.dropFirst())
        } else {
            resource = Resource(
                target: target(at: position), url: url(of: record), headers: traits.headers)
        }
        resource.isNamedByServer = rarity?.isNamedByServer ?? false
        resource.size = record.size < 0 ? nil : record.size
        resource.digests = rarity?.digests ?? []
        if let digest = digest(of: record) { resource.digests = [digest] }
        resource.pieces = rarity?.pieces
        resource.mediaType = traits.mediaType
        resource.refresh = traits.refresh
        resource.method = rarity?.method ?? .get
        resource.priority = traits.priority
        resource.isExecutable = traits.isExecutable
        resource.isOptional = traits.isOptional
        resource.isUrgent = traits.isUrgent
        resource.tags = traits.tags
        resource.line = Int(record.line)
        resource.column = Int(record.column)
        return resource
    }

    /// The target of one resource; the resource itself is not built.
    public func target(at position: Int) -> Target {
        withPath(at: position) { Target(unchecked: String(decoding: $0, as: UTF8.self)) }
    }

    /// Whether the server may name one resource's file; the resource itself is not built.
    public func isNamedByServer(at position: Int) -> Bool {
        let rarity = columns.records[position].rarity
        return rarity > 0 && columns.rarities[Int(rarity) - 1].isNamedByServer
    }

    /// Whether one resource's file is executable; the resource itself is not built.
    func isExecutable(at position: Int) -> Bool {
        columns.traits.values[Int(columns.records[position].traits)].isExecutable
    }

    /// The priority and the first host of one resource; the resource itself is not built.
    package func turn(at position: Int) -> (priority: Int32, host: Host) {
        let record = columns.records[position]
        let sources = record.rarity > 0 ? columns.rarities[Int(record.rarity) - 1].sources : []
        return (
            columns.traits.values[Int(record.traits)].priority,
            sources.first.map { Host($0.url) }
                ?? Host(columns.authorities.values[Int(record.authority)].origin)
        )
    }

    /// Lends the bytes of one resource's path; they are not valid afterwards.
    public func withPath<Result>(
        at position: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        let record = columns.records[position]
        return columns.arena.withBytes(at: record.position, count: record.pathLength, body)
    }

    /// The line and column where one resource begins; zeros when it was made in code.
    public func place(at position: Int) -> (line: Int, column: Int) {
        (Int(columns.records[position].line), Int(columns.records[position].column))
    }

    /// Whether one resource may have `${NAME}` in a header or body; false is certain.
    public func mayHaveVariables(at position: Int) -> Bool {
        let record = columns.records[position]
        return record.rarity > 0
            || columns.traits.values[Int(record.traits)].headers.contains { !$0.value.isLiteral }
    }

    /// Whether one resource may declare a digest; false is certain.
    package func mayHaveDigest(at position: Int) -> Bool {
        columns.records[position].digest != nil || columns.records[position].rarity > 0
    }

    /// The bytes that the table takes up, apart from what only few resources have.
    var footprint: Int { columns.arena.footprint + columns.records.footprint }
}

extension ResourceTable {
    func url(of record: ResourceRecord) -> SourceURL {
        let start = record.pathLength - Int(record.sharedLength)
        let length = Int(record.urlLength)
        let authority = columns.authorities.values[Int(record.authority)]
        let site = authority.site.utf8
        let text = columns.arena.withBytes(
            at: record.position, count: record.pathLength + length
        ) { bytes in
            let count = site.count + length + Int(record.sharedLength)
            return String(unsafeUninitializedCapacity: count) { text in
                var end = text.update(fromContentsOf: site)
                end = text[end...].update(fromContentsOf: bytes[record.pathLength...])
                end = text[end...].update(fromContentsOf: bytes[start..<record.pathLength])
                return end
            }
        }
        return SourceURL(authority, requestText: text)
    }

    /// The hash of the request of a resource without rarities, from its bytes alone; nil for others.
    func plainRequestHash(at position: Int) -> Int? {
        let record = columns.records[position]
        guard record.rarity == 0 else { return nil }
        let start = record.pathLength - Int(record.sharedLength)
        let urlEnd = record.pathLength + Int(record.urlLength)
        return columns.arena.withBytes(at: record.position, count: urlEnd) { bytes in
            RequestHash.value(
                .get, columns.authorities.values[Int(record.authority)],
                bytes[record.pathLength...], bytes[start..<record.pathLength])
        }
    }

    /// A hash of the request to a resource's first source: equal for equal requests.
    package func requestHash(at position: Int) -> Int {
        if let hash = plainRequestHash(at: position) { return hash }
        let resource = self[position]
        return requestHash(resource.method, resource.primary.url)
    }

    func requestHash(_ method: RequestMethod, _ url: SourceURL) -> Int {
        url.withPathAndQuery {
            RequestHash.value(method, url.authority, $0[...], $0[$0.endIndex...])
        }
    }

    func digest(of record: ResourceRecord) -> Digest? {
        guard let algorithm = record.digest else { return nil }
        return columns.arena.withBytes(
            at: record.position, offset: record.pathLength + Int(record.urlLength),
            count: algorithm.byteCount
        ) { Digest(algorithm, bytes: Array($0)) }
    }

    /// How many bytes at the end of a path are also the end of a URL; a question mark ends it.
    private static func sharedSuffix(
        _ path: UnsafeBufferPointer<UInt8>, _ url: UnsafeBufferPointer<UInt8>
    ) -> Int {
        var count = 0
        while count < Swift.min(path.count, url.count),
            path[path.count - 1 - count] == url[url.count - 1 - count]
        {
            count += 1
        }
        return count
    }

    /// Collects the values that few resources have; nil for all others.
    private struct Rarity {
        var value: ResourceRarity?

        init(_ resource: Resource) {
            var rarity = ResourceRarity()
            var isRare = false
            if resource.isNamedByServer {
                rarity.isNamedByServer = true
                isRare = true
            }
            if !resource.mirrors.isEmpty {
                rarity.sources = resource.sources
                isRare = true
            }
            if resource.digests.count > 1 {
                rarity.digests = resource.digests
                isRare = true
            }
            if let pieces = resource.pieces {
                rarity.pieces = pieces
                isRare = true
            }
            if resource.method != .get {
                rarity.method = resource.method
                isRare = true
            }
            value = isRare ? rarity : nil
        }

        mutating func keepSources(of resource: Resource) {
            var rarity = value ?? ResourceRarity()
            rarity.sources = resource.sources
            value = rarity
        }
    }
}

extension ResourceTable: Equatable {
    /// Whether the resources are equal, one by one.
    public static func == (left: ResourceTable, right: ResourceTable) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy { $0 == $1 }
    }
}
