/// The values that most resources of one manifest share.
struct ResourceTraits: Sendable, Hashable {
    var headers: [HeaderField]
    var refresh: Refresh
    var mediaType: MediaRange?
    var priority: Int32
    var isExecutable: Bool
    var isOptional: Bool
    var isUrgent: Bool
    var tags: [String]

    init(_ resource: Resource) {
        headers = resource.primary.headers
        refresh = resource.refresh
        mediaType = resource.mediaType
        priority = resource.priority
        isExecutable = resource.isExecutable
        isOptional = resource.isOptional
        isUrgent = resource.isUrgent
        tags = resource.tags
    }
}

/// The values that few resources have.
struct ResourceRarity: Sendable {
    var isNamedByServer = false
    /// Every source, where there is more than one or the record has no room for the URL.
    var sources: [Source] = []
    /// Every digest, where there is not exactly one.
    var digests: [Digest] = []
    var pieces: Pieces?
    var method = RequestMethod.get
    var likelySize: Int64?

    init() {}

    /// Takes over what is rare about a resource; nil if nothing is.
    init?(_ resource: Resource) {
        var isRare = false
        if resource.isNamedByServer {
            isNamedByServer = true
            isRare = true
        }
        if !resource.mirrors.isEmpty {
            sources = resource.sources
            isRare = true
        }
        if resource.digests.count > 1 {
            digests = resource.digests
            isRare = true
        }
        if let pieces = resource.pieces {
            self.pieces = pieces
            isRare = true
        }
        if resource.method != .get {
            method = resource.method
            isRare = true
        }
        if let size = resource.likelySize {
            likelySize = size
            isRare = true
        }
        if !isRare { return nil }
    }
}
