/// What a decoder knows to be right in place of what is wrong.
///
/// It is certain only if the text at the place is exactly what the decoder took it for: a value that
/// is written with escapes, say, is left alone.
package enum Correction: Sendable, Hashable {
    /// What stands at the place as it is written, and what should: `"12"`, `12`. Nothing removes it.
    case written(String, String)
    /// The value without its quotes, and what should stand between them.
    case value(String, String)
    /// A text is missing at a place of its own.
    case missing(String, at: TextPosition)
    /// A JSON text between single quotes, which should be double ones.
    case quotes
}

extension Correction {
    /// A change of a value; nil where nothing would change.
    static func changing(_ old: String, to new: String?) -> Correction? {
        guard let new, new != old else { return nil }
        return .value(old, new)
    }
}
