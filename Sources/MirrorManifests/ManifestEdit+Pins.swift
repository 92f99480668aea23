internal import MirrorModel

/// The values that a resource gains in the text of its manifest.
package struct PinnedValues: Hashable {
    /// The size in bytes; nil if it stays as it is declared.
    package var size: Int64?
    /// The digest in hexadecimal digits; nil if it stays as it is declared.
    package var sha256: String?

    /// Takes both as they are.
    package init(size: Int64? = nil, sha256: String? = nil) {
        (self.size, self.sha256) = (size, sha256)
    }
}

extension ManifestEdit {
    /// The text with other sizes and digests; the keys of `values` are the resources' positions.
    ///
    /// A value that is declared already is replaced; one that is not stands behind the `url`. Throws
    /// `MirrorError` with `manifestInvalid` if the text cannot be edited.
    package func text(pinning values: [Int: PinnedValues]) throws -> [UInt8] {
        let changes: [TextChange]
        switch decoded.notation {
        case .json:
            changes = jsonChanges(values, try ResourcePlaces(json: bytes))
        case .xml: changes = xmlChanges(values, ResourcePlaces(xml: bytes))
        case .metalink: changes = MetalinkPinPlaces(bytes).changes(for: values)
        case nil: throw isList
        }
        let text = TextChange.apply(changes, to: bytes)
        guard says(values, text) else { throw unsafe }
        return text
    }

    private func jsonChanges(
        _ values: [Int: PinnedValues], _ places: ResourcePlaces
    ) -> [TextChange] {
        changes(values, places) { place, url, name, value in
            let space = bytes[url.value.lowerBound - 1] == UInt8(ascii: ":") ? "" : " "
            let text = name == "size" ? value : "\"\(value)\""
            if let key = place.keys[name] { return TextChange(key.value, text.utf8) }
            let separator =
                SpaceAround.lineStart(before: url.start, in: bytes) ?? ArraySlice(space.utf8)
            let addition = ",".utf8 + separator + "\"\(name)\":\(space)\(text)".utf8
            return TextChange(url.value.upperBound..<url.value.upperBound, addition)
        }
    }

    private func xmlChanges(
        _ values: [Int: PinnedValues], _ places: ResourcePlaces
    ) -> [TextChange] {
        changes(values, places) { place, url, name, value in
            if let key = place.keys[name] { return TextChange(key.value, "\"\(value)\"".utf8) }
            let separator =
                SpaceAround.lineStart(before: url.start, in: bytes) ?? ArraySlice(" ".utf8)
            let addition = separator + "\(name)=\"\(value)\"".utf8
            return TextChange(url.value.upperBound..<url.value.upperBound, addition)
        }
    }

    private func changes(
        _ values: [Int: PinnedValues], _ places: ResourcePlaces,
        _ change: (
            _ place: ResourcePlaces.Place, _ url: ResourcePlaces.Key, _ name: String,
            _ value: String
        ) -> TextChange
    ) -> [TextChange] {
        var changes: [TextChange] = []
        for (number, place) in places.resources.enumerated() {
            guard let value = values[number], let url = place.keys["url"] else { continue }
            if let size = value.size { changes.append(change(place, url, "size", "\(size)")) }
            if let sha256 = value.sha256 { changes.append(change(place, url, "sha256", sha256)) }
        }
        // Additions at one offset stay in this order.
        return changes.enumerated().sorted {
            ($0.element.range.lowerBound, $0.offset) < ($1.element.range.lowerBound, $1.offset)
        }.map(\.element)
    }

    private func says(_ values: [Int: PinnedValues], _ text: [UInt8]) -> Bool {
        guard let again = again(text) else { return false }
        return isSame(decoded.manifest.resources.indices.map { $0 }, in: again) {
            position, wanted, found in
            guard let value = values[position] else { return }
            wanted.size = value.size ?? wanted.size
            guard let sha256 = value.sha256.flatMap({ Digest(.sha256, hex: $0) }) else { return }
            // A pinned resource that declares no refresh is never due.
            if wanted.refresh == wanted.assumedRefresh { wanted.refresh = found.refresh }
            let others = wanted.digests.filter { $0.algorithm != .sha256 }
            wanted.digests = others + [sha256]
        }
    }
}
