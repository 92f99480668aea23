/// The resources of a manifest, kept compactly: about 130 bytes for a pinned one.
///
/// A resource is built on demand. Its target, which is often needed alone, is available without the
/// rest.
public struct ResourceTable: Sendable, RandomAccessCollection {
    private(set) var columns = ResourceColumns()

    /// Makes the columns this table's own, and forgets what held for them; called before every change.
    mutating func own() {
        if !isKnownUniquelyReferenced(&columns) { columns = ResourceColumns(copying: columns) }
        columns.order = nil
        columns.isValid = false
    }

    /// Whether a reader has held the resources against every rule, and none was added since.
    var isValid: Bool { columns.isValid }

    /// Notes that the resources were held against every rule.
    package func noteValid() { columns.isValid = true }

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
        columns.append(resource)
    }

    /// The resource at a position, in the order of the manifest.
    public subscript(position: Int) -> Resource { columns.resource(at: position) }

    /// The target of one resource; the resource itself is not built.
    public func target(at position: Int) -> Target {
        columns.target(of: columns.records[position])
    }

    /// Whether the server may name one resource's file; the resource itself is not built.
    public func isNamedByServer(at position: Int) -> Bool {
        let rarity = columns.records[position].rarity
        return rarity > 0 && columns.rarities[Int(rarity) - 1].isNamedByServer
    }

    /// The size of one resource that is declared, or else the one that a directory listing gives; the
    /// resource itself is not built.
    func expectedSize(at position: Int) -> Int64? {
        if let size = size(at: position) { return size }
        let rarity = columns.records[position].rarity
        return rarity > 0 ? columns.rarities[Int(rarity) - 1].likelySize : nil
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
        return columns.withBytes(at: record.position, count: record.pathLength, body)
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

// MARK: Requests

extension ResourceTable {
    /// The hash of the request of a resource without rarities, from its bytes alone; nil for others.
    func plainRequestHash(at position: Int) -> Int? {
        let record = columns.records[position]
        guard record.rarity == 0 else { return nil }
        let start = record.pathLength - Int(record.sharedLength)
        let urlEnd = record.pathLength + Int(record.urlLength)
        let serverHash = columns.authorities.values[Int(record.authority)].serverHash
        return columns.withBytes(at: record.position, count: urlEnd) { bytes in
            RequestHash.value(
                .get, serverHash, bytes[record.pathLength...], bytes[start..<record.pathLength])
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
            RequestHash.value(method, url.authority.serverHash, $0[...], $0[$0.endIndex...])
        }
    }
}

extension ResourceTable: Equatable {
    /// Whether the resources are equal, one by one.
    public static func == (left: ResourceTable, right: ResourceTable) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy { $0 == $1 }
    }
}

// MARK: Plain resources

extension ResourceTable {
    /// Prepares the values that the plain resources of a manifest will share.
    ///
    /// `pinned` and `unpinned` are samples: they carry the traits of resources with a pin and of
    /// those without.
    package mutating func plainResources(
        beneath base: SourceURL, pinned: Resource, unpinned: Resource
    ) -> PlainResources {
        own()
        return columns.plainResources(beneath: base, pinned: pinned, unpinned: unpinned)
    }

    /// Adds a plain resource at the end.
    ///
    /// Returns false, and adds nothing, when any of its bytes needs closer inspection.
    package mutating func append(_ plain: PlainResource, of common: PlainResources) -> Bool {
        guard PlainBytes.isTarget(plain.path), PlainBytes.isReference(plain.reference),
            common.authority <= Int(UInt16.max)
        else { return false }
        own()
        return columns.append(plain, of: common)
    }
}
