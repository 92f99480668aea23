/// The resources of a manifest, stored compactly: a pinned one takes about 130 bytes.
///
/// The table builds a `Resource` on demand. Values that are often needed alone, such as its target,
/// are available without the rest.
public struct ResourceTable: Sendable, RandomAccessCollection {
    private var columns = ResourceColumns()

    /// Creates a table of resources, in their order.
    public init(_ resources: some Sequence<Resource> = EmptyCollection<Resource>()) {
        for resource in resources { append(resource) }
    }

    /// Always 0.
    public var startIndex: Int { 0 }
    /// The number of resources.
    public var endIndex: Int { columns.records.count }

    /// The resource at a position, in the order of the manifest.
    public subscript(position: Int) -> Resource { columns.resource(at: position) }

    /// Adds a resource at the end.
    public mutating func append(_ resource: consuming Resource) {
        own()
        columns.append(resource)
    }

    /// Copies the columns if another table shares them, and forgets their order and validity.
    ///
    /// Every change calls `own` first.
    private mutating func own() {
        if !isKnownUniquelyReferenced(&columns) { columns = ResourceColumns(copying: columns) }
        columns.order = nil
        columns.isValid = false
    }

    /// Whether a reader has checked the resources against every rule, and none was added since.
    var isValid: Bool { columns.isValid }

    /// Notes that a reader has checked the resources against every rule.
    mutating func noteValid() {
        let order = columns.order
        own()
        (columns.order, columns.isValid) = (order, true)
    }

    /// The positions, sorted by the bytes of the paths.
    /// The index and a tree are read in this order.
    ///
    /// Equal paths stay in the order of the manifest. Each call sorts again, unless `rememberOrder`
    /// was called since the last change.
    var sortedOrder: PathOrder { columns.order ?? PathOrder(of: self) }

    /// Sorts the paths once for all calls of `sortedOrder`, until the table changes.
    mutating func rememberOrder() {
        let order = PathOrder(of: self)
        own()
        columns.order = order
    }

    /// The memory of the table in bytes, without values that only few resources have.
    var footprint: Int { columns.arena.footprint + columns.records.footprint }
}

extension ResourceTable: Equatable {
    /// Whether the resources are equal, one by one.
    public static func == (left: ResourceTable, right: ResourceTable) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy { $0 == $1 }
    }
}

// MARK: Single values, for which no resource is built

extension ResourceTable {
    /// The target of one resource.
    public func target(at position: Int) -> Target {
        columns.target(of: columns.records[position])
    }

    /// Passes the bytes of one resource's path to the body. They are valid only during the call.
    public func withPath<Result>(
        at position: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        let record = columns.records[position]
        return columns.withBytes(at: record.position, count: record.pathLength, body)
    }

    /// Compares one resource's path with another path, by bytes: negative, zero or positive.
    func comparePath(at position: Int, with path: UnsafeBufferPointer<UInt8>) -> Int {
        withPath(at: position) { ByteOrder.compare($0, path) }
    }

    /// Compares the paths of two resources by bytes: negative, zero or positive.
    func compare(_ first: Int, _ second: Int) -> Int {
        withPath(at: second) { comparePath(at: first, with: $0) }
    }

    /// The line and column at which one resource begins. Both are 0 if a program made the resource.
    public func place(at position: Int) -> (line: Int, column: Int) {
        (Int(columns.records[position].line), Int(columns.records[position].column))
    }

    /// The declared size of one resource in bytes. `nil` means that none is declared.
    func size(at position: Int) -> Int64? { columns.records[position].size }

    /// The declared size of one resource, or else the size that a directory listing gives, in
    /// bytes.
    func expectedSize(at position: Int) -> Int64? {
        let record = columns.records[position]
        return record.size ?? record.likelySize
    }

    /// The digest of a resource that declares exactly one. `nil` for any other resource.
    func onlyDigest(at position: Int) -> Digest? { columns.digest(of: columns.records[position]) }

    /// Whether one resource declares a digest.
    func hasDigest(at position: Int) -> Bool {
        columns.records[position].digest != nil || !kind(at: position).digests.isEmpty
    }

    /// The tags of one resource.
    func tags(at position: Int) -> [String] { kind(at: position).tags }

    /// Whether the server may name one resource's file.
    public func isNamedByServer(at position: Int) -> Bool { kind(at: position).isNamedByServer }

    /// Whether one resource's file is executable.
    func isExecutable(at position: Int) -> Bool { kind(at: position).isExecutable }

    /// Whether one resource has no mirrors.
    func hasOneSource(at position: Int) -> Bool { kind(at: position).mirrors.isEmpty }

    /// The priority of one resource, and the host of its first source.
    func turn(at position: Int) -> (priority: Int32, host: Host) {
        let kind = kind(at: position)
        return (kind.priority, Host(kind.primary.url))
    }

    /// Whether the request of one resource is a POST.
    func isPost(at position: Int) -> Bool { kind(at: position).method != .get }

