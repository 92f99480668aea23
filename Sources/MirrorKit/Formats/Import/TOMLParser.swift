/// Reads TOML 1.0 into a tree with the place of each part.
///
/// The parser refuses text that two readers may read differently: duplicate keys, tables that are
/// opened twice. A date is kept as its text.
struct TOMLParser {
    /// The most arrays and inline tables that may be open at once, and the most parts of a key.
    static let deepest = 32

    /// The greatest length of a text in bytes.
    static let longestText = 1 << 20

    private let bytes: [UInt8]
    private let log: DiagnosticLog
    private var at = 0
    private var line = 1
    private var lineStart = 0
    private var continuations = 0
    /// The number of arrays and inline tables that are open.
    private var depth = 0
    private let root = TOMLTable(at: TextPosition(), kind: .header)

    /// Reads a whole document, which is valid UTF-8. Errors go to the log.
    static func tree(of text: ListText, log: DiagnosticLog) throws(DecodingStop) -> JSONTree {
        var parser = TOMLParser(ListText.withoutMark(try text.whole()), log: log)
        try parser.parse()
        return parser.root.tree
    }

    private init(_ bytes: [UInt8], log: DiagnosticLog) { (self.bytes, self.log) = (bytes, log) }

    private mutating func parse() throws(DecodingStop) {
        var table = root
        while true {
            try skipSpace()
            guard let byte = peek else { return }
            if byte == UInt8(ascii: "[") {
                table = try header()
            } else {
                try pair(in: table)
            }
            try endLine()
        }
    }

    /// Reads `[a.b]` or `[[a.b]]`. Returns the table that the header opens.
    private mutating func header() throws(DecodingStop) -> TOMLTable {
        let start = place
        let isArray = take("[[")
        if !isArray { step() }
        let keys = try key()
        guard take(isArray ? "]]" : "]") else {
            throw fail("\(isArray ? "]]" : "]") is missing behind the table's name")
        }
        var table = root
        for part in keys.dropLast() {
            guard let next = table.descend(part, as: .header) else { throw refuse(part) }
            table = next
        }
        guard let last = keys.last, let opened = table.open(last, isArray: isArray, at: start)
        else { throw keys.last.map(refuse) ?? fail("a table without a name") }
        return opened
    }

    /// Reads `a.b = value` into a table.
    private mutating func pair(in table: TOMLTable) throws(DecodingStop) {
        let keys = try key()
        guard take("=") else { throw fail("= is missing behind the key") }
        skipBlanks()
        let item = try value()
        var table = table
        for part in keys.dropLast() {
            guard let next = table.descend(part, as: .dotted) else { throw refuse(part) }
            table = next
        }
        guard let last = keys.last, table.put(last, item) else {
            throw keys.last.map(refuse) ?? fail("a value without a key")
        }
    }

    private func refuse(_ key: ListWord) -> DecodingStop {
        fail("the key \(Quoted(key.value)) is here a second time; keep one", at: key.place)
    }

    /// Reads the parts of a key, and skips the blanks around them.
    private mutating func key() throws(DecodingStop) -> [ListWord] {
        var parts: [ListWord] = []
        repeat {
            skipBlanks()
            let start = place
            parts.append(ListWord(value: try keyPart(), place: start))
            skipBlanks()
            guard parts.count <= Self.deepest else {
                throw fail("a key of more than \(Self.deepest) parts", at: start)
            }
        } while take(".")
        return parts
    }
}

// MARK: Values

extension TOMLParser {
    /// Reads a value.
    private mutating func value() throws(DecodingStop) -> JSONTree {
        let start = place
        switch peek {
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            return JSONTree(.string(try string()), at: start)
        case UInt8(ascii: "["): return JSONTree(.array(try array()), at: start)
        case UInt8(ascii: "{"): return try inlineTable(at: start)
        case nil: throw fail("the text ends where a value should be; was it cut off?")
        default: return JSONTree(try plainValue(), at: start)
        }
    }

