package import MirrorModel

extension ManifestEdit {
    /// The text of a manifest that has nothing but some entries.
    package static func text(
        named name: String, _ entries: [NewEntry], isXML: Bool = false
    ) -> [UInt8] {
        if isXML {
            var text = Array(
                "<manifest version=\"1\" name=\"\(XMLText.escaped(name))\">\n".utf8)
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

    /// The text with more entries behind the others.
    ///
    /// Throws `MirrorError` with `manifestInvalid` for a Metalink, for an entry that the manifest cannot
    /// have beside the others, and if the text cannot be edited.
    package func text(adding entries: [NewEntry]) throws -> [UInt8] {
        let change: TextChange
        switch decoded.notation {
        case .json: change = addition(json: entries, try ResourcePlaces(json: bytes))
        case .xml: change = addition(xml: entries, ResourcePlaces(xml: bytes))
        case .metalink: throw notation
        case nil: throw isList
        }
        let text = TextChange.apply([change], to: bytes)
        do { _ = try ManifestReader.read(text, label: label, origin: origin) } catch {
            guard let refusal = error as? ManifestRefusal, let first = refusal.diagnostics.first
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

    /// The text without the entries at some positions of the manifest.
    ///
    /// Throws `MirrorError` with `manifestInvalid` for a Metalink, and if the text cannot be edited.
    package func text(removing positions: Set<Int>) throws -> [UInt8] {
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
            let outer = SpaceAround.ofLine(at: places.inside.lowerBound, in: bytes)
            let inner = outer + "  ".utf8
            let list = entries.map { inner + Self.json($0) }.joined(separator: ",".utf8)
            return TextChange(places.inside, Array(list) + outer)
        }
        let separator =
            SpaceAround.lineStart(before: last.range.lowerBound, in: bytes) ?? [0x20]
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
        let (path, url) = (XMLText.escaped(entry.target.path), entry.url.textWithSecrets)
        return "<resource path=\"\(path)\" url=\"\(XMLText.escaped(url))\"/>"
    }

    private func addition(xml entries: [NewEntry], _ places: ResourcePlaces) -> TextChange {
        let elements = entries.map { ManifestEdit.xml($0).utf8 }
        if let last = places.resources.last {
            let separator = SpaceAround.lineStart(before: last.range.lowerBound, in: bytes) ?? []
            let end = last.range.upperBound
            return TextChange(end..<end, elements.flatMap { separator + $0 })
        }
        let outer = SpaceAround.ofLine(at: places.inside.lowerBound, in: bytes)
        let list = elements.flatMap { outer + "  ".utf8 + $0 }
        if let name = places.emptyRoot {
            return TextChange(places.inside, ">".utf8 + list + outer + "</\(name)>".utf8)
        }
        let end = places.inside.upperBound
        let start = SpaceAround.lineStart(before: end, in: bytes)?.startIndex ?? end
        return TextChange(start..<end, list + outer)
    }
}

// MARK: Removals

extension ManifestEdit {
    /// Takes an entry out together with the comma behind it; the last ones with the comma before them.
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

    /// Takes an element out together with the white space before it on its line.
    private func removals(
        _ positions: Set<Int>, fromXML places: ResourcePlaces
    ) -> [TextChange] {
        positions.sorted().map { position in
            let range = places.resources[position].range
            let line = SpaceAround.lineStart(before: range.lowerBound, in: bytes)
            return TextChange((line?.startIndex ?? range.lowerBound)..<range.upperBound, [])
        }
    }
}

extension NewEntry {
    fileprivate init(_ resource: Resource) {
        self.init(target: resource.target, url: resource.primary.url)
    }
}
