/// A header value or body in which `${NAME}` stands for a value supplied at run time.
///
/// `$$` stands for a dollar sign. mirror fills in the values only when it makes a request. So no
/// manifest in memory, plan or output holds a secret.
struct Template: Sendable, Hashable {
    /// A literal text, or a name that a value replaces.
    enum Piece: Sendable, Hashable {
        case literal(String)
        case variable(String)
    }

    /// The pieces, in order.
    let pieces: [Piece]

    /// Takes pieces as they are.
    init(pieces: [Piece]) { self.pieces = pieces }

    /// Creates a template of one literal text, in which `$` has no meaning.
    init(literal: String) { pieces = literal.isEmpty ? [] : [.literal(literal)] }

    /// The names of the variables, in order, with repetitions.
    var variables: [String] {
        pieces.compactMap { if case .variable(let name) = $0 { name } else { nil } }
    }
}

/// A header field of a request: a name and a value that can go on the wire as one line.
public struct HeaderField: Sendable, Hashable {
    /// The field's name as written. Names are compared without case (RFC 9110 §5.1).
    public let name: String
    /// The value, with variables not yet filled in.
    let value: Template

    /// Creates a header field of a program. A `$` in the value has no meaning.
    ///
    /// Throws `HeaderError` for a name that is no token or that mirror sets itself, and for a value
    /// with a line break or another control character.
    public init(_ name: String, _ value: String) throws(HeaderError) {
        try self.init(name: name, value: Template(literal: value))
    }

    /// Creates a header field from a manifest, after checking its name and value.
    ///
    /// Throws for a name that is no token or that mirror sets itself. Throws for a value with a
    /// line break or another control character. The value of a variable is checked when it is
    /// filled in.
    init(name: String, value: Template) throws(HeaderError) {
        if let flaw = HeaderError.ofName(name) { throw flaw }
        for case .literal(let text) in value.pieces {
            if let flaw = HeaderError.ofValue(text) { throw flaw }
        }
        self.name = name
        self.value = value
    }
}

extension HeaderField: CustomStringConvertible, CustomReflectable {
    /// The name only, because the value may be a secret.
    public var description: String { "\(name): …" }

    /// The name only.
    public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}

extension Template {
    /// Reads a text with `${NAME}` and `$$`. Throws `TemplateError` for any other dollar sign.
    init(_ text: String) throws(TemplateError) {
        guard text.utf8.contains(UInt8(ascii: "$")) else {
            self.init(literal: text)
            return
        }
        var pieces: [Piece] = []
        var literal = ""
        var rest = text[...]
        while let (before, after) = rest.halves(atFirst: "$") {
            literal += before
            rest = after
            switch rest.utf8.first {
            case UInt8(ascii: "$"):
                literal += "$"
                rest = rest[rest.utf8.index(after: rest.startIndex)...]
            case UInt8(ascii: "{"):
                let braced = rest[rest.utf8.index(after: rest.startIndex)...]
                guard let (inside, after) = braced.halves(atFirst: "}") else { throw .unclosed }
                let name = String(inside)
                guard Template.isName(name) else { throw .name(name) }
                if !literal.isEmpty { pieces.append(.literal(literal)) }
                literal = ""
                pieces.append(.variable(name))
                rest = after
            default: throw .loneDollar
            }
        }
        literal += rest
        if !literal.isEmpty { pieces.append(.literal(literal)) }
        self.init(pieces: pieces)
    }

    /// Whether a text can name an environment variable: letters, digits and `_`, but no digit
    /// first.
    static func isName(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// Whether the template has no variable to fill in.
    var isLiteral: Bool { variables.isEmpty }

    /// Returns the text with each variable replaced. Returns nil if a variable has no value.
    func filled(by value: (String) -> String?) -> String? {
        var text = ""
        for piece in pieces {
            switch piece {
            case .literal(let literal): text += literal
            case .variable(let name):
                guard let value = value(name) else { return nil }
                text += value
            }
        }
        return text
    }
}

extension Template: CustomStringConvertible {
    /// The template as it is written in a manifest, with `$` doubled.
    var description: String {
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .literal(let literal):
                text += literal.parts(at: "$", keepingEmpty: true)
                    .joined(separator: "$$")
            case .variable(let name): text += "${\(name)}"
            }
        }
    }
}

/// Why a text is not a template.
enum TemplateError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A `$` that neither another `$` nor `{` follows.
    case loneDollar
    /// A `${` without its `}`.
    case unclosed
    /// The text between the braces cannot be the name of a variable.
    case name(String)

    /// The error and its remedy, as the end of a sentence.
    var description: String {
        switch self {
        case .loneDollar: "a $ stands alone; write $$ for a dollar sign, ${NAME} for a value"
        case .unclosed: "a ${ has no }; write ${NAME}, or $$ for a dollar sign"
        case .name(let name):
            "${\(Escaped(name, limit: 40))} names no variable; use letters, digits and _"
        }
    }
}

