/// A URL as somebody wrote it, made fit to print: quoted, escaped, cut when long, and without what may
/// be secret in it.
package struct QuotedURL: CustomStringConvertible, Sendable {
    /// The text between quotation marks.
    package let description: String

    /// Quotes a text without its query, and with `…` in place of what else may be secret.
    package init(_ text: String) {
        description = Quoted(QuotedURL.withoutSecrets(text)).description
    }

    /// A text without its query, and with `…` in place of what else may be secret.
    package static func withoutSecrets(_ text: String) -> String {
        let scalars = Array(text.unicodeScalars)
        let query = scalars.firstIndex(of: "?") ?? scalars.count
        var shown = String.UnicodeScalarView()
        var at = 0
        for secret in URLSecrets.ranges(in: scalars[...]) where secret.lowerBound <= query {
            shown.append(contentsOf: scalars[at..<secret.lowerBound])
            shown.append("…")
            at = secret.upperBound
        }
        if at < query { shown.append(contentsOf: scalars[at..<query]) }
        return String(shown)
    }
}
