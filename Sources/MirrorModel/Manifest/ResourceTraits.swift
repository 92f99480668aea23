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
}
