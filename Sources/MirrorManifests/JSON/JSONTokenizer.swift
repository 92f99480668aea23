internal import MirrorModel

/// The next token of a JSON text; the tokenizer has the text of keys, strings and numbers.
enum JSONToken {
    case beginObject, endObject, beginArray, endArray
    case key, string, number
    case boolean(Bool)
    case null
    case end
}

/// A pull tokenizer over chunks of JSON text (RFC 8259), strict, with the place of every token.
///
/// It checks everything that does not depend on the meaning of the text: grammar, UTF-8, duplicate
/// keys, depth. A slip with a clear intention (a trailing comma, a comment) is logged and skipped,
/// so that the same run finds the errors behind it.
struct JSONTokenizer {
    /// How many objects and arrays may be open at once.
    static let deepest = 64

    private enum Expectation {
        case value, valueOrEnd, valueAfterComma, keyOrEnd, keyAfterComma, commaOrEnd, nothing
    }

    private var scanner: JSONScanner
    private var expectation = Expectation.value
    /// The opening bytes of the objects and arrays that are open.
    private var containers: [UInt8] = []
    private var keys = KeyLedger()
    private var comma = TextPosition()
    /// Where the last value ended.
    private var valueEnd = TextPosition()
    /// The offset in bytes that the last token begins at.
    private(set) var startOffset = 0

    init(
        _ bytes: ManifestBytes, log: DiagnosticLog, longestText: Int = JSONScanner.longestText
    ) throws(DecodingStop) {
        scanner = try JSONScanner(bytes, log: log, longestText: longestText)
    }

    /// Where the last token begins.
    var start: TextPosition { scanner.start }
    /// The offset in bytes at which the last token ends; for a key, behind its colon.
    var endOffset: Int { scanner.cursor.offset }
    /// The text of the last key, string or number.
    var string: String { scanner.string }
    /// The bytes at hand, which the ranges of a plain object refer to.
    var chunk: [UInt8] { scanner.cursor.chunk }

    /// The next token; `end` when the text is complete.
    mutating func next() throws(DecodingStop) -> JSONToken {
        while true {
            guard let byte = try scanner.skipSpace() else {
                if case .nothing = expectation { return .end }
                throw scanner.fail(.unexpectedEnd(wanted: wanted))
            }
            scanner.begin()
            startOffset = endOffset
            switch (expectation, byte) {
            case (.nothing, _): throw scanner.fail(.afterEnd(try scanner.excerpt()))
            case (.commaOrEnd, UInt8(ascii: ",")):
                comma = start
                scanner.take()
                expectation = isInObject ? .keyAfterComma : .valueAfterComma
            case _ where closes(byte): return close()
            case (.commaOrEnd, UInt8(ascii: "\"")), (.commaOrEnd, UInt8(ascii: "{")):
                scanner.report(.missingComma, correction: .missing(",", at: valueEnd))
                expectation = isInObject ? .keyAfterComma : .valueAfterComma
            case (.commaOrEnd, _):
                throw scanner.fail(.unexpected(try scanner.excerpt(), wanted: wanted))
            case (.keyOrEnd, _), (.keyAfterComma, _): return try key(byte)
            case (.value, _), (.valueOrEnd, _), (.valueAfterComma, _): return try value(byte)
            }
        }
    }

    /// Skips the value that begins with the token that was just returned.
    mutating func skip(_ token: JSONToken) throws(DecodingStop) {
        switch token {
        case .beginObject, .beginArray:
            let depth = containers.count
            while containers.count >= depth { _ = try next() }
        default: break
        }
    }

    private var isInObject: Bool { containers.last == UInt8(ascii: "{") }

    private var wanted: String {
        switch expectation {
        case .value, .valueAfterComma: "a value"
        case .valueOrEnd: "a value or ]"
        case .keyOrEnd: "a key or }"
        case .keyAfterComma: "a key"
        case .commaOrEnd: isInObject ? "a comma or }" : "a comma or ]"
        case .nothing: "the end"
        }
    }

