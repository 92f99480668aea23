/// Walks over the tags of an XML text that is known to be well-formed and to have no DOCTYPE.
///
/// Edits need the offset behind an attribute. The libxml2 parser does not give this offset if it
/// has replaced a reference in the value. A test compares the scanner's tags with libxml2's.
struct XMLTagScanner {
    /// A start tag, an end tag, or both in one.
    struct Tag {
        /// The offset of the tag's `<`.
        let start: Int
        /// The offset behind the tag's `>`.
        let end: Int
        /// The name with its prefix.
        let name: String
        let isEnd: Bool
        let isEmpty: Bool
        /// The names of the tag's attributes, and where each name and value is.
        let attributes: [(name: String, key: ResourcePlaces.Key)]

        /// The name without its prefix.
        var localName: Substring {
            name.halves(atFirst: ":")?.after ?? name[...]
        }
    }

    private let bytes: [UInt8]
    private var at = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the next tag. Returns nil at the end, or if the text is malformed.
    mutating func next() -> Tag? {
        while let open = bytes[at...].firstIndex(of: UInt8(ascii: "<")) {
            at = open
            if starts("<!--") {
                skip(past: "-->")
            } else if starts("<![CDATA[") {
                skip(past: "]]>")
            } else if starts("<?") {
                skip(past: "?>")
            } else {
                return tag()
            }
        }
        return nil
    }

    private mutating func tag() -> Tag? {
        let start = at
        at += 1
        let isEnd = peek == UInt8(ascii: "/")
        if isEnd { at += 1 }
        let name = word()
        var attributes: [(name: String, key: ResourcePlaces.Key)] = []
        while let byte = peek {
            switch byte {
            case UInt8(ascii: ">"):
                at += 1
                return Tag(
                    start: start, end: at, name: name, isEnd: isEnd,
                    isEmpty: bytes[at - 2] == UInt8(ascii: "/"), attributes: attributes)
            case UInt8(ascii: "/"), 0x20, 0x09, 0x0A, 0x0D: at += 1
            default:
                guard let attribute = attribute() else { return nil }
                attributes.append(attribute)
            }
        }
        return nil
    }

    private mutating func attribute() -> (name: String, key: ResourcePlaces.Key)? {
        let start = at
        let name = word()
        while let byte = peek, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "'") { at += 1 }
        guard let quote = peek, let end = bytes[(at + 1)...].firstIndex(of: quote) else {
            return nil
        }
        let value = at..<end + 1
        at = value.upperBound
        return (name, ResourcePlaces.Key(start: start, value: value))
    }

    private mutating func word() -> String {
        let start = at
        while let byte = peek, !" \t\r\n=/>".utf8.contains(byte) { at += 1 }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    private var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

    private func starts(_ text: String) -> Bool { bytes[at...].starts(with: text.utf8) }

    private mutating func skip(past text: String) {
        while at < bytes.count, !starts(text) { at += 1 }
        at = min(at + text.utf8.count, bytes.count)
    }
}