/// Why a name and a value cannot be a header of a request.
public enum HeaderError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name is not a token (RFC 9110 §5.6.2).
    case name(String)
    /// mirror sets a header of this name itself.
    case reserved(String)
    /// The value has a line break, which would begin another header.
    case lineBreak
    /// The value has another control character.
    case controlCharacter

    /// The error and its remedy, as the end of a sentence.
    public var description: String {
        switch self {
        case .name(let name): "\(Quoted(name)) is not a header name; use letters, digits and -"
        case .reserved(let name): "mirror sets \(Escaped(name, limit: 80)) itself; leave it out"
        case .lineBreak: "the value has a line break; write it on one line"
        case .controlCharacter: "the value has a control character"
        }
    }

    /// Whether the name is wrong, and not the value.
    var isOfName: Bool {
        switch self {
        case .name, .reserved: true
        case .lineBreak, .controlCharacter: false
        }
    }

    /// Returns what is wrong with a header's name. Returns nil if the name is sound.
    static func ofName(_ name: String) -> HeaderError? {
        guard FieldScanner.isToken(name.utf8) else { return .name(name) }
        let lowercase = name.lowercased()
        let isReserved =
            reservedNames.contains(lowercase) || lowercase.utf8.starts(with: "if-".utf8)
            || lowercase.utf8.starts(with: "proxy-".utf8)
        return isReserved ? .reserved(name) : nil
    }

    /// Returns what is wrong with a header's value. Returns nil if the value is sound.
    static func ofValue(_ value: String) -> HeaderError? {
        for scalar in value.unicodeScalars {
            switch scalar.value {
            case 0x0A, 0x0D: return .lineBreak
            case 0x09: continue
            case 0..<0x20, 0x7F..<0xA0: return .controlCharacter
            default: continue
            }
        }
        return nil
    }

    private static let reservedNames: Set<String> = [
        "range", "accept-encoding", "host", "content-length", "transfer-encoding", "te", "trailer",
        "connection", "upgrade", "expect",
    ]
}

extension HeaderField {
    /// Whether a name is this field's name: ASCII letters match in either case (RFC 9110 §5.1).
    public func isNamed(_ other: String) -> Bool {
        name.utf8.count == other.utf8.count
            && zip(name.utf8, other.utf8).allSatisfy {
                $0 == $1 || $0.asciiLowercased == $1.asciiLowercased
            }
    }

    /// The name in lower case: equal for two names of the same field.
    var key: String { name.lowercased() }
}

extension [HeaderField] {
    /// Returns these fields and others. A field of `others` replaces a field of the same name.
    func overlaid(with others: [HeaderField]) -> [HeaderField] {
        if others.isEmpty { return self }
        if others.count <= 8 {
            return filter { field in !others.contains { $0.isNamed(field.name) } } + others
        }
        let names = Set(others.map(\.key))
        return filter { !names.contains($0.key) } + others
    }
}

extension UInt8 {
    /// The byte in lower case if it is an ASCII letter, otherwise unchanged.
    var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}

/// Values in the order in which they were added. Each key occurs once.
///
/// A long list keeps its keys in a set, so that a search for a key stays fast.
struct UniqueList<Key: Hashable & Sendable, Element: Sendable>: Sendable {
    /// The values, in their order.
    private(set) var elements: [Element] = []
    private var keys: [Key] = []
    /// The same keys as a set.
    /// Empty while the list is short, and a search through `keys` is faster.
    private var set: Set<Key> = []
    private static var few: Int { 8 }

    init() {}

    /// Whether the list has a value with this key.
    func contains(_ key: Key) -> Bool {
        keys.count <= Self.few ? keys.contains(key) : set.contains(key)
    }

    /// Adds a value at the end. Returns false, and changes nothing, if the list has the key.
    mutating func append(_ element: Element, key: Key) -> Bool {
        if contains(key) { return false }
        keys.append(key)
        elements.append(element)
        if keys.count > Self.few + 1 {
            set.insert(key)
        } else if keys.count == Self.few + 1 {
            set = Set(keys)
        }
        return true
    }
}

/// Header fields, each name once.
typealias HeaderList = UniqueList<String, HeaderField>

extension UniqueList<String, HeaderField> {
    /// Adds a field. Returns false, and changes nothing, if the list has a field of this name.
    mutating func append(_ field: HeaderField) -> Bool {
        append(field, key: field.key)
    }
}

/// Tags, each once.
typealias TagList = UniqueList<String, String>
