internal import MirrorModel

/// The corrections of values that can be meant in one way only.
///
/// A suggestion that is merely likely, such as a key with a similar name, is none of them. Nothing is
/// corrected in a URL that may have a secret in it.
enum CertainText {
    /// A digest without the name of its algorithm before it.
    static func digest(
        _ text: String, _ algorithm: DigestAlgorithm, _ flaw: DigestFlaw
    ) -> Correction? {
        guard case .prefixed(let prefix) = flaw else { return nil }
        let digits = String(text.dropFirst(prefix.count))
        return Digest(algorithm, hex: digits).map { _ in .value(text, digits) }
    }

    /// A path with its area in the right case, and without components that mean nothing.
    static func path(_ text: String) -> Correction? {
        var components = text.split(separator: "/", omittingEmptySubsequences: true)
        guard text.first != "/", let first = components.first,
            let area = Area.allCases.first(where: {
                $0.rawValue.lowercased() == first.lowercased()
            })
        else { return nil }
        components[0] = area.rawValue[...]
        components.removeAll { $0 == "." }
        let path = components.joined(separator: "/") + (text.last == "/" ? "/" : "")
        let isSound = Target.flaw(in: text.last == "/" ? path + "x" : path) == nil
        return isSound ? .changing(text, to: path) : nil
    }

    /// A URL with its spaces encoded.
    static func url(_ text: String, _ flaw: URLFlaw.Reason) -> Correction? {
        guard case .character(" ") = flaw, text.first != " ", text.last != " ",
            !text.contains("?"), !text.contains("@")
        else { return nil }
        return .changing(text, to: text.split(separator: " ").joined(separator: "%20"))
    }

    /// A media type without its parameters.
    static func mediaType(_ text: String) -> Correction? {
        guard let (type, _) = text.halves(atFirst: ";") else { return nil }
        let bare = String(type).trimmed
        return MediaRange(bare).map { _ in .value(text, bare) }
    }

    /// A list with a text in it, in place of the text.
    static func list(of value: WrittenValue) -> Correction? {
        guard case .string(let text) = value, !text.isEmpty,
            !text.contains(where: { " ,?@\\\"".contains($0) || !$0.isASCII })
        else { return nil }
        return .written("\"\(text)\"", "[\"\(text)\"]")
    }
}
