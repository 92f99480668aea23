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
