/// Where a table keeps its resources: it takes them apart, and puts them together again.
///
/// The columns are an object: tables are passed on very often, and a copy then counts one reference.
/// The values of a plain resource lie in the arena, one after the other; those that many or few
/// resources have are kept apart.
final class ResourceColumns: @unchecked Sendable {
    // Sendable, because nothing changes while two tables hold it: `ResourceTable.own` makes a copy
    // before each change, unless the one table that changes holds it alone.
    private(set) var arena = ByteArena()
    private(set) var records = BlockArray<ResourceRecord>()
    private(set) var authorities = InternTable<URLAuthority>()
    private(set) var traits = InternTable<ResourceTraits>()
    private(set) var rarities = BlockArray<ResourceRarity>()
    /// The order of the paths, once it is remembered.
    var order: PathOrder?
    /// Whether a reader has held the resources against every rule.
    var isValid = false

    init() {}

    init(copying other: ResourceColumns) {
        arena = other.arena
        records = other.records
        authorities = other.authorities
        traits = other.traits
        rarities = other.rarities
    }

    /// Lends bytes of the arena, and counts no reference for that.
    @inline(__always)
    func withBytes<Result>(
        at position: ByteArena.Position, offset: Int = 0, count: Int,
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        let result = body(arena.bytes(at: position, offset: offset, count: count))
        withExtendedLifetime(self) {}
        return result
    }

    /// Adds a resource at the end.
    func append(_ resource: Resource) {
        let digest = resource.digests.count == 1 ? resource.digests[0] : nil
        var rarity = ResourceRarity(resource)
        var path = resource.target.path
        let url = resource.primary.url
        let authority = authorities.number(of: url.authority)
        let (urlLength, shared) = path.withUTF8 { path in
            url.withPathAndQuery { url in
                let shared = ByteOrder.commonSuffix(path, url)
                return (url.count - shared, shared)
            }
        }
        let fits = urlLength <= Int(UInt16.max) && authority <= Int(UInt16.max)
        if !fits {
            rarity = rarity ?? ResourceRarity()
            rarity?.sources = resource.sources
        }

        let length = path.utf8.count + (fits ? urlLength : 0) + (digest?.bytes.count ?? 0)
        var record = ResourceRecord(
            position: arena.reserve(length), pathLength: path.utf8.count,
            digest: digest?.algorithm)
        path.withUTF8 { arena.append($0) }
        if fits {
            url.withPathAndQuery {
                arena.append(UnsafeBufferPointer(rebasing: $0.prefix(urlLength)))
            }
            record.urlLength = UInt16(urlLength)
            record.sharedLength = UInt16(shared)
            record.authority = UInt16(authority)
        }
        digest?.bytes.withUnsafeBufferPointer { arena.append($0) }
        record.size = resource.size
        record.line = UInt32(clamping: resource.line)
        record.column = UInt32(clamping: resource.column)
        record.traits = UInt32(traits.number(of: ResourceTraits(resource)))
        if let rarity {
            rarities.append(rarity)
            record.rarity = UInt32(rarities.count)
        }
        records.append(record)
    }

    /// The resource at a position.
    func resource(at position: Int) -> Resource {
        let record = records[position]
        let traits = traits.values[Int(record.traits)]
        let rarity = record.rarity > 0 ? rarities[Int(record.rarity) - 1] : nil
        var resource: Resource
        if let sources = rarity?.sources, let first = sources.first {
            resource = Resource(
                target: target(of: record), url: first.url, headers: first.headers)
            resource.mirrors = Array(sources.dropFirst())
        } else {
            resource = Resource(
                target: target(of: record), url: url(of: record), headers: traits.headers)
        }
        resource.isNamedByServer = rarity?.isNamedByServer ?? false
        resource.size = record.size
        resource.likelySize = rarity?.likelySize
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

    func target(of record: ResourceRecord) -> Target {
        withBytes(at: record.position, count: record.pathLength) {
            Target(unchecked: String(decoding: $0, as: UTF8.self))
        }
    }

    func url(of record: ResourceRecord) -> SourceURL {
        let start = record.pathLength - Int(record.sharedLength)
        let length = Int(record.urlLength)
        let authority = authorities.values[Int(record.authority)]
        let site = authority.site.utf8
        let text = withBytes(
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

    func digest(of record: ResourceRecord) -> Digest? {
        guard let algorithm = record.digest else { return nil }
        return withBytes(
            at: record.position, offset: record.pathLength + Int(record.urlLength),
            count: algorithm.byteCount
        ) { Digest(algorithm, bytes: Array($0)) }
    }
}

// MARK: Plain resources

extension ResourceColumns {
    /// Enters the values that the plain resources of a manifest will share.
    func plainResources(
        beneath base: SourceURL, pinned: Resource, unpinned: Resource
    ) -> PlainResources {
        let path = Array(base.path.utf8)
        let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? -1
        return PlainResources(
            authority: authorities.number(of: base.authority),
            folder: Array(path[...slash]),
            pinnedTraits: traits.number(of: ResourceTraits(pinned)),
            unpinnedTraits: traits.number(of: ResourceTraits(unpinned)))
    }

    /// Adds a plain resource whose path and URL are plain; false, without any change, when its other
    /// bytes need closer inspection.
    func append(_ plain: PlainResource, of common: PlainResources) -> Bool {
        var digest: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        if let hex = plain.sha256 {
            let isSound = withUnsafeMutableBytes(of: &digest) { PlainBytes.decode(hex, into: $0) }
            guard isSound else { return false }
        }
        // The longest common end of the path and the URL's path, which is the base's folder
        // followed by the reference.
        var shared = ByteOrder.commonSuffix(plain.path, plain.reference)
        var rest = plain.reference.count - shared
        var kept = common.folder.count
        if rest == 0 {
            let path = UnsafeBufferPointer(rebasing: plain.path.dropLast(shared))
            let more = common.folder.withUnsafeBufferPointer { ByteOrder.commonSuffix(path, $0) }
            shared += more
            kept -= more
        }
        rest += kept
        guard rest <= Int(UInt16.max) else { return false }
        let isPinned = plain.sha256 != nil
        var record = ResourceRecord(
            position: arena.reserve(plain.path.count + rest + (isPinned ? 32 : 0)),
            pathLength: plain.path.count, digest: isPinned ? .sha256 : nil)
        arena.append(plain.path)
        common.folder.withUnsafeBufferPointer { folder in
            arena.append(UnsafeBufferPointer(rebasing: folder.prefix(kept)))
        }
        if rest > kept {
            arena.append(UnsafeBufferPointer(rebasing: plain.reference.prefix(rest - kept)))
        }
        if isPinned {
            withUnsafeBytes(of: &digest) { arena.append($0.bindMemory(to: UInt8.self)) }
        }
        record.urlLength = UInt16(rest)
        record.sharedLength = UInt16(shared)
        record.authority = UInt16(common.authority)
        record.size = plain.size
        record.line = UInt32(clamping: plain.line)
        record.column = UInt32(clamping: plain.column)
        record.traits = UInt32(isPinned ? common.pinnedTraits : common.unpinnedTraits)
        records.append(record)
        return true
    }
}
