internal import MirrorModel

/// Finds the places for size and hash in a Metalink, before each file's first `url`.
///
/// The additions have the same white space as the text around them. Values that are declared already
/// stay as they are.
struct MetalinkPinPlaces {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The additions, in the order of the text.
    func changes(for values: [Int: PinnedValues]) -> [TextChange] {
        var changes: [TextChange] = []
        var last = -1
        walk { number, tag in
            guard tag.localName == "url", number != last, let value = values[number] else { return }
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
            changes.append(TextChange(tag.start..<tag.start, text))
        }
        return changes
    }

    /// Calls the body with each start tag right inside a file, and the file's number.
    private func walk(_ body: (_ number: Int, _ tag: XMLTagScanner.Tag) -> Void) {
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
                isInside = tag.localName == "file"
                if isInside { number += 1 }
            }
            if depth == 2, isInside { body(number, tag) }
            if !tag.isEmpty { depth += 1 }
        }
    }
}