    /// Whether one resource has `${NAME}` in a header or body.
    func hasVariables(at position: Int) -> Bool {
        let hasVariables = { (fields: [HeaderField]) in fields.contains { !$0.value.isLiteral } }
        return kind(at: position).method != .get
            || hasVariables(kind(at: position).primary.headers)
            || kind(at: position).mirrors.contains { hasVariables($0.headers) }
    }

    /// Whether a recorded version is all that one resource asks for.
    ///
    /// The resource must declare this size, this sha256 and no other digest, and must be executable
    /// or not as recorded. A resource whose file the server names is never satisfied.
    func isSatisfied(
        at position: Int, bySize size: Int64, sha256: UnsafeRawBufferPointer, isExecutable: Bool
    ) -> Bool {
        let record = columns.records[position]
        guard record.digest == .sha256, record.size == size,
            kind(at: position).isExecutable == isExecutable, !isNamedByServer(at: position)
        else { return false }
        return columns.withBytes(
            at: record.position, offset: record.pathLength + Int(record.urlLength), count: 32
        ) { known in
            // Compares eight bytes at a time, because a plan may ask this a million times.
            let known = UnsafeRawBufferPointer(known)
            return sha256.count == 32
                && stride(from: 0, to: 32, by: 8).allSatisfy { at in
                    sha256.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                        == known.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                }
        }
    }

    /// A hash of the request to a resource's first source: equal for equal requests.
    func requestHash(at position: Int) -> Int {
        let record = columns.records[position]
        let start = record.pathLength - Int(record.sharedLength)
        let urlEnd = record.pathLength + Int(record.urlLength)
        let (method, url) = (kind(at: position).method, kind(at: position).primary.url)
        return columns.withBytes(at: record.position, count: urlEnd) { bytes in
            ResourceTable.hash(
                method, url.authority.serverHash, bytes[record.pathLength...],
                bytes[start..<record.pathLength])
        }
    }

    /// A hash of the request to any source: equal for equal requests.
    static func requestHash(_ method: RequestMethod, _ url: SourceURL) -> Int {
        url.withPathAndQuery {
            ResourceTable.hash(method, url.authority.serverHash, $0[...], $0[$0.endIndex...])
        }
    }

    /// Hashes a method, the hash of an authority, and a path with its query.
    ///
    /// `first` and `second` are halves of path and query, split anywhere.
    private static func hash(
        _ method: RequestMethod, _ serverHash: Int,
        _ first: Slice<UnsafeBufferPointer<UInt8>>,
        _ second: Slice<UnsafeBufferPointer<UInt8>>
    ) -> Int {
        var hasher = Hasher()
        hasher.combine(method)
        hasher.combine(serverHash)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: first.count + second.count) {
            text in
            let end = text[...].update(fromContentsOf: first)
            _ = text[end...].update(fromContentsOf: second)
            hasher.combine(bytes: UnsafeRawBufferPointer(text))
        }
        return hasher.finalize()
    }

    private func kind(at position: Int) -> Resource {
        columns.kinds.values[Int(columns.records[position].kind)]
    }
}

/// The storage of a table: splits each resource into columns, and builds the resource again.
///
/// The columns are an object, because tables are copied very often. A copy then counts one
/// reference. Path, URL and a single digest lie in the arena, one after the other. All other values
/// of a resource are its kind. Most resources of a manifest share one kind.
private final class ResourceColumns: @unchecked Sendable {
    // Sendable, because the columns do not change while two tables hold them.
    // `ResourceTable.own` makes a copy before each change, unless one table holds the columns
    // alone.
    private(set) var arena = ByteArena()
    private(set) var records = BlockArray<ResourceRecord>()
    /// The kinds: resources without the values that their records and the arena hold.
    private(set) var kinds = InternTable<Resource>()
    /// A URL with the last resource's authority and no path. Kinds have it in place of their URL.
    private var site: SourceURL?
    /// The order of the paths. `nil` until `rememberOrder` is called.
    var order: PathOrder?
    /// Whether a reader has checked the resources against every rule.
    var isValid = false

    init() {}

    init(copying other: ResourceColumns) {
        arena = other.arena
        records = other.records
        kinds = other.kinds
    }

    /// Passes bytes of the arena to the body, without counting a reference.
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
    func append(_ resource: consuming Resource) {
        var path = resource.target.path
        let url = resource.primary.url
        let digest = resource.digests.count == 1 ? resource.digests[0] : nil
        let (urlLength, shared) = path.withUTF8 { path in
            url.withPathAndQuery { url in
                let shared = ByteOrder.commonSuffix(path, url)
                return (url.count - shared, shared)
            }
        }
        var record = ResourceRecord(
            position: arena.reserve(path.utf8.count + urlLength + (digest?.bytes.count ?? 0)),
            pathLength: path.utf8.count, digest: digest?.algorithm)
        path.withUTF8 { arena.append($0) }
        url.withPathAndQuery { arena.append(UnsafeBufferPointer(rebasing: $0.prefix(urlLength))) }
        digest?.bytes.withUnsafeBufferPointer { arena.append($0) }
        record.urlLength = UInt32(urlLength)
        record.sharedLength = UInt16(shared)
        record.set(size: resource.size, likelySize: resource.likelySize)
        record.line = UInt32(clamping: resource.line)
        record.column = UInt32(clamping: resource.column)

        // The values that are left make up the kind.
        resource.target = Target(unchecked: "")
        resource.primary.url = site(of: url)
        if digest != nil { resource.digests = [] }
        if resource.size == nil { resource.likelySize = nil }
        (resource.size, resource.line, resource.column) = (nil, 0, 0)
        record.kind = UInt32(kinds.number(of: resource))
        records.append(record)
    }

