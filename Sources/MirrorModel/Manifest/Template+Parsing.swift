extension Template {
    /// Reads `${NAME}` and `$$`; throws when a dollar sign is neither.
    public init(_ text: String) throws(TemplateFlaw) {
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

    /// Whether a text can name an environment variable: letters, digits and `_`, no digit first.
    public static func isName(_ text: some StringProtocol) -> Bool {
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
    public var isLiteral: Bool { variables.isEmpty }

    /// The text with each variable replaced; nil when one has no value.
    public func filled(by value: (String) -> String?) -> String? {
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
    public var description: String {
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
public enum TemplateFlaw: Error, Sendable, Hashable, CustomStringConvertible {
    /// A `$` that neither another `$` nor `{` follows.
    case loneDollar
    /// A `${` without its `}`.
    case unclosed
    /// The text between the braces cannot be the name of a variable.
    case name(String)

    /// The error and its remedy, as the end of a sentence.
    public var description: String {
        switch self {
        case .loneDollar: "a $ stands alone; write $$ for a dollar sign, ${NAME} for a value"
        case .unclosed: "a ${ has no }; write ${NAME}, or $$ for a dollar sign"
        case .name(let name):
            "${\(Escaped(name, limit: 40))} names no variable; use letters, digits and _"
        }
    }
}
