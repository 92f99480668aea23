/// Digests that a server sends with an answer, of the whole file (RFC 9530 §3, Repr-Digest).
public enum ReprDigest {
    /// The sha-256 and sha-512 values of the field's joined lines, strongest first.
    ///
    /// A field that is not a dictionary of structured fields (RFC 8941 §4.2) is ignored as a whole.
    public static func digests(_ bytes: [UInt8]) -> [Digest] {
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
            // Another kind of value, for a key that is not ours.
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

/// Base64 with padding (RFC 4648 §4).
enum Base64 {
    /// The bytes; nil for other characters, white space, or missing padding.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        let padding = Array(text.suffix(2)).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for character in text.dropLast(padding) {
            guard let value = value(of: character) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }

    private static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
