/// A header value or body in which `${NAME}` stands for a value supplied at run time.
///
/// `$$` is a dollar sign. The values are filled in only when a request is made. So a manifest that
/// is held, planned or printed never holds a secret.
public struct Template: Sendable, Hashable {
    /// A piece of text, or a name whose value replaces it.
    public enum Piece: Sendable, Hashable {
        case literal(String)
        case variable(String)
    }

    /// The pieces, in order.
    public let pieces: [Piece]

    /// Takes pieces as they are.
    public init(pieces: [Piece]) { self.pieces = pieces }

    /// A template of one literal, `$` included as it is.
    public init(literal: String) { pieces = literal.isEmpty ? [] : [.literal(literal)] }

    /// The names of the variables, in order, with repetitions.
    public var variables: [String] {
        pieces.compactMap { if case .variable(let name) = $0 { name } else { nil } }
    }
}

/// A header field of a request: a name and a value that can go on the wire as one line.
public struct HeaderField: Sendable, Hashable {
    /// The field's name as written; compared without case (RFC 9110 §5.1).
    public let name: String
    /// The value, with variables not yet filled in.
    public let value: Template

    /// Checks a name and a value, whether a manifest or a program gives them.
    ///
    /// Throws for a name that is no token or that mirror sets itself, and for a value with a line
    /// break or another control character. The value of a variable is checked when it is filled in.
    public init(name: String, value: Template) throws(HeaderFlaw) {
        if let flaw = HeaderFlaw.ofName(name) { throw flaw }
        for case .literal(let text) in value.pieces {
            if let flaw = HeaderFlaw.ofValue(text) { throw flaw }
        }
        self.name = name
        self.value = value
    }
}
