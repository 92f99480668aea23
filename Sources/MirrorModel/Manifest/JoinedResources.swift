/// Resources of lists, in which one file may be described several times.
package struct JoinedResources {
    /// The resources, in the order of their first descriptions.
    package private(set) var resources: [Resource] = []
    private var positions: [Target: Int] = [:]
    /// The sources of the resources that have been joined.
    private var sources: [Int: Set<Source>] = [:]

    package init() {}

    /// Adds a resource, or joins it with an earlier one of its target if they do not contradict each
    /// other; false if it was joined.
    package mutating func add(_ resource: Resource) -> Bool {
        if let position = positions[resource.target], join(resource, at: position) { return false }
        positions[resource.target] = resources.count
        resources.append(resource)
        return true
    }

    private mutating func join(_ other: Resource, at position: Int) -> Bool {
        guard resources[position].describesSameBytes(as: other) else { return false }
        var known = sources.removeValue(forKey: position) ?? Set(resources[position].sources)
        resources[position].join(other, &known)
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
