/// The name under which a source is remembered: origin and path, and a hash of the query.
///
/// A query may hold a token, so the index keeps only its SHA-256. Two URLs are the same source when
/// their keys are equal.
public struct SourceKey: Sendable, Hashable, CustomStringConvertible {
    /// `https://host/path`, followed by `?` and 64 hexadecimal digits where there is a query.
    public let text: String

    /// Takes the text as it was stored or made.
    public init(text: String) { self.text = text }

    /// The key for people: origin and path alone.
    public var description: String { (text.halves(atLast: "?")?.before).map(String.init) ?? text }
}