    /// Whether a byte ends the innermost container here, even after a comma, which is a slip.
    private func closes(_ byte: UInt8) -> Bool {
        switch (expectation, byte) {
        case (.keyOrEnd, UInt8(ascii: "}")), (.keyAfterComma, UInt8(ascii: "}")): true
        case (.valueOrEnd, UInt8(ascii: "]")), (.valueAfterComma, UInt8(ascii: "]")): true
        case (.commaOrEnd, UInt8(ascii: "}")): isInObject
        case (.commaOrEnd, UInt8(ascii: "]")): !isInObject
        default: false
        }
    }

    private mutating func close() -> JSONToken {
        switch expectation {
        case .keyAfterComma, .valueAfterComma:
            scanner.report(.trailingComma, at: comma, correction: .written(",", ""))
        default: break
        }
        scanner.take()
        let token: JSONToken = isInObject ? .endObject : .endArray
        if isInObject { keys.close() }
        containers.removeLast()
        afterValue()
        return token
    }

    private mutating func open(_ byte: UInt8) throws(DecodingStop) {
        guard containers.count < Self.deepest else { throw scanner.fail(.depth) }
        scanner.take()
        containers.append(byte)
        if byte == UInt8(ascii: "{") {
            keys.open()
            expectation = .keyOrEnd
        } else {
            expectation = .valueOrEnd
        }
    }

    private mutating func afterValue() {
        expectation = containers.isEmpty ? .nothing : .commaOrEnd
        valueEnd = scanner.cursor.position
    }

    private mutating func key(_ byte: UInt8) throws(DecodingStop) -> JSONToken {
        guard byte == UInt8(ascii: "\"") else {
            if byte == UInt8(ascii: "'") { throw scanner.fail(.singleQuote, correction: .quotes) }
            let text = try scanner.excerpt()
            let isName = text.utf8.first.map {
                $0 >= 0x80 || Template.isName(String(text.prefix(1)))
            }
            guard isName == true else { throw scanner.fail(.unexpected(text, wanted: "a key")) }
            throw scanner.fail(.unquotedKey(text), correction: .written(text, "\"\(text)\""))
        }
        try scanner.readString()
        if !keys.enter(scanner.text) { scanner.report(.duplicateKey(scanner.string)) }
        let place = start
        let colon = try scanner.skipSpace()
        scanner.begin()
        guard let colon else { throw scanner.fail(.unexpectedEnd(wanted: "a colon")) }
        guard colon == UInt8(ascii: ":") else {
            throw scanner.fail(.unexpected(try scanner.excerpt(), wanted: "a colon"))
        }
        scanner.take()
        scanner.begin(at: place)
        expectation = .value
        return .key
    }

    private mutating func value(_ byte: UInt8) throws(DecodingStop) -> JSONToken {
        switch byte {
        case UInt8(ascii: "{"):
            try open(byte)
            return .beginObject
        case UInt8(ascii: "["):
            try open(byte)
            return .beginArray
        case UInt8(ascii: "\""):
            try scanner.readString()
            afterValue()
            return .string
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"),
            UInt8(ascii: "."):
            try scanner.readNumber()
            afterValue()
            return .number
        case UInt8(ascii: "'"): throw scanner.fail(.singleQuote, correction: .quotes)
        case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "}"), UInt8(ascii: "]"):
            throw scanner.fail(.unexpected(try scanner.excerpt(), wanted: wanted))
        default:
            let token = try literal()
            afterValue()
            return token
        }
    }

    private mutating func literal() throws(DecodingStop) -> JSONToken {
        switch try scanner.excerpt() {
        case "true": .boolean(true)
        case "false": .boolean(false)
        case "null": .null
        case let other:
            let lower = other.lowercased()
            let isMeant = ["true", "false", "null"].contains(lower)
            throw scanner.fail(.literal(other), correction: isMeant ? .written(other, lower) : nil)
        }
    }
}

// MARK: Plain objects

extension JSONTokenizer {
    /// The next object of a list, if it is plain; the tokenizer does not move until `take`.
    func plainObject() -> PlainObject? {
        guard containers.last == UInt8(ascii: "[") else { return nil }
        let needsComma: Bool
        switch expectation {
        case .commaOrEnd: needsComma = true
        case .valueOrEnd, .valueAfterComma: needsComma = false
        default: return nil
        }
        return PlainObject.next(in: chunk, from: scanner.cursor.mark, afterComma: needsComma)
    }

    /// Skips a plain object.
    mutating func take(_ object: PlainObject) {
        scanner.move(to: object.end)
        afterValue()
    }
}
