internal import MirrorModel

/// Reads TOML 1.0 into a tree with the place of each part.
///
/// It is strict where two readers may read differently: duplicate keys, tables that are opened
/// twice.
struct TOMLParser {
    /// How many arrays and inline tables may be open at once, and how many parts a key may have.
    static let deepest = 32

    private var scanner: TOMLScanner
    /// How many arrays and inline tables are open.
    private var depth = 0
    private let root = TOMLTable(at: TextPosition(), kind: .header)

    /// Reads a whole document, which is valid UTF-8. Errors go to the log.
    static func tree(of text: ListText, log: DiagnosticLog) throws(DecodingStop) -> JSONTree {
        var parser = TOMLParser(
            scanner: TOMLScanner(ListText.withoutMark(try text.whole()), log: log))
        try parser.parse()
        return parser.root.tree
    }

    private init(scanner: TOMLScanner) { self.scanner = scanner }

    private mutating func parse() throws(DecodingStop) {
        var table = root
        while true {
            try scanner.skipSpace()
            guard let byte = scanner.peek else { return }
            if byte == UInt8(ascii: "[") {
                table = try header()
            } else {
                try pair(in: table)
            }
            try scanner.endLine()
        }
    }

    /// `[a.b]` or `[[a.b]]`.
    private mutating func header() throws(DecodingStop) -> TOMLTable {
        let start = scanner.place
        let isArray = scanner.take("[[")
        if !isArray { scanner.step() }
        let keys = try key()
        guard scanner.take(isArray ? "]]" : "]") else {
            throw scanner.fail("\(isArray ? "]]" : "]") is missing behind the table's name")
        }
        var table = root
        for part in keys.dropLast() {
            guard let next = table.descend(part, as: .header) else { throw refuse(part) }
            table = next
        }
        guard let last = keys.last, let opened = table.open(last, isArray: isArray, at: start)
        else { throw keys.last.map(refuse) ?? scanner.fail("a table without a name") }
        return opened
    }

    /// `a.b = value`.
    private mutating func pair(in table: TOMLTable) throws(DecodingStop) {
        let keys = try key()
        guard scanner.take("=") else { throw scanner.fail("= is missing behind the key") }
        scanner.skipBlanks()
        let item = try value()
        var table = table
        for part in keys.dropLast() {
            guard let next = table.descend(part, as: .dotted) else { throw refuse(part) }
            table = next
        }
        guard let last = keys.last, table.put(last, item) else {
            throw keys.last.map(refuse) ?? scanner.fail("a value without a key")
        }
    }

    private func refuse(_ key: ListWord) -> DecodingStop {
        scanner.fail("the key \(Quoted(key.value)) is here a second time; keep one", at: key.place)
    }

    /// The parts of a key, with the blanks around it.
    private mutating func key() throws(DecodingStop) -> [ListWord] {
        var parts: [ListWord] = []
        repeat {
            scanner.skipBlanks()
            let start = scanner.place
            parts.append(ListWord(value: try scanner.keyPart(), place: start))
            scanner.skipBlanks()
            guard parts.count <= Self.deepest else {
                throw scanner.fail("a key of more than \(Self.deepest) parts", at: start)
            }
        } while scanner.take(".")
        return parts
    }
}

// MARK: Values

extension TOMLParser {
    /// Reads a value.
    private mutating func value() throws(DecodingStop) -> JSONTree {
        let start = scanner.place
        switch scanner.peek {
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            return JSONTree(.string(try scanner.string()), at: start)
        case UInt8(ascii: "["): return JSONTree(.array(try array()), at: start)
        case UInt8(ascii: "{"): return try inlineTable(at: start)
        case nil: throw scanner.fail("the text ends where a value should be; was it cut off?")
        default: return JSONTree(try scanner.plainValue(), at: start)
        }
    }

    private mutating func array() throws(DecodingStop) -> [JSONTree] {
        try open()
        var elements: [JSONTree] = []
        while true {
            try scanner.skipSpace()
            if scanner.take("]") { break }
            elements.append(try value())
            try scanner.skipSpace()
            if scanner.take(",") { continue }
            guard scanner.take("]") else { throw scanner.fail("a comma or ] is missing here") }
            break
        }
        depth -= 1
        return elements
    }

    private mutating func inlineTable(at start: TextPosition) throws(DecodingStop) -> JSONTree {
        try open()
        let table = TOMLTable(at: start, kind: .inline)
        scanner.skipBlanks()
        var isOpen = !scanner.take("}")
        while isOpen {
            try pair(in: table)
            scanner.skipBlanks()
            if scanner.take(",") {
                scanner.skipBlanks()
                continue
            }
            guard scanner.take("}") else { throw scanner.fail("a comma or } is missing here") }
            isOpen = false
        }
        depth -= 1
        return table.tree
    }

    private mutating func open() throws(DecodingStop) {
        guard depth < Self.deepest else {
            throw scanner.fail("more than \(Self.deepest) levels of arrays and tables")
        }
        depth += 1
        scanner.step()
    }
}
