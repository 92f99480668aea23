/// The word of a text that begins at a place: how long it is, and what a correction makes of it.
enum TextToken {
    /// A change of the text from a place on: scalars to skip, scalars to take out, what to put in.
    struct Change {
        let offset: Int
        let count: Int
        let text: String
    }

    /// How many scalars of the line are meant; 0 at its end.
    static func length(at window: TextWindow, kind: DiagnosedText.Kind) -> Int {
        let text = window.after
        guard let first = text.first else { return 0 }
        switch kind {
        case .json: return json(text, first)
        case .xml: return xml(text, first, quote: window.before.last)
        case .list:
            return max(1, text.prefix { $0 != " " && $0 != "\t" }.count)
        }
    }

    private static func json(_ text: [Unicode.Scalar], _ first: Unicode.Scalar) -> Int {
        switch first {
        case "\"", "'": return quoted(text, by: first) ?? text.count
        case "\\": return min(text.count, text.dropFirst().first == "u" ? 6 : 2)
        case "/" where text.dropFirst().first == "*":
            let end = text.indices.dropFirst(3).first { text[$0 - 1] == "*" && text[$0] == "/" }
            return end.map { $0 + 1 } ?? text.count
        case "/", "#": return text.count
        default: return max(1, text.prefix(while: isWord).count)
        }
    }

    /// The length of a quoted text with its quotes; nil if its line has no end of it.
    private static func quoted(_ text: [Unicode.Scalar], by quote: Unicode.Scalar) -> Int? {
        var at = 1
        while at < text.count {
            if text[at] == quote { return at + 1 }
            at += text[at] == "\\" ? 2 : 1
        }
        return nil
    }

    private static func xml(
        _ text: [Unicode.Scalar], _ first: Unicode.Scalar, quote: Unicode.Scalar?
    ) -> Int {
        if first == "<" { return 1 + text.dropFirst().prefix { isWord($0) || $0 == "/" }.count }
        if let quote, quote == "\"" || quote == "'" {
            return text.prefix { $0 != quote }.count
        }
        let run = text.prefix { $0 != "<" }
        let blanks = run.reversed().prefix { $0 == " " || $0 == "\t" }.count
        return max(1, run.count - blanks)
    }

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || ("0"..."9").contains(scalar)
            || "_-+.$".unicodeScalars.contains(scalar)
    }

    // MARK: Corrections

    /// The change that a correction is; nil if the text is not what the decoder took it for.
    static func change(
        for correction: Correction, at window: TextWindow, _ length: Int,
        _ kind: DiagnosedText.Kind
    ) -> Change? {
        let token = String(window.after.prefix(length))
        switch correction {
        case .written(let old, let new):
            return token == old ? Change(offset: 0, count: length, text: new) : nil
        case .missing(let text, _): return Change(offset: 0, count: 0, text: text)
        case .value(let old, let new):
            guard isPlain(old), isPlain(new) else { return nil }
            if kind == .json {
                return token == "\"\(old)\""
                    ? Change(offset: 1, count: length - 2, text: new) : nil
            }
            return token == old ? Change(offset: 0, count: length, text: new) : nil
        case .quotes:
            let inner = token.unicodeScalars.dropFirst().dropLast()
            guard token.hasPrefix("'"), token.hasSuffix("'"), length >= 2, isPlain(String(inner))
            else { return nil }
            let rest = window.after.dropFirst(length).first { $0 != " " && $0 != "\t" }
            guard rest.map({ ":,}]".unicodeScalars.contains($0) }) ?? !window.isCutAfter else {
                return nil
            }
            return Change(offset: 0, count: length, text: "\"\(String(inner))\"")
        }
    }

    /// Whether a text is the same with and without the escapes of JSON and XML.
    private static func isPlain(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy {
            $0.value >= 0x20 && $0.value != 0x7F && !"\"'\\&<>".unicodeScalars.contains($0)
        }
    }
}
