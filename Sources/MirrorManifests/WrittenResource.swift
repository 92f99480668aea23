internal import MirrorModel

/// A resource as mirror's own notations write it, without the values that a reader assumes.
///
/// The model already has merged defaults and absolute URLs, so writing it needs neither `defaults`
/// nor `base`. Reading the text again makes the same model.
struct WrittenResource {
    /// A source beside the primary one, with the headers that it does not inherit.
    struct Mirror {
        let url: String
        let headers: [HeaderField]
    }

    let resource: Resource
    let path: String
    let url: String
    let mirrors: [Mirror]
    /// Subresource Integrity, for a digest that has no key.
    let integrity: String?

    init(_ resource: Resource, folder: SourceURL?) {
        self.resource = resource
        path = resource.isNamedByServer ? resource.target.folder + "/" : resource.target.path
        url = resource.primary.url.reference(from: folder)
        mirrors = resource.sources.dropFirst().map { source in
            Mirror(
                url: source.url.reference(from: folder),
                headers: WrittenResource.ownHeaders(of: source, in: resource) ?? source.headers)
        }
        integrity = resource.digests.first { ResourceKey(rawValue: $0.algorithm.rawValue) == nil }
            .map(Integrity.text(of:))
    }

    /// The headers that a mirror must declare to get those that it has; nil if none would do.
    ///
    /// A mirror of the primary source's origin inherits its headers, and can replace but not remove
    /// them.
    static func ownHeaders(of source: Source, in resource: Resource) -> [HeaderField]? {
        let primary = resource.primary
        guard primary.url.origin == source.url.origin else { return source.headers }
        // What it inherits stands before its own, in the order that it has in the primary source.
        var inherited = 0
        for field in primary.headers
        where inherited < source.headers.count && source.headers[inherited] == field {
            inherited += 1
        }
        let own = Array(source.headers[inherited...])
        return primary.headers.overlaid(with: own) == source.headers ? own : nil
    }
}

extension Resource {
    /// The refresh of a resource whose manifest does not declare one.
    var assumedRefresh: Refresh { pin != nil ? .never : .always }
}
