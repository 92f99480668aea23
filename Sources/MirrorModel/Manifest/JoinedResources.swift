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
