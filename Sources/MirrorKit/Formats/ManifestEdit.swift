/// Changes a manifest's text only where an edit asks for a change.
///
/// `ResourcePlaces` finds the places. The decoders then read the new text again. The result must
/// have the new values, and otherwise the values of the old text.
struct ManifestEdit {
    let bytes: [UInt8]
    let decoded: DecodedManifest
    let label: String
    let origin: ManifestOrigin

    /// Reads the manifest in a changed text.
    ///
    /// Returns nil if the text is no manifest, or has another notation or name.
    func again(_ text: [UInt8]) -> Manifest? {
        guard let again = try? ManifestReader.read(text, label: label, origin: origin),
            again.notation == decoded.notation, again.manifest.name == decoded.manifest.name
        else { return nil }
        return again.manifest
    }

    /// Whether the first resources of a changed manifest are the old ones at some positions.
    ///
    /// - Parameter change: changes an old resource to what it should be now. It gets the resource's
    ///   position and the resource of the changed manifest.
    func isSame(
        _ positions: [Int], in manifest: Manifest,
        _ change: (_ position: Int, _ wanted: inout Resource, _ found: Resource) -> Void = {
            _, _, _ in
        }
    ) -> Bool {
        guard manifest.resources.count >= positions.count else { return false }
        return positions.enumerated().allSatisfy { number, position in
            var wanted = decoded.manifest.resources[position]
            let found = manifest.resources[number]
            change(position, &wanted, found)
            (wanted.line, wanted.column) = (found.line, found.column)
            return wanted == found
        }
    }

    /// The error about an edit of a list, which can be imported but not changed.
    var isList: MirrorError {
        MirrorError(
            .manifestInvalid,
            "\(label.printable): it is \(decoded.list?.kind.title ?? "a list"), not a manifest, so nothing is written into it. Import it into a manifest first."
        )
    }

    /// The error about a text in which the places of the resources were not found.
    var unsafe: MirrorError {
        MirrorError(
            .manifestInvalid,
            "\(label.printable): its text cannot be edited safely, so it was left. Edit it by hand, or convert the manifest first."
        )
    }
}

/// The values that a resource gains in the text of its manifest.
struct PinnedValues: Hashable {
    /// The size in bytes. `nil` means that the declared size stays.
    var size: Int64?
    /// The digest in hexadecimal digits. `nil` means that the declared digest stays.
    var sha256: String?
}

