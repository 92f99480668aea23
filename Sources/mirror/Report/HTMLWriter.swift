import MirrorModel

/// Writes HTML in the order of the calls.
///
/// Names of elements and attributes are fixed in the program; every value and every text is escaped,
/// so what a server or a manifest says can neither end an element nor begin one.
struct HTMLWriter {
    /// The bytes written so far.
    private(set) var bytes: [UInt8] = []

    typealias Attributes = KeyValuePairs<StaticString, String>

    /// Writes an element with what the body writes in it; attributes without a value are left out.
    mutating func element(
        _ name: StaticString, _ attributes: Attributes = [:], _ body: (inout HTMLWriter) -> Void
    ) {
        start(name, attributes)
        body(&self)
        raw("</\(name)>")
    }

    /// Writes an element with a text in it.
    mutating func element(_ name: StaticString, _ attributes: Attributes = [:], text: String) {
        element(name, attributes) { $0.text(text) }
    }

    /// Writes an element that has no end tag.
    mutating func void(_ name: StaticString, _ attributes: Attributes) { start(name, attributes) }

    /// Writes a text.
    mutating func text(_ text: String) { raw(HTMLWriter.escaped(text)) }

    /// Writes markup that is part of the program.
    mutating func markup(_ markup: StaticString) { raw("\(markup)") }

    private mutating func start(_ name: StaticString, _ attributes: Attributes) {
        raw("<\(name)")
        for (key, value) in attributes where !value.isEmpty {
            raw(" \(key)=\"\(HTMLWriter.escaped(value))\"")
        }
        raw(">")
    }

    private mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// A text as HTML, in which nothing is markup; control characters are written out.
    static func escaped(_ text: String) -> String {
        let text = text.printable
        guard text.utf8.contains(where: { replacement(for: $0) != nil }) else { return text }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if let other = replacement(for: byte) {
                other.withUTF8Buffer { bytes.append(contentsOf: $0) }
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func replacement(for byte: UInt8) -> StaticString? {
        switch byte {
        case UInt8(ascii: "&"): "&amp;"
        case UInt8(ascii: "<"): "&lt;"
        case UInt8(ascii: ">"): "&gt;"
        case UInt8(ascii: "\""): "&quot;"
        case UInt8(ascii: "'"): "&#39;"
        default: nil
        }
    }
}
