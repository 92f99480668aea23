internal import MirrorModel

/// Why a text is not JSON (RFC 8259), or is JSON that two readers may read differently.
enum JSONFlaw: CustomStringConvertible {
    case trailingComma
    case missingComma
    case comment
    case duplicateKey(String)
    case depth
    case unexpected(String, wanted: String)
    case unexpectedEnd(wanted: String)
    case afterEnd(String)
    case invalidUTF8
    case otherEncoding(String)
    case controlCharacter(UInt8)
    case escape(String)
    case loneSurrogate(String)
    case number(String)
    case numberDoesNotFit(String)
    case literal(String)
    case unquotedKey(String)
    case singleQuote
    case longText

    var description: String {
        switch self {
        case .trailingComma: "a comma with nothing after it; remove it"
        case .missingComma: "a comma is missing before this"
        case .comment: "a comment, which JSON does not have; use \"x-note\": \"…\""
        case .duplicateKey(let key): "the key \(Quoted(key)) is here a second time; keep one"
        case .depth: "more than \(JSONTokenizer.deepest) levels of objects and arrays"
        case .unexpected(let text, let wanted): "\(Quoted(text)) where \(wanted) should be"
        case .unexpectedEnd(let wanted):
            "the text ends where \(wanted) should be; was it cut off?"
        case .afterEnd(let text): "\(Quoted(text)) after the end of the manifest; remove it"
        case .invalidUTF8: "invalid UTF-8; save the manifest as UTF-8"
        case .otherEncoding(let name): "the text is \(name); save the manifest as UTF-8"
        case .controlCharacter(let byte):
            byte == 0x0A || byte == 0x0D
                ? "a line break in a string; close the string or write \\n"
                : "a control character in a string; write \\u00\(Hex.encode([byte]))"
        case .escape(let text):
            "\(Quoted(text)) is no escape; write \\\\ for a backslash, or \\u and four digits"
        case .loneSurrogate(let text): "\(Quoted(text)) is half of a pair of surrogates"
        case .number(let text):
            "\(Quoted(text)) is not a JSON number; write digits without leading zeros or +"
        case .numberDoesNotFit(let text): "the number \(Escaped(text, limit: 40)) does not fit"
        case .literal(let text) where ["true", "false", "null"].contains(text.lowercased()):
            "\(Quoted(text)) is no JSON value; write \(text.lowercased())"
        case .literal(let text): "\(Quoted(text)) is no JSON value; text stands in double quotes"
        case .unquotedKey(let text):
            "the key \(Escaped(text, limit: 40)) has no quotes; write \(Quoted(text))"
        case .singleQuote: "a single quote; JSON has double quotes"
        case .longText: "a text of more than \(JSONScanner.longestText >> 20) MiB"
        }
    }
}