extension ManifestEdit {
    /// Returns the text with other sizes and digests.
    ///
    /// The keys of `values` are resources' positions. A declared value is replaced. A value that is
    /// not declared is inserted behind the `url`. Throws `MirrorError` with `manifestInvalid` if
    /// the text cannot be edited.
    func text(pinning values: [Int: PinnedValues]) throws -> [UInt8] {
        let changes: [TextChange]
        switch decoded.notation {
        case .json:
            changes = jsonChanges(values, try ResourcePlaces(json: bytes))
        case .xml: changes = xmlChanges(values, ResourcePlaces(xml: bytes))
        case .metalink: changes = metalinkChanges(values)
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
                bytes.lineStart(before: url.start) ?? ArraySlice(space.utf8)
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
                bytes.lineStart(before: url.start) ?? ArraySlice(" ".utf8)
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

extension ManifestEdit {
    /// Returns the text of a new manifest that has only these entries.
    static func text(
        named name: String, _ entries: [NewEntry], isXML: Bool = false
    ) -> [UInt8] {
        if isXML {
            var text = Array(
                "<manifest version=\"1\" name=\"\(name.escapedAsXML)\">\n".utf8)
            for entry in entries { text += "  \(xml(entry))\n".utf8 }
            return text + "</manifest>\n".utf8
        }
        var text = "{\n  \"version\": 1,\n  \"name\": ".utf8 + quoted(name)
        text += ",\n  \"resources\": [".utf8
        for (number, entry) in entries.enumerated() {
            text += (number > 0 ? ",\n    " : "\n    ").utf8 + json(entry)
        }
        return text + "\n  ]\n}\n".utf8
    }

    /// Returns the text with more entries behind the others.
    ///
    /// Throws `MirrorError` with `manifestInvalid` for a Metalink and if the text cannot be edited.
    /// An entry that the manifest cannot have beside the others throws this error too.
    func text(adding entries: [NewEntry]) throws -> [UInt8] {
        let change: TextChange
        switch decoded.notation {
        case .json: change = addition(json: entries, try ResourcePlaces(json: bytes))
        case .xml: change = addition(xml: entries, ResourcePlaces(xml: bytes))
        case .metalink: throw notation
        case nil: throw isList
        }
        let text = TextChange.apply([change], to: bytes)
        do { _ = try ManifestReader.read(text, label: label, origin: origin) } catch {
            guard let refusal = error as? ManifestError, let first = refusal.diagnostics.first
            else { throw error }
            throw MirrorError(
                .manifestInvalid,
                "\(label.printable): nothing was added: \(first.message)")
        }
        let old = Array(decoded.manifest.resources.indices)
        guard let again = again(text), isSame(old, in: again),
            again.resources.dropFirst(old.count).map(NewEntry.init) == entries
        else { throw unsafe }
        return text
    }

    /// Returns the text without the entries at some positions of the manifest.
    ///
    /// Throws `MirrorError` with `manifestInvalid` for a Metalink, and if the text cannot be
    /// edited.
    func text(removing positions: Set<Int>) throws -> [UInt8] {
        let changes: [TextChange]
        switch decoded.notation {
        case .json: changes = removals(positions, fromJSON: try ResourcePlaces(json: bytes))
        case .xml: changes = removals(positions, fromXML: ResourcePlaces(xml: bytes))
        case .metalink: throw notation
        case nil: throw isList
        }
        let text = TextChange.apply(changes, to: bytes)
        let left = decoded.manifest.resources.indices.filter { !positions.contains($0) }
        guard let again = again(text), again.resources.count == left.count, isSame(left, in: again)
        else { throw unsafe }
        return text
    }

    private var notation: MirrorError {
        MirrorError(
            .manifestInvalid,
            "\(label.printable): entries of a Metalink are not edited. Convert it to JSON or XML first."
        )
    }
}

// MARK: Additions

extension ManifestEdit {
    private func addition(json entries: [NewEntry], _ places: ResourcePlaces) -> TextChange {
        guard let last = places.resources.last else {
            let outer = bytes.lineStart(around: places.inside.lowerBound)
            let inner = outer + "  ".utf8
            let list = entries.map { inner + Self.json($0) }.joined(separator: ",".utf8)
            return TextChange(places.inside, Array(list) + outer)
        }
        let separator =
            bytes.lineStart(before: last.range.lowerBound) ?? [0x20]
        let list = entries.flatMap { ",".utf8 + separator + Self.json($0) }
        return TextChange(last.range.upperBound..<last.range.upperBound, list)
    }

    private static func json(_ entry: NewEntry) -> [UInt8] {
        "{ \"path\": ".utf8 + quoted(entry.target.path) + ", \"url\": ".utf8
            + quoted(entry.url.textWithSecrets) + " }".utf8
    }

    private static func quoted(_ text: String) -> [UInt8] {
        var json = JSONWriter()
        json.string(text)
        return json.bytes
    }

    private static func xml(_ entry: NewEntry) -> String {
        let (path, url) = (entry.target.path.escapedAsXML, entry.url.textWithSecrets)
        return "<resource path=\"\(path)\" url=\"\(url.escapedAsXML)\"/>"
    }

    private func addition(xml entries: [NewEntry], _ places: ResourcePlaces) -> TextChange {
        let elements = entries.map { ManifestEdit.xml($0).utf8 }
        if let last = places.resources.last {
            let separator = bytes.lineStart(before: last.range.lowerBound) ?? []
            let end = last.range.upperBound
            return TextChange(end..<end, elements.flatMap { separator + $0 })
        }
        let outer = bytes.lineStart(around: places.inside.lowerBound)
        let list = elements.flatMap { outer + "  ".utf8 + $0 }
        if let name = places.emptyRoot {
            return TextChange(places.inside, ">".utf8 + list + outer + "</\(name)>".utf8)
        }
        let end = places.inside.upperBound
        let start = bytes.lineStart(before: end)?.startIndex ?? end
        return TextChange(start..<end, list + outer)
    }
}

// MARK: Removals

extension ManifestEdit {
    /// Removes each entry with the comma behind it.
    ///
    /// The last entries are removed with the comma before them.
    private func removals(
        _ positions: Set<Int>, fromJSON places: ResourcePlaces
    ) -> [TextChange] {
        let ranges = places.resources.map(\.range)
        let lastKept = ranges.indices.last { !positions.contains($0) } ?? -1
        return positions.sorted().map { position in
            let range = ranges[position]
            if position < lastKept {
                return TextChange(range.lowerBound..<ranges[position + 1].lowerBound, [])
            }
            let start = position > 0 ? ranges[position - 1].upperBound : range.lowerBound
            return TextChange(start..<range.upperBound, [])
        }
    }

    /// Removes an element with the white space before it on its line.
    private func removals(
        _ positions: Set<Int>, fromXML places: ResourcePlaces
    ) -> [TextChange] {
        positions.sorted().map { position in
            let range = places.resources[position].range
            let line = bytes.lineStart(before: range.lowerBound)
            return TextChange((line?.startIndex ?? range.lowerBound)..<range.upperBound, [])
        }
    }
}

extension NewEntry {
    fileprivate init(_ resource: Resource) {
        self.init(target: resource.target, url: resource.primary.url)
    }
}

/// A resource to write into a manifest: where the file goes, and where it comes from.
package struct NewEntry: Sendable, Hashable {
    /// The target.
    package var target: Target
    /// The source, in the form in which the manifest gets it.
    package var url: SourceURL

    /// Takes a target and a source.
    package init(target: Target, url: SourceURL) {
        self.target = target
        self.url = url
    }
}
