/// The file name that a server suggests (RFC 6266), reduced to its last component.
package enum ContentDisposition {
    /// The suggested name; nil when no suggested name could name a file.
    ///
    /// `filename*` (RFC 8187) wins over `filename`. Both slashes separate components, as §4.3
    /// warns. The result is not yet a target: it is checked like any other component.
    package static func fileName(_ bytes: [UInt8]) -> String? {
        var scan = FieldScanner(bytes)
        scan.skipSpaces()
        guard scan.token() != nil else { return nil }
        var plain: String?
        var extended: String?
        while true {
            scan.skipSpaces()
            guard scan.take(UInt8(ascii: ";")) else { break }
            scan.skipSpaces()
            guard let name = scan.token()?.lowercased() else { continue }
            scan.skipSpaces()
            guard scan.take(UInt8(ascii: "=")) else { continue }
            scan.skipSpaces()
            // Servers send names with spaces unquoted, and Windows paths unescaped.
            let value =
                scan.quotedString(keepsBackslashes: true)
                ?? Array(scan.upTo { $0 == UInt8(ascii: ";") }.trimmingBlanks)
            if name == "filename" { plain = plain ?? text(value) }
            if name == "filename*" { extended = extended ?? decodeExtended(value) }
        }
        return (extended ?? plain).flatMap(lastComponent)
    }

    private static func text(_ bytes: [UInt8]) -> String {
        // Text that is not UTF-8 is taken as ISO-8859-1, whose bytes are code points.
        String(validating: bytes, as: UTF8.self)
            ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// Decodes `charset'language'percent-encoded`.
    private static func decodeExtended(_ bytes: [UInt8]) -> String? {
        let parts = bytes.split(
            separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        var decoded: [UInt8] = []
        var rest = parts[2]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let pair = Hex.decode(rest.prefix(2)), let value = pair.first else { return nil }
            decoded.append(value)
            rest = rest.dropFirst(2)
        }
        switch String(decoding: parts[0], as: UTF8.self).lowercased() {
        case "utf-8": return String(validating: decoded, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(decoded.map { .init($0) }))
        default: return nil
        }
    }

    private static func lastComponent(_ name: String) -> String? {
        let separators = [UInt8(ascii: "/"), UInt8(ascii: "\\")]
        let start = name.utf8.lastIndex { separators.contains($0) }
        let last = start.map { String(name[name.utf8.index(after: $0)...]) } ?? name
        return last.isEmpty || last == "." || last == ".." ? nil : last
    }
}

extension ArraySlice<UInt8> {
    /// The bytes without spaces and tabs at their end.
    fileprivate var trimmingBlanks: Self {
        prefix((lastIndex { !isBlank($0) } ?? startIndex - 1) - startIndex + 1)
    }
}
