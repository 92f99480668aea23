internal import MirrorModel

/// Plain resources are taken over as bytes; see `ResourceTable.append(_:of:)`.
extension ManifestBuilder {
    /// The most hosts whose plain resources are taken over; the others are read in full.
    private static let mostHosts = 16

    /// Finds the common properties of plain resources, once base and defaults are known.
    ///
    /// There are none without a base that the resources could be relative to.
    func preparePlainResources() {
        plain = nil
        plainHosts = []
        guard let base, origin.isFile || (base.scheme != .file && base.userInfo == nil) else {
            return
        }
        plain = plainResources(beneath: base, url: "x")
    }

    /// Finds the common properties of plain resources whose host is that of a draft's URL.
    func preparePlainResources(like draft: ResourceDraft) {
        guard let text = draft.url?.value, plainHosts.count < Self.mostHosts else { return }
        let prefix = Array(text.utf8).withUnsafeBufferPointer { bytes in
            PlainBytes.origin(of: bytes).map { Array(bytes[$0]) }
        }
        guard let prefix, !plainHosts.contains(where: { $0.prefix == prefix }) else { return }
        let written = String(decoding: prefix, as: UTF8.self)
        guard let base = try? SourceURL(written), base.userInfo == nil,
            let plain = plainResources(beneath: base, url: written + "x")
        else { return }
        plainHosts.append((prefix, plain))
    }

    private func plainResources(beneath base: SourceURL, url: String) -> PlainResources? {
        let draft = ResourceDraft(place: TextPosition(), errorsBefore: log.errorCount)
        draft.path = Located(value: "Caches/x", place: draft.place)
        draft.url = Located(value: url, place: draft.place)
        guard let unpinned = resource(from: draft) else { return nil }
        let digest = Digest(.sha256, bytes: [UInt8](repeating: 0, count: 32))
        draft.digests = digest.map { [Located(value: $0, place: draft.place)] } ?? []
        guard let pinned = resource(from: draft), log.errorCount == draft.errorsBefore else {
            return nil
        }
        return resources.plainResources(beneath: base, pinned: pinned, unpinned: unpinned)
    }

    /// Adds a plain resource; false, without any change, if it must be read in full.
    package func add(_ object: PlainObject, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let slice = { (range: Range<Int>) in UnsafeBufferPointer(rebasing: bytes[range]) }
        var reference = slice(object.url)
        var common = plain
        if let origin = PlainBytes.origin(of: reference) {
            let host = plainHosts.first { reference[origin].elementsEqual($0.prefix) }
            common = host?.plain
            reference = UnsafeBufferPointer(rebasing: reference[origin.upperBound...])
        }
        guard let common, !reference.isEmpty else { return false }
        return resources.append(
            PlainResource(
                path: slice(object.path), reference: reference,
                size: object.size < 0 ? nil : object.size,
                sha256: object.sha256.isEmpty ? nil : slice(object.sha256),
                line: object.start.line, column: object.start.column),
            of: common)
    }
}