    private mutating func array() throws(DecodingStop) -> [JSONTree] {
        try open()
        var elements: [JSONTree] = []
        while true {
            try skipSpace()
            if take("]") { break }
            elements.append(try value())
            try skipSpace()
            if take(",") { continue }
            guard take("]") else { throw fail("a comma or ] is missing here") }
            break
        }
        depth -= 1
        return elements
    }

    private mutating func inlineTable(at start: TextPosition) throws(DecodingStop) -> JSONTree {
        try open()
        let table = TOMLTable(at: start, kind: .inline)
        skipBlanks()
        var isOpen = !take("}")
        while isOpen {
            try pair(in: table)
            skipBlanks()
            if take(",") {
                skipBlanks()
                continue
            }
            guard take("}") else { throw fail("a comma or } is missing here") }
            isOpen = false
        }
        depth -= 1
        return table.tree
    }

    private mutating func open() throws(DecodingStop) {
        guard depth < Self.deepest else {
            throw fail("more than \(Self.deepest) levels of arrays and tables")
        }
        depth += 1
        step()
    }
}

// MARK: Blanks, comments and keys

extension TOMLParser {
    /// The next byte; nil at the end of the text.
    private var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

    private var place: TextPosition {
        TextPosition(line: line, column: at - lineStart - continuations + 1)
    }

    /// Consumes a byte, and updates the line and the column.
    private mutating func step() {
        if bytes[at] == 0x0A {
            (line, lineStart, continuations) = (line + 1, at + 1, 0)
        } else if bytes[at] & 0xC0 == 0x80 {
            continuations += 1
        }
        at += 1
    }

    /// Consumes `text` if it comes next. Returns whether `text` came next.
    private mutating func take(_ text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[at...].starts(with: wanted) else { return false }
        for _ in wanted { step() }
        return true
    }

    private mutating func skipBlanks() {
        while let byte = peek, byte == 0x20 || byte == 0x09 { step() }
    }

    /// Consumes blanks, line ends and comments.
    private mutating func skipSpace() throws(DecodingStop) {
        while let byte = peek {
            switch byte {
            case 0x20, 0x09, 0x0A: step()
            case 0x0D where at + 1 < bytes.count && bytes[at + 1] == 0x0A: step()
            case UInt8(ascii: "#"): try skipComment()
            default: return
            }
        }
    }

    private func fail(_ message: String, at place: TextPosition? = nil) -> DecodingStop {
        log.error(at: place ?? self.place, message)
        return .refused
    }

    /// Consumes a comment up to the end of its line.
    private mutating func skipComment() throws(DecodingStop) {
        while let byte = peek, byte != 0x0A {
            if byte < 0x20, byte != 0x09, byte != 0x0D {
                throw fail("a control character in a comment")
            }
            step()
        }
    }

    /// Consumes blanks and a comment. Throws if other text follows in the line.
    private mutating func endLine() throws(DecodingStop) {
        skipBlanks()
        if peek == UInt8(ascii: "#") { try skipComment() }
        if peek == 0x0D, at + 1 < bytes.count, bytes[at + 1] == 0x0A { step() }
        guard let byte = peek else { return }
        guard byte == 0x0A else { throw fail("something behind the value; a line holds one") }
    }

    /// Reads one part of a key, with or without quotation marks.
    private mutating func keyPart() throws(DecodingStop) -> String {
        if let mark = peek, mark == 0x22 || mark == 0x27 { return try shortString(mark) }
        let start = at
        while let byte = peek, isBare(byte) { step() }
        guard at > start else { throw fail("a key is missing here") }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    private func isBare(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || byte == 0x2D
            || byte == 0x5F
    }
}

// MARK: Strings

extension TOMLParser {
    /// Reads a string of any kind; the next byte is its opening mark.
    private mutating func string() throws(DecodingStop) -> String {
        if take("\"\"\"") { return try longString(UInt8(ascii: "\"")) }
        if take("'''") { return try longString(UInt8(ascii: "'")) }
        return try shortString(peek ?? 0x22)
    }

