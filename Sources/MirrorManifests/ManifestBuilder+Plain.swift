internal import MirrorModel

/// Plain resources that share everything but path, URL, size and sha256.
struct PlainKind {
    /// The beginning of their URLs up to the slash behind the host; empty where they are relative.
    let origin: [UInt8]
    /// Their `refresh` as it is written; empty where they have none.
    let refresh: [UInt8]
    /// What they share; nil if they must be read in full.
    let common: PlainResources?
}

/// Plain resources are taken over as bytes; see `ResourceTable.append(_:of:)`.
extension ManifestBuilder {
    /// The most kinds that are taken over; resources of other kinds are read in full.
    private static let mostKinds = 16

    /// Forgets what plain resources share, because base or defaults may have changed.
    func forgetPlainKinds() { plainKinds = [] }

    /// Adds a plain resource; false, without any change, if it must be read in full.
    package func add(_ object: PlainObject, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let slice = { (range: Range<Int>) in UnsafeBufferPointer(rebasing: bytes[range]) }
        let url = slice(object.url)
        let origin = PlainBytes.origin(of: url) ?? 0..<0
        let reference = UnsafeBufferPointer(rebasing: url[origin.upperBound...])
        guard !reference.isEmpty,
            let common = kind(
                UnsafeBufferPointer(rebasing: url[origin]), refresh: slice(object.refresh))
        else { return false }
        return resources.append(
            PlainResource(
                path: slice(object.path), reference: reference,
                size: object.size < 0 ? nil : object.size,
                sha256: object.sha256.isEmpty ? nil : slice(object.sha256),
                line: object.start.line, column: object.start.column),
            of: common)
    }

    private func kind(
        _ origin: UnsafeBufferPointer<UInt8>, refresh: UnsafeBufferPointer<UInt8>
    ) -> PlainResources? {
        for kind in plainKinds
        where kind.origin.elementsEqual(origin) && kind.refresh.elementsEqual(refresh) {
            return kind.common
        }
        guard plainKinds.count < Self.mostKinds else { return nil }
        let common = plainResources(
            at: String(decoding: origin, as: UTF8.self),
            refresh: String(decoding: refresh, as: UTF8.self))
        plainKinds.append(
            PlainKind(origin: Array(origin), refresh: Array(refresh), common: common))
        return common
    }

    /// What plain resources with these texts share; nil if they must be read in full.
    private func plainResources(at origin: String, refresh: String) -> PlainResources? {
        let sampleBase = origin.isEmpty ? relativeBase : try? SourceURL(origin)
        guard let base = sampleBase, origin.isEmpty || base.userInfo == nil else { return nil }
        let draft = ResourceDraft(place: TextPosition(), errorsBefore: log.errorCount)
        if !refresh.isEmpty {
            guard let value = Refresh(refresh) else { return nil }
            draft.refresh = value
        }
        draft.path = Located(value: "Caches/x", place: draft.place)
        draft.url = Located(value: origin + "x", place: draft.place)
        guard let unpinned = resource(from: draft) else { return nil }
        let digest = Digest(.sha256, bytes: [UInt8](repeating: 0, count: 32))
        draft.digests = digest.map { [Located(value: $0, place: draft.place)] } ?? []
        guard let pinned = resource(from: draft), log.errorCount == draft.errorsBefore else {
            return nil
        }
        return resources.plainResources(beneath: base, pinned: pinned, unpinned: unpinned)
    }

    /// The base against which plain relative URLs are resolved.
    private var relativeBase: SourceURL? {
        guard let base, origin.isFile || (base.scheme != .file && base.userInfo == nil) else {
            return nil
        }
        return base
    }
}
