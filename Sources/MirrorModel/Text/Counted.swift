/// A number with the noun that it counts, in agreement: `1 resource`, `2 resources`, `3 copies`.
///
/// Only this type makes plurals; `verb` extends the agreement to the verb of the sentence.
package struct Counted: Sendable, Hashable, CustomStringConvertible {
    /// The number and the noun.
    package let description: String

    /// Takes a number, the noun's singular, and its plural where that is not made with `s`.
    package init(_ count: some BinaryInteger, _ noun: String, plural: String? = nil) {
        description = "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
    }

    /// The form of a verb that agrees with a number: the first for 1, else the second.
    package static func verb(
        _ count: some BinaryInteger, _ singular: String, _ plural: String
    ) -> String {
        count == 1 ? singular : plural
    }
}
