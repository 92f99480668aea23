/// What should be in the tree: a name that owns the targets, and the resources.
public struct Manifest: Sendable {
    /// The name that owns the targets in the index; nil if the manifest has none, and then it makes
    /// no orphans.
    public var name: String?
    /// The declared name, else its substitute: the stem of the file's name.
    public var owner: String
    /// The wanted files.
    public var resources: ResourceTable
    /// Whether all of its resources are promoted together, or none.
    public var isAtomic = false
    /// The entries of the list that it was made of which were not taken; empty for a manifest.
    public var leftOut: [LeftOutEntry] = []
    /// Where it came from.
    public var whereabouts = Whereabouts.code
    /// The manifest's place in messages: a path as it was given, or a URL; nil for a manifest that a
    /// program made.
    public var label: String?

    /// Where a manifest can come from.
    public enum Whereabouts: Sendable, Hashable {
        /// Made by a program.
        case code
        /// A file, by its absolute path.
        case file(path: String)
        /// Standard input.
        case standardInput
        /// A URL, its query hashed.
        case url(SourceKey)
    }

    /// Takes what a manifest says, as its decoder found it.
    public init(name: String?, owner: String, resources: ResourceTable) {
        self.name = name
        self.owner = owner
        self.resources = resources
    }

    /// A manifest made in code; `validate()` says whether a reader would accept it.
    public init(name: String, resources: [Resource]) {
        self.name = name
        self.owner = name
        self.resources = ResourceTable(resources)
    }
}

extension Manifest {
    /// The URL of one of the first resources that most likely needs a request; nil says nothing.
    ///
    /// It does unless an option leaves it out, or its bytes are there without an index.
    ///
    /// - Parameter isEmpty: whether the root has no index yet.
    package func likelyRequest(inEmptyTree isEmpty: Bool) -> SourceURL? {
        resources.prefix(64).first { resource in
            resource.primary.url.scheme != .file
                && (isEmpty || resource.pin == nil && resource.refresh == .always)
        }?.primary.url
    }
}

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