    private func site(of url: SourceURL) -> SourceURL {
        if let site, site.authority == url.authority { return site }
        let site = SourceURL(url.authority, pathAndQuery: "")
        self.site = site
        return site
    }

    /// The resource at a position.
    func resource(at position: Int) -> Resource {
        let record = records[position]
        var resource = kinds.values[Int(record.kind)]
        resource.target = target(of: record)
        resource.primary.url = url(of: record)
        resource.size = record.size
        if record.size == nil { resource.likelySize = record.likelySize }
        if let digest = digest(of: record) { resource.digests = [digest] }
        resource.line = Int(record.line)
        resource.column = Int(record.column)
        return resource
    }

    func target(of record: ResourceRecord) -> Target {
        withBytes(at: record.position, count: record.pathLength) {
            Target(unchecked: String(decoding: $0, as: UTF8.self))
        }
    }

    private func url(of record: ResourceRecord) -> SourceURL {
        let start = record.pathLength - Int(record.sharedLength)
        let length = Int(record.urlLength)
        let authority = kinds.values[Int(record.kind)].primary.url.authority
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

/// One resource in 40 bytes. Its path, URL and digest are in the arena.
private struct ResourceRecord: Sendable {
    /// Where the resource begins in the arena: path, URL and digest, one after the other.
    var position: ByteArena.Position
    /// The declared or the likely size in bytes. `Int64.min` means that no size is known.
    private var sizeOrLeast = Int64.min
    var line: UInt32 = 0
    var column: UInt32 = 0
    /// The number of the resource's kind.
    var kind: UInt32 = 0
    /// The length in bytes of the URL's path and query, as far as the arena holds them.
    var urlLength: UInt32 = 0
    /// The length in bytes of the end that URL and path share. The arena holds it only in the path.
    var sharedLength: UInt16 = 0
    /// The length of the path in bits 0 to 11, and the digest's algorithm in bits 12 to 14.
    ///
    /// Bit 15 is set if the size is only likely.
    private var lengthAndFlags: UInt16

    init(position: ByteArena.Position, pathLength: Int, digest: DigestAlgorithm?) {
        self.position = position
        let number = digest.flatMap { DigestAlgorithm.allCases.firstIndex(of: $0) }.map { $0 + 1 }
        lengthAndFlags = UInt16(pathLength) | UInt16(number ?? 0) << 12
    }

    /// Stores the declared size, or else the likely one.
    ///
    /// A negative size is stored too, so that validation can refuse it.
    mutating func set(size: Int64?, likelySize: Int64?) {
        guard let known = size ?? likelySize else { return }
        sizeOrLeast = max(known, .min + 1)
        if size == nil { lengthAndFlags |= 0x8000 }
    }

    private var isOnlyLikely: Bool { lengthAndFlags & 0x8000 != 0 }
    private var knownSize: Int64? { sizeOrLeast == .min ? nil : sizeOrLeast }

    /// The declared size.
    var size: Int64? { isOnlyLikely ? nil : knownSize }
    /// The likely size. `nil` if the size is declared or unknown.
    var likelySize: Int64? { isOnlyLikely ? knownSize : nil }

    var pathLength: Int { Int(lengthAndFlags & 0xFFF) }

    /// The algorithm of the digest in the arena. `nil` means that the arena has none.
    var digest: DigestAlgorithm? {
        let number = Int(lengthAndFlags >> 12 & 7)
        return number == 0 ? nil : DigestAlgorithm.allCases[number - 1]
    }
}

/// Stores values and numbers them. Equal values are mostly stored once.
struct InternTable<Value: Hashable & Sendable>: Sendable {
    private(set) var values: [Value] = []
    private var numbers: [Value: Int] = [:]
    private var last = -1
    /// How many values the dictionary holds.
    ///
    /// If all values differ, a dictionary of all would take more memory than it saves.
    private static var most: Int { 1 << 13 }

    mutating func number(of value: Value) -> Int {
        // Neighbours are mostly alike, and comparing shared storage is faster than hashing it. The
        // pointer spares a copy of the value.
        if last >= 0, values.withUnsafeBufferPointer({ $0[last] == value }) { return last }
        if let number = numbers[value] {
            last = number
            return number
        }
        last = values.count
        values.append(value)
        if last < Self.most { numbers[value] = last }
        return last
    }
}
