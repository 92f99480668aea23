internal import MirrorModel

/// Finds the places for size and sha256 in an XML manifest or a Metalink.
///
/// The additions have the same white space as the text around them.
struct XMLPinPlaces {
    private let bytes: [UInt8]
    /// The name of the elements beneath the root that are resources.
    private let element: String

    init(_ bytes: [UInt8], element: String) {
        self.bytes = bytes
        self.element = element
    }

    /// Attributes, put after each resource's `url`.
    func attributes(for values: [Int: PinnedValues]) -> [TextInsertion] {
        var insertions: [TextInsertion] = []
        walk { number, depth, tag in
            guard depth == 1, let value = values[number],
                let url = tag.attributes.first(where: { $0.name == "url" })
            else { return }
            let separator =
                SpaceAround.lineStart(before: url.start, in: bytes) ?? ArraySlice(" ".utf8)
            var text: [UInt8] = []
            if let size = value.size { text += separator + "size=\"\(size)\"".utf8 }
            if let sha256 = value.sha256 { text += separator + "sha256=\"\(sha256)\"".utf8 }
            insertions.append(TextInsertion(offset: url.end, text: text))
        }
        return insertions
    }

    /// Elements, put before each file's first `url`.
    func elements(for values: [Int: PinnedValues]) -> [TextInsertion] {
        var insertions: [TextInsertion] = []
        var last = -1
        walk { number, depth, tag in
            guard depth == 2, tag.localName == "url", number != last, let value = values[number]
            else { return }
            last = number
            let separator = SpaceAround.lineStart(before: tag.start, in: bytes) ?? []
            let prefix = tag.name.dropLast(tag.localName.count)
            var text: [UInt8] = []
            if let size = value.size {
                text += "<\(prefix)size>\(size)</\(prefix)size>".utf8 + separator
            }
            if let sha256 = value.sha256 {
                text += "<\(prefix)hash type=\"sha-256\">\(sha256)</\(prefix)hash>".utf8
                text += separator
            }
            insertions.append(TextInsertion(offset: tag.start, text: text))
        }
        return insertions
    }

    /// Calls the body with each start tag of a resource or inside one.
    ///
    /// The body gets the number of the resource and the depth of the tag.
    private func walk(_ body: (_ number: Int, _ depth: Int, _ tag: XMLTagScanner.Tag) -> Void) {
        var scanner = XMLTagScanner(bytes)
        var depth = 0
        var number = -1
        var isInside = false
        while let tag = scanner.next() {
            if tag.isEnd {
                depth -= 1
                continue
            }
            if depth == 1 {
                isInside = tag.localName == element
                if isInside { number += 1 }
            }
            if depth >= 1, isInside { body(number, depth, tag) }
            if !tag.isEmpty { depth += 1 }
        }
    }
}
