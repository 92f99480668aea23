internal import MirrorModel

/// Reads TOML 1.0 into a tree with the place of each part.
///
/// It is strict where two readers may read differently: duplicate keys, tables that are opened
/// twice. A date is kept as its text.
struct TOMLParser {
    /// How many arrays and inline tables may be open at once, and how many parts a key may have.
    static let deepest = 32
    /// The greatest length of a text in bytes.
    static let longestText = 1 << 20

    let bytes: [UInt8]
    let log: DiagnosticLog
    var at = 0
    private var line = 1
    private var lineStart = 0
    private var continuations = 0
    /// How many arrays and inline tables are open.
    var depth = 0
    private let root = TOMLTable(at: TextPosition(), kind: .header)

    /// Reads a whole document, which is valid UTF-8. Errors go to the log.
    static func tree(of text: ListText, log: DiagnosticLog) throws(DecodingStop) -> JSONTree {
        var parser = TOMLParser(bytes: Array(text.text.utf8), log: log)
        try parser.parse()
        return parser.root.tree
    }

    private init(bytes: [UInt8], log: DiagnosticLog) {
        (self.bytes, self.log) = (bytes, log)
    }

    /// The next byte; nil at the end.
    var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

    var place: TextPosition {
        TextPosition(line: line, column: at - lineStart - continuations + 1)
    }

    /// Consumes a byte.
    mutating func step() {
        if bytes[at] == 0x0A {
            (line, lineStart, continuations) = (line + 1, at + 1, 0)
        } else if bytes[at] & 0xC0 == 0x80 {
            continuations += 1
        }
        at += 1
    }

    /// Consumes `text` if it comes next; false otherwise.
    mutating func take(_ text: StaticString) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        guard bytes[at...].starts(with: wanted) else { return false }
        for _ in wanted { step() }
        return true
    }

    mutating func skipBlanks() {
        while let byte = peek, byte == 0x20 || byte == 0x09 { step() }
    }

    /// Consumes blanks, line ends and comments.
    mutating func skipSpace() throws(DecodingStop) {
        while let byte = peek {
            switch byte {
            case 0x20, 0x09, 0x0A: step()
            case 0x0D where at + 1 < bytes.count && bytes[at + 1] == 0x0A: step()
            case UInt8(ascii: "#"): try skipComment()
            default: return
            }
        }
    }

    func fail(_ message: String, at place: TextPosition? = nil) -> DecodingStop {
        log.error(at: place ?? self.place, message)
        return .refused
    }

    private mutating func skipComment() throws(DecodingStop) {
        while let byte = peek, byte != 0x0A {
            if byte < 0x20, byte != 0x09, byte != 0x0D {
                throw fail("a control character in a comment")
            }
            step()
        }
    }

    private mutating func parse() throws(DecodingStop) {
        var table = root
        while true {
            try skipSpace()
            guard let byte = peek else { return }
            if byte == UInt8(ascii: "[") {
                table = try header()
            } else {
                try pair(in: table, ending: .line)
            }
            try endLine()
        }
    }

    private mutating func endLine() throws(DecodingStop) {
        skipBlanks()
        if peek == UInt8(ascii: "#") { try skipComment() }
        if peek == 0x0D, at + 1 < bytes.count, bytes[at + 1] == 0x0A { step() }
        guard let byte = peek else { return }
        guard byte == 0x0A else { throw fail("something behind the value; a line holds one") }
    }

    /// `[a.b]` or `[[a.b]]`.
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

    /// Where a pair may end.
    enum PairEnding { case line, inline }

    /// `a.b = value`.
    mutating func pair(in table: TOMLTable, ending: PairEnding) throws(DecodingStop) {
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

    /// The parts of a key, with the blanks around it.
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
