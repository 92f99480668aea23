internal import MirrorModel

/// Plain resources are taken over as bytes; see `ResourceTable.append(_:of:)`.
extension ManifestBuilder {
    /// Finds what plain resources have in common, once base and defaults are known; nothing when
    /// there is no base that they could be relative to.
    func preparePlainResources() {
        plain = nil
        guard let base, origin.isFile || (base.scheme != .file && base.userInfo == nil) else {
            return
        }
        let draft = ResourceDraft(place: TextPosition(), errorsBefore: log.errorCount)
        draft.path = Located(value: "Caches/x", place: draft.place)
        draft.url = Located(value: "x", place: draft.place)
        guard let unpinned = resource(from: draft) else { return }
        let digest = Digest(.sha256, bytes: [UInt8](repeating: 0, count: 32))
        draft.digests = digest.map { [Located(value: $0, place: draft.place)] } ?? []
        guard let pinned = resource(from: draft), log.errorCount == draft.errorsBefore else {
            return
        }
        plain = resources.plainResources(beneath: base, pinned: pinned, unpinned: unpinned)
    }

    /// Adds a plain resource; false, and nothing has happened, when it has to be read in full.
    func add(_ object: PlainObject, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let plain else { return false }
        let slice = { (range: Range<Int>) in UnsafeBufferPointer(rebasing: bytes[range]) }
        return resources.append(
            PlainResource(
                path: slice(object.path), reference: slice(object.url),
                size: object.size < 0 ? nil : object.size,
                sha256: object.sha256.isEmpty ? nil : slice(object.sha256),
                line: object.start.line, column: object.start.column),
            of: plain)
    }
}
