extension Manifest {
    /// The manifest without its declarations about bytes: every file is asked for, and any version
    /// is right.
    ///
    /// So a run fetches the present versions, whatever was pinned before.
    public var withoutPins: Manifest {
        var copy = self
        copy.resources = ResourceTable(
            resources.lazy.map { resource in
                var resource = resource
                resource.digests = []
                resource.size = nil
                resource.pieces = nil
                resource.refresh = .always
                return resource
            })
        return copy
    }
}
