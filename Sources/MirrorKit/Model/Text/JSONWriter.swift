/// Writes JSON (RFC 8259) in the order of the calls, into bytes that a caller can take in chunks.
///
/// Keys keep their order, and memory never holds the whole document of a million steps. An encoder
/// for `Encodable` values can do neither.
package struct JSONWriter: Sendable {
    /// The bytes written since the last `take`.
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false
    private var isAfterKey = false
    private var depth = 0
    /// The number of spaces for each level of indentation; 0 writes everything in one line.
    private let indentation: Int

    /// An empty document, to be written in one line.
    package init() { indentation = 0 }

    /// An empty document with a line for each member and element, for people to read and edit.
    init(indentation: Int) { self.indentation = max(indentation, 0) }

    /// Returns the bytes written so far and continues with an empty buffer.
    package mutating func take() -> [UInt8] {
        defer { bytes.removeAll(keepingCapacity: true) }
        return bytes
    }

    /// Drops the bytes written so far and keeps their memory for the next document.
    mutating func clear() { bytes.removeAll(keepingCapacity: true) }

    /// Writes an object. `members` writes its members.
    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        beginObject()
        members(&self)
        endObject()
    }

    /// Writes an array. `elements` writes its elements.
    package mutating func array(_ elements: (inout JSONWriter) -> Void) {
        beginArray()
        elements(&self)
        endArray()
    }

    /// Writes a member whose value is an object. `members` writes its members.
    mutating func object(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
        key(name)
        object(members)
    }

    /// Writes a member whose value is an array. `write` writes each element.
    package mutating func array<Element>(
        _ name: StaticString, _ elements: some Sequence<Element>,
        _ write: (Element, inout JSONWriter) -> Void
    ) {
        key(name)
        array { json in for element in elements { write(element, &json) } }
    }

    /// Writes a member whose value is an array of objects. `members` writes the members of each.
    package mutating func objects<Element>(
        _ name: StaticString, _ elements: some Sequence<Element>,
        _ members: (Element, inout JSONWriter) -> Void
    ) {
        array(name, elements) { element, json in json.object { members(element, &$0) } }
    }

    /// Begins an object that `endObject` ends.
    package mutating func beginObject() { open("{") }
    /// Ends an object.
    package mutating func endObject() { close("}") }
    /// Begins an array that `endArray` ends.
    package mutating func beginArray() { open("[") }
    /// Ends an array.
    package mutating func endArray() { close("]") }

    /// Writes a member's name, which must have nothing to escape. The value follows.
    package mutating func key(_ name: StaticString) {
        separate()
        name.withUTF8Buffer { name in
            // In one piece, because a document of a million files has fourteen million names.
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: name.count + 3) { text in
                text[0] = UInt8(ascii: "\"")
                _ = text[1...].update(fromContentsOf: name)
                text[name.count + 1] = UInt8(ascii: "\"")
                text[name.count + 2] = UInt8(ascii: ":")
                bytes.append(contentsOf: UnsafeBufferPointer(text))
            }
        }
        endKey()
    }

    /// Writes a member's name with its escapes. The value follows.
    package mutating func key(named name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        endKey()
    }

    private mutating func endKey() {
        if indentation > 0 { bytes.append(UInt8(ascii: " ")) }
        needsComma = false
        isAfterKey = true
    }

    /// Writes a string value.
    package mutating func string(_ value: String) {
        separate()
        quote(value)
        needsComma = true
    }

    /// Writes a string value whose bytes are valid UTF-8.
    mutating func string(utf8 value: UnsafeBufferPointer<UInt8>) {
        separate()
        quote(utf8: value)
        needsComma = true
    }

    /// Writes a whole number.
    package mutating func number(_ value: some FixedWidthInteger) {
        number(UInt64(value.magnitude), isNegative: value < 0)
    }

    private mutating func number(_ magnitude: UInt64, isNegative: Bool) {
        separate()
        if isNegative { bytes.append(UInt8(ascii: "-")) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: DecimalDigits.most) { digits in
            let start = DecimalDigits.put(magnitude, intoEndOf: digits)
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
        }
        needsComma = true
    }

    /// Writes a number with `decimals` decimals, 0 … 9.
    ///
    /// A number that is not finite, or has too many digits for an Int64, becomes null.
    mutating func number(_ value: Double, decimals: Int) {
        var scale: Int64 = 1
        for _ in 0..<min(max(decimals, 0), 9) { scale *= 10 }
        let rounded = (abs(value) * Double(scale)).rounded()
        guard let scaled = Int64(exactly: rounded) else { return null() }
        let (whole, fraction) = scaled.quotientAndRemainder(dividingBy: scale)
        let sign = value < 0 && scaled > 0 ? "-" : ""
        let digits = min(decimals, 9)
        raw(digits <= 0 ? "\(sign)\(whole)" : "\(sign)\(whole).\(padded(fraction, digits))")
    }

    /// Writes true or false.
    mutating func boolean(_ value: Bool) { raw(value ? "true" : "false") }

    /// Writes null.
    package mutating func null() { raw("null") }

    /// Writes a member whose value is a string, or null.
    package mutating func member(_ name: StaticString, _ value: String?) {
        key(name)
        if let value { string(value) } else { null() }
    }

    /// Writes a member whose value is an instant in the form of RFC 3339, or null.
    mutating func member(_ name: StaticString, _ value: Instant?) {
        key(name)
        guard let value else { return null() }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Instant.rfc3339Length) { text in
            value.putRFC3339(into: text)
            string(utf8: UnsafeBufferPointer(text))
        }
    }

    /// Writes a member whose name may need escapes, and whose value is a string.
    mutating func member(named name: String, _ value: String) {
        key(named: name)
        string(value)
    }

    /// Writes a member whose value is a whole number, or null.
    package mutating func member<Number: FixedWidthInteger>(
        _ name: StaticString, _ value: Number?
    ) {
        key(name)
        if let value { number(value) } else { null() }
    }

    /// Writes a member whose value is true or false.
    package mutating func member(_ name: StaticString, _ value: Bool) {
        key(name)
        boolean(value)
    }

    /// Writes a member whose value is an array of strings.
    package mutating func member(_ name: StaticString, _ values: [String]) {
        key(name)
        array { for value in values { $0.string(value) } }
    }

    /// Writes a piece of a document as it is. The caller writes brackets, commas and names.
    mutating func literal(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
        needsComma = false
        isAfterKey = false
    }

    /// Writes a line break, only between documents.
    package mutating func newline() {
        bytes.append(UInt8(ascii: "\n"))
        needsComma = false
    }

    private mutating func raw(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    private mutating func open(_ bracket: Unicode.Scalar) {
        separate()
        bytes.append(UInt8(ascii: bracket))
        needsComma = false
        depth += 1
    }

    private mutating func close(_ bracket: Unicode.Scalar) {
        depth -= 1
        if needsComma { beginLine() }
        bytes.append(UInt8(ascii: bracket))
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        if !isAfterKey, depth > 0 { beginLine() }
        isAfterKey = false
    }

    private mutating func beginLine() {
        guard indentation > 0 else { return }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * indentation))
    }

    private mutating func quote(_ text: String) {
        var text = text
        text.withUTF8 { quote(utf8: $0) }
    }

    private mutating func quote(utf8 text: UnsafeBufferPointer<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        // Nearly every text has nothing to escape, and is copied as it is.
        if PlainText.hasNoSpecial(UnsafeRawBufferPointer(text)) {
            bytes.append(contentsOf: text)
        } else {
            quote(pieces: text)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func quote(pieces text: UnsafeBufferPointer<UInt8>) {
        var start = 0
        for position in text.indices where PlainText.isSpecial(text[position]) {
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<position]))
            escape(text[position])
            start = position + 1
        }
        bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start...]))
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): bytes.append(contentsOf: "\\\"".utf8)
        case UInt8(ascii: "\\"): bytes.append(contentsOf: "\\\\".utf8)
        case 0x0A: bytes.append(contentsOf: "\\n".utf8)
        case 0x0D: bytes.append(contentsOf: "\\r".utf8)
        case 0x09: bytes.append(contentsOf: "\\t".utf8)
        default:
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(contentsOf: Hex.encode([byte]).utf8)
        }
    }
}