    /// Reads a string on one line. The next byte is its opening mark.
    private mutating func shortString(_ mark: UInt8) throws(DecodingStop) -> String {
        var text: [UInt8] = []
        step()
        while let byte = peek {
            if byte == mark {
                step()
                return String(decoding: text, as: UTF8.self)
            }
            guard byte >= 0x20 && byte != 0x7F || byte == 0x09 else {
                throw fail(
                    byte == 0x0A ? "a line break in a string; close it" : "a control character")
            }
            try take(byte, mark, into: &text)
        }
        throw fail("the text ends inside a string; was it cut off?")
    }

    /// Reads a string of several lines, whose opening marks are consumed.
    private mutating func longString(_ mark: UInt8) throws(DecodingStop) -> String {
        var text: [UInt8] = []
        if peek == 0x0D { step() }
        if peek == 0x0A { step() }
        while let byte = peek {
            if byte == mark, mark == 0x22 ? take("\"\"\"") : take("'''") {
                // Up to two marks may stand before the closing ones.
                while peek == mark, text.suffix(2) != [mark, mark] {
                    text.append(mark)
                    step()
                }
                return String(decoding: text, as: UTF8.self)
            }
            if byte == UInt8(ascii: "\\"), mark == 0x22, skipFoldedLine() { continue }
            try take(byte, mark, into: &text)
        }
        throw fail("the text ends inside a string; was it cut off?")
    }

    private mutating func take(
        _ byte: UInt8, _ mark: UInt8, into text: inout [UInt8]
    ) throws(DecodingStop) {
        guard text.count < Self.longestText else { throw fail(JSONTokenizer.longTextMessage) }
        if byte == UInt8(ascii: "\\"), mark == 0x22 { return text += try escape() }
        text.append(byte)
        step()
    }

    /// Consumes a backslash at the end of a line, and the white space behind it.
    ///
    /// Returns false, and consumes nothing, if the backslash does not end the line.
    private mutating func skipFoldedLine() -> Bool {
        let rest = bytes[(at + 1)...].drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        guard rest.first == 0x0A else { return false }
        step()
        while let byte = peek, [0x20, 0x09, 0x0D, 0x0A].contains(byte) { step() }
        return true
    }

    private mutating func escape() throws(DecodingStop) -> [UInt8] {
        let start = place
        step()
        guard let byte = peek else { throw fail("the text ends inside an escape") }
        step()
        switch byte {
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): return [byte]
        case UInt8(ascii: "u"): return try scalar(digits: 4, at: start)
        case UInt8(ascii: "U"): return try scalar(digits: 8, at: start)
        default: throw fail("no escape of TOML; write \\\\ for a backslash", at: start)
        }
    }

    private mutating func scalar(digits: Int, at start: TextPosition) throws(DecodingStop)
        -> [UInt8]
    {
        var code: UInt32 = 0
        for _ in 0..<digits {
            guard let byte = peek, let digit = Hex.value(of: byte) else {
                throw fail("\(digits) hexadecimal digits are missing here", at: start)
            }
            code = code << 4 | UInt32(digit)
            step()
        }
        guard let scalar = Unicode.Scalar(code) else {
            throw fail("the escape stands for no character", at: start)
        }
        return Array(String(scalar).utf8)
    }
}

// MARK: Plain values

extension TOMLParser {
    /// Reads a number, true, false or a date: any value that is no string, array or table.
    private mutating func plainValue() throws(DecodingStop) -> JSONTree.Value {
        let (start, startPlace) = (at, place)
        while let byte = peek, isPlain(byte) { step() }
        // One space may separate a date from its time.
        if at - start == 10, bytes[start + 4] == 0x2D, peek == 0x20, at + 1 < bytes.count,
            (0x30...0x39).contains(bytes[at + 1])
        {
            step()
            while let byte = peek, isPlain(byte) { step() }
        }
        let text = String(decoding: bytes[start..<at], as: UTF8.self)
        switch text {
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        case "": throw fail("a value is missing here", at: startPlace)
        default: break
        }
        if let number = TOMLParser.number(text) { return .number(number) }
        guard TOMLParser.isDate(text) else {
            throw fail(
                "\(Quoted(text, limit: 40)) is no value; text stands in quotation marks",
                at: startPlace)
        }
        return .string(text)
    }

    private func isPlain(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
            || "+-_.:".utf8.contains(byte)
    }

