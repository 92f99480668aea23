/// A change of a text: a range, and the bytes that replace it.
struct TextChange {
    let range: Range<Int>
    let text: [UInt8]

    /// Takes a range and its replacement. The range is empty for an addition.
    init(_ range: Range<Int>, _ text: some Sequence<UInt8>) {
        self.range = range
        self.text = Array(text)
    }

    /// Returns the bytes with all changes made.
    ///
    /// The changes must be in the order of the text, and must not overlap.
    static func apply(_ changes: [TextChange], to bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + changes.reduce(0) { $0 + $1.text.count })
        var start = 0
        for change in changes {
            text += bytes[start..<change.range.lowerBound]
            text += change.text
            start = change.range.upperBound
        }
        return text + bytes[start...]
    }
}

/// Where the resources of a manifest's text are, as offsets in bytes.
///
/// The text was read without errors before, so reading it here is simpler than in the decoders. A
/// caller that changes the text reads it again afterwards.
struct ResourcePlaces {
    /// The place of a resource, with the places of its own keys.
    struct Place {
        /// The range from the resource's first byte to behind its last one.
        var range: Range<Int>
        var keys: [String: Key] = [:]
    }

    /// A key and the range of its value, which has its quotes.
    struct Key {
        let start: Int
        let value: Range<Int>
    }

    /// The resources, in the order of the text.
    private(set) var resources: [Place] = []
    /// The range between the brackets of the list; in XML, between the tags of the root.
    private(set) var inside = 0..<0
    /// The name of an XML root without an end tag. For such a root, `inside` is its `/>`.
    ///
    /// `nil` means that the root has an end tag, or that the manifest is JSON.
    private(set) var emptyRoot: String?

    /// Walks over a manifest in JSON.
    init(json bytes: [UInt8]) throws {
        do throws(DecodingStop) {
            var tokens = try JSONTokenizer(ManifestBytes(bytes), log: DiagnosticLog(file: ""))
            try walk(&tokens)
        } catch {
            throw MirrorError(.internalError, "A manifest that was read cannot be read again.")
        }
    }

    private mutating func walk(_ tokens: inout JSONTokenizer) throws(DecodingStop) {
        _ = try tokens.next()
        while case .key = try tokens.next() {
            let key = tokens.string
            let token = try tokens.next()
            guard key == TopKey.resources.rawValue else {
                try tokens.skip(token)
                continue
            }
            let start = tokens.endOffset
            while case .beginObject = try tokens.next() {
                var place = Place(range: tokens.startOffset..<tokens.endOffset)
                while case .key = try tokens.next() {
                    let (name, keyStart) = (tokens.string, tokens.startOffset)
                    let token = try tokens.next()
                    let valueStart = tokens.startOffset
                    try tokens.skip(token)
                    place.keys[name] = Key(start: keyStart, value: valueStart..<tokens.endOffset)
                }
                place.range = place.range.lowerBound..<tokens.endOffset
                resources.append(place)
            }
            inside = start..<tokens.startOffset
        }
    }

    /// Walks over a manifest in mirror's own XML.
    init(xml bytes: [UInt8]) {
        var scanner = XMLTagScanner(bytes)
        var depth = 0
        while let tag = scanner.next() {
            if tag.isEnd {
                depth -= 1
                if depth == 0 {
                    inside = inside.lowerBound..<tag.start
                } else if depth == 1, isResource(tag), let last = resources.indices.last {
                    resources[last].range = resources[last].range.lowerBound..<tag.end
                }
                continue
            }
            if depth == 0 {
                inside = tag.isEmpty ? (tag.end - 2)..<tag.end : tag.end..<tag.end
                if tag.isEmpty { emptyRoot = tag.name }
            } else if depth == 1, isResource(tag) {
                var place = Place(range: tag.start..<tag.end)
                for (name, key) in tag.attributes { place.keys[name] = key }
                resources.append(place)
            }
            if !tag.isEmpty { depth += 1 }
        }
    }

    private func isResource(_ tag: XMLTagScanner.Tag) -> Bool { tag.localName == "resource" }
}

/// The white space between the parts of a manifest, so that additions get the same form.
extension [UInt8] {
    /// Returns the line end and the indentation before an offset.
    ///
    /// Returns nil if the line has other text before the offset.
    func lineStart(before offset: Int) -> ArraySlice<UInt8>? {
        var start = offset
        while start > 0, self[start - 1] == 0x20 || self[start - 1] == 0x09 { start -= 1 }
        guard start > 0, self[start - 1] == 0x0A else { return nil }
        start -= 1
        if start > 0, self[start - 1] == 0x0D { start -= 1 }
        return self[start..<offset]
    }

    /// Returns the line end and the indentation of the line that has the offset.
    func lineStart(around offset: Int) -> [UInt8] {
        let start = self[..<offset].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        let indentation = self[start...].prefix { $0 == 0x20 || $0 == 0x09 }
        let hasReturn = start > 1 && self[start - 2] == 0x0D
        return (hasReturn ? [0x0D, 0x0A] : [0x0A]) + indentation
    }
}
