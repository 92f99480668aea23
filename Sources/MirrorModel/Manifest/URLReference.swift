/// The parts of a URL or relative reference, each checked and none resolved (RFC 3986 §4.1).
struct URLReference {
    /// The authority: the text between `//` and the path.
    struct Authority: Equatable {
        var userInfo: String?
        var host = ""
        var port: UInt16?
    }

    var scheme: URLScheme?
    var authority: Authority?
    /// The path, percent-encoded where necessary.
    var path: [UInt8]
    /// The query without the question mark, percent-encoded where necessary.
    var query: [UInt8]?

    init(_ text: String) throws(URLFlaw.Reason) {
        if text.isEmpty { throw .empty }
        let bytes = Array(text.utf8)
        if bytes.count > SourceURL.longestText { throw .long(bytes: bytes.count) }
        if let flaw = URLReference.forbiddenCharacter(bytes, text) { throw flaw }

        var rest = bytes[...]
        if let mark = rest.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<mark] }
        if let colon = URLReference.schemeEnd(rest) {
            let name = String(decoding: rest[..<colon], as: UTF8.self).lowercased()
            guard let known = URLScheme(rawValue: name) else { throw .scheme(name) }
            scheme = known
            rest = rest[(colon + 1)...]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            query = URLReference.encode(rest[(mark + 1)...])
            rest = rest[..<mark]
        }
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            authority = try Authority(rest[..<end])
            rest = rest[end...]
        } else if scheme != nil, scheme != .file {
            throw .missingHost
        }
        path = URLReference.encode(rest)
    }

    /// The end of the scheme: a colon behind scheme characters only.
    private static func schemeEnd(_ bytes: ArraySlice<UInt8>) -> Int? {
        for (at, byte) in zip(bytes.indices, bytes) {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
                continue
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"),
                UInt8(ascii: "."):
                if at == bytes.startIndex { return nil }
            case UInt8(ascii: ":"): return at > bytes.startIndex ? at : nil
            default: return nil
            }
        }
        return nil
    }

    /// Percent-encodes characters outside ASCII; all others are already known to be sound.
    private static func encode(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        if bytes.allSatisfy({ $0 < 0x80 }) { return Array(bytes) }
        var text: [UInt8] = []
        for byte in bytes {
            if byte < 0x80 { text.append(byte) } else { PercentEncoding.append(byte, to: &text) }
        }
        return text
    }

    private static func forbiddenCharacter(_ bytes: [UInt8], _ text: String) -> URLFlaw.Reason? {
        for at in bytes.indices {
            let byte = bytes[at]
            if byte == UInt8(ascii: "%") {
                guard at + 2 < bytes.count, Hex.value(of: bytes[at + 1]) != nil,
                    Hex.value(of: bytes[at + 2]) != nil
                else { return .percent }
            } else if byte < 0x80, !PercentEncoding.isPathByte(byte), byte != UInt8(ascii: "?"),
                byte != UInt8(ascii: "#"), byte != UInt8(ascii: "["), byte != UInt8(ascii: "]")
            {
                return .character(Unicode.Scalar(byte))
            }
        }
        // C1 controls are two bytes of UTF-8 and would reach logs unescaped.
        let control = text.unicodeScalars.first { (0x80..<0xA0).contains($0.value) }
        return control.map { .character($0) }
    }
}
