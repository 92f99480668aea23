/// What should be in the tree: a name that owns the targets, and the resources.
public struct Manifest: Sendable {
    /// Who owns the targets in the index; nil when the manifest does not say, and then it makes no
    /// orphans.
    public var name: String?
    /// What stands for the name where one is needed: the declared name, else the file's stem.
    public var owner: String
    /// The wanted files.
    public var resources: ResourceTable

    /// A manifest made in code.
    public init(name: String, resources: [Resource]) {
        self.name = name
        self.owner = name
        self.resources = ResourceTable(resources)
    }
}

/// The resources of a manifest, kept compactly.
public struct ResourceTable: Sendable, RandomAccessCollection {
    private var entries: [Resource] = []

    /// Takes resources in their order.
    public init(_ resources: [Resource] = []) { entries = resources }

    /// 0.
    public var startIndex: Int { 0 }
    /// How many resources there are.
    public var endIndex: Int { entries.count }
    /// The resource at a position, in the order of the manifest.
    public subscript(position: Int) -> Resource { entries[position] }

    /// Adds a resource at the end.
    public mutating func append(_ resource: Resource) { entries.append(resource) }

    /// The target of one resource, without making the rest of it.
    public func target(at position: Int) -> Target { entries[position].target }
}
