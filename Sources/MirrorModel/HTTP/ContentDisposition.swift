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

/// Digests of the whole file that a server sends with a response (RFC 9530 §3, Repr-Digest).
package enum ReprDigest {
    /// The sha-256 and sha-512 values of the field's joined lines, strongest first.
    ///
    /// A field that is not a dictionary of structured fields (RFC 8941 §4.2) is ignored as a whole.
    package static func digests(_ bytes: [UInt8]) -> [Digest] {
        if bytes.isEmpty { return [] }
        var scan = FieldScanner(bytes)
        var found: [DigestAlgorithm: Digest] = [:]
        scan.skipSpaces()
        while !scan.isAtEnd {
            guard let member = member(&scan) else { return [] }
            if let algorithm = algorithms[member.key] {
                found[algorithm] = member.bytes.flatMap { Digest(algorithm, bytes: $0) }
            }
            scan.skipSpaces()
            if scan.isAtEnd { break }
            guard scan.take(UInt8(ascii: ",")) else { return [] }
            scan.skipSpaces()
            if scan.isAtEnd { return [] }
        }
        return found.values.sorted { $0.algorithm > $1.algorithm }
    }

    /// The field of a sha256.
    package static func field(of sha256: Digest) -> String {
        "sha-256=:\(Base64.encode(sha256.bytes)):"
    }

    private static let algorithms: [String: DigestAlgorithm] = [
        "sha-256": .sha256, "sha-512": .sha512,
    ]

    private static func member(_ scan: inout FieldScanner) -> (key: String, bytes: [UInt8]?)? {
        guard let key = scan.token() else { return nil }
        guard scan.take(UInt8(ascii: "=")) else { return parameters(&scan) ? (key, nil) : nil }
        var bytes: [UInt8]?
        if scan.take(UInt8(ascii: ":")) {
            bytes = Base64.decode(scan.upTo { $0 == UInt8(ascii: ":") })
            guard bytes != nil, scan.take(UInt8(ascii: ":")) else { return nil }
        } else if scan.quotedString() == nil {
            // A value of another kind, under a key that is not read here.
            guard !scan.upTo({ [0x2C, 0x3B, 0x20, 0x09].contains($0) }).isEmpty else { return nil }
        }
        return parameters(&scan) ? (key, bytes) : nil
    }

    private static func parameters(_ scan: inout FieldScanner) -> Bool {
        while scan.take(UInt8(ascii: ";")) {
            scan.skipSpaces()
            guard scan.token() != nil else { return false }
            if scan.take(UInt8(ascii: "=")), scan.quotedString() == nil {
                _ = scan.upTo { [0x2C, 0x3B, 0x20, 0x09].contains($0) }
            }
        }
        return true
    }
}
