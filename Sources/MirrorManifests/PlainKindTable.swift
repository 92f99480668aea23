internal import MirrorModel

/// What the plain resources of a manifest share, looked up by the bytes that tell their kind.
///
/// Plain resources are taken over as bytes; see `ResourceTable.append(_:of:)`. What the resources of
/// a kind share is the same as that of a sample, which is read in full once.
struct PlainKindTable {
    /// Plain resources that share everything but path, URL, size and sha256.
    struct Kind {
        /// The beginning of their URLs up to the slash behind the host; empty where they are
        /// relative.
        let origin: [UInt8]
        /// Their `refresh` as it is written; empty where they have none.
        let refresh: [UInt8]
        /// What they share; nil if they must be read in full.
        let common: PlainResources?
    }

    /// The most kinds that are taken over; resources of other kinds are read in full.
    private static let most = 16

    private var kinds: [Kind] = []

    /// Whether another kind may be added.
    var hasRoom: Bool { kinds.count < Self.most }

    /// The kind with these bytes; nil if none was added.
    func kind(
        _ origin: UnsafeBufferPointer<UInt8>, refresh: UnsafeBufferPointer<UInt8>
    ) -> Kind? {
        for kind in kinds
        where kind.origin.elementsEqual(origin) && kind.refresh.elementsEqual(refresh) {
            return kind
        }
        return nil
    }

    /// Adds a kind.
    mutating func add(_ kind: Kind) { kinds.append(kind) }
}

/// Two resources of a plain kind, which show what all of the kind share.
struct PlainSample {
    let base: SourceURL
    let pinned: Resource
    let unpinned: Resource

    /// Makes the samples of a kind; nil if resources of that kind must be read in full.
    init?(at origin: String, refresh: String, by builder: ResourceBuilder) {
        let sampleBase = origin.isEmpty ? builder.baseOfPlain : try? SourceURL(origin)
        guard let base = sampleBase, origin.isEmpty || base.userInfo == nil else { return nil }
        let place = TextPosition()
        let draft = ResourceDraft(at: place, builder.check)
        if !refresh.isEmpty {
            guard let value = Refresh(refresh) else { return nil }
            draft.traits.refresh = value
        }
        draft.path = Located(value: "Caches/x", place: place)
        draft.url = Located(value: origin + "x", place: place)
        guard let unpinned = builder.resource(from: draft) else { return nil }
        if let digest = Digest(.sha256, bytes: [UInt8](repeating: 0, count: 32)) {
            draft.add(digest, at: place)
        }
        guard let pinned = builder.resource(from: draft), draft.isSound else { return nil }
        (self.base, self.pinned, self.unpinned) = (base, pinned, unpinned)
    }
}

extension ResourceBuilder {
    /// The base against which plain relative URLs are resolved.
    fileprivate var baseOfPlain: SourceURL? {
        guard let base,
            check.origin.isFile || (base.scheme != .file && base.userInfo == nil)
        else { return nil }
        return base
    }
}
