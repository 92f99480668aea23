/// What should be in the tree: a name that owns the targets, and the resources.
public struct Manifest: Sendable {
    /// The name that owns the targets in the index.
    ///
    /// `nil` means that the manifest has no name. Its targets then never become orphans.
    public var name: String?
    /// The declared name, or the stem of the file's name if none is declared.
    public var owner: String
    /// The wanted files.
    public var resources: ResourceTable
    /// Whether all of the manifest's files are promoted together, or none.
    public var isAtomic = false
    /// The resources that are wanted in this root. All others are neither missing nor orphans.
    package var selection = Selection()
    /// The entries that mirror left out of the list from which it made this manifest, and Python's
    /// releases of which the selection leaves no file.
    package internal(set) var leftOut: [LeftOutEntry] = []
    /// Where the manifest came from.
    var whereabouts = Whereabouts.code
    /// The manifest's place in messages: a path as it was given, or a URL.
    ///
    /// `nil` means that a program made the manifest.
    public var label: String?

    /// Where a manifest can come from.
    enum Whereabouts: Sendable, Hashable {
        /// Made by a program.
        case code
        /// A file, by its absolute path.
        case file(path: String)
        /// Standard input.
        case standardInput
        /// A URL with its query hashed.
        case url(SourceKey)
    }

    /// Creates a manifest from the values that its decoder read.
    public init(name: String?, owner: String, resources: ResourceTable) {
        self.name = name
        self.owner = owner
        self.resources = resources
    }

    /// Creates a manifest in code. `validate()` throws if a reader would not accept it.
    public init(name: String, resources: [Resource]) {
        self.name = name
        self.owner = name
        self.resources = ResourceTable(resources)
    }
}

extension Manifest {
    /// The manifest without its declarations about bytes: mirror asks for every file, and any
    /// version is right.
    ///
    /// So a run fetches the present versions, whatever the manifest pins.
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