    /// Returns a number without its underscores. Returns nil if the text is no number.
    private static func number(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        let digits = { (byte: UInt8) in (0x30...0x39).contains(byte) }
        for (position, byte) in bytes.enumerated() where byte == UInt8(ascii: "_") {
            guard position > 0, position + 1 < bytes.count, digits(bytes[position - 1]),
                digits(bytes[position + 1])
            else { return nil }
        }
        var plain = bytes.filter { $0 != UInt8(ascii: "_") }
        if plain.first == UInt8(ascii: "+") { plain.removeFirst() }
        if JSONTokenizer.isNumber(plain) { return String(decoding: plain, as: UTF8.self) }
        let based = text.hasPrefix("0x") || text.hasPrefix("0o") || text.hasPrefix("0b")
        return based || ["inf", "+inf", "-inf", "nan", "+nan", "-nan"].contains(text) ? text : nil
    }

    /// Whether a text begins as a date or a time does.
    private static func isDate(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        let digits = { (range: Range<Int>) in
            bytes.count >= range.upperBound
                && bytes[range].allSatisfy { (0x30...0x39).contains($0) }
        }
        let isDate = digits(0..<4) && bytes.count >= 10 && bytes[4] == 0x2D && digits(5..<7)
        return isDate || (digits(0..<2) && bytes.count >= 5 && bytes[2] == 0x3A && digits(3..<5))
    }
}

/// A table of the document while the parser reads it.
final class TOMLTable {
    /// How a table was made. This decides which keys and headers may add to it.
    package enum Kind { case header, implied, dotted, inline }

    /// A key with its value, its table, or its array of tables.
    private struct Member {
        let key: ListWord
        var value: JSONTree?
        var tables: [TOMLTable] = []
        var isArray = false
    }

    private let place: TextPosition
    private var kind: Kind
    private var members: [Member] = []
    private var positions: [String: Int] = [:]

    init(at place: TextPosition, kind: Kind) { (self.place, self.kind) = (place, kind) }

    /// Returns the table below a key, and makes it if the key is new.
    ///
    /// Returns nil if the key has another value, or if its table is closed to this kind of key.
    func descend(_ key: ListWord, as kind: Kind) -> TOMLTable? {
        guard let position = positions[key.value] else {
            let table = TOMLTable(at: key.place, kind: kind == .header ? .implied : kind)
            append(Member(key: key, tables: [table]))
            return table
        }
        guard let table = members[position].tables.last else { return nil }
        if members[position].isArray { return kind == .header ? table : nil }
        if table.kind == .inline { return nil }
        return kind == .dotted && table.kind != .dotted ? nil : table
    }

    /// Returns the table that a header opens.
    ///
    /// Returns nil if a header opened this table before, or if the key has another value.
    func open(_ key: ListWord, isArray: Bool, at place: TextPosition) -> TOMLTable? {
        guard let position = positions[key.value] else {
            let table = TOMLTable(at: place, kind: .header)
            append(Member(key: key, tables: [table], isArray: isArray))
            return table
        }
        guard let last = members[position].tables.last, members[position].isArray == isArray
        else { return nil }
        if isArray {
            let table = TOMLTable(at: place, kind: .header)
            members[position].tables.append(table)
            return table
        }
        guard last.kind == .implied else { return nil }
        last.kind = .header
        return last
    }

    /// Sets a value. Returns false if the table has the key already.
    func put(_ key: ListWord, _ value: JSONTree) -> Bool {
        guard positions[key.value] == nil else { return false }
        append(Member(key: key, value: value))
        return true
    }

    private func append(_ member: Member) {
        positions[member.key.value] = members.count
        members.append(member)
    }

    /// The table as a JSON tree.
    var tree: JSONTree {
        let members = members.map { member in
            let trees = member.tables.map(\.tree)
            let place = member.key.place
            return JSONTree.Member(
                key: member.key.value, place: place,
                value: member.isArray
                    ? JSONTree(.array(trees), at: place)
                    : member.value ?? trees.first ?? JSONTree(.null, at: place))
        }
        return JSONTree(.object(members), at: place)
    }
}
