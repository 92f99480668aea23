/// Subresource Integrity metadata: `sha512-…base64…`, several separated by spaces.
package enum Integrity {
    /// A digest as metadata: its algorithm, a hyphen, and the value in base64.
    package static func text(of digest: Digest) -> String {
        digest.algorithm.rawValue + "-" + Base64.encode(digest.bytes)
    }

    /// The digest of the strongest algorithm that the text names (SRI §3.3.3).
    ///
    /// sha1 is read because npm wrote it. An unknown algorithm is skipped if a known one stands beside
    /// it. Options after `?` are ignored, as the specification says.
    package static func strongest(in text: String) throws(IntegrityFlaw) -> Digest {
        var strongest: Digest?
        var unknown: String?
        for metadata in text.split(whereSeparator: { " \t\n\r".contains($0) }) {
            guard let dash = metadata.firstIndex(of: "-") else {
                throw .malformed(String(metadata))
            }
            let name = String(metadata[..<dash])
            guard let algorithm = DigestAlgorithm(rawValue: name.lowercased()) else {
                unknown = unknown ?? name
                continue
            }
            let value = metadata[metadata.index(after: dash)...].split(
                separator: "?", maxSplits: 1, omittingEmptySubsequences: false)[0]
            guard let bytes = Base64.decode(value.utf8) else {
                throw .malformed(String(metadata))
            }
            guard let digest = Digest(algorithm, bytes: bytes) else {
                throw .length(bytes: bytes.count, of: algorithm)
            }
            if let previous = strongest {
                if previous.algorithm == algorithm, previous != digest { throw .several(algorithm) }
                if algorithm <= previous.algorithm { continue }
            }
            strongest = digest
        }
        if let strongest { return strongest }
        if let unknown { throw .algorithm(unknown) }
        throw .malformed(text)
    }
}

/// Why a text is no integrity metadata that mirror can use.
package enum IntegrityFlaw: Error, Sendable, Hashable, CustomStringConvertible {
    /// It is not `algorithm-base64`.
    case malformed(String)
    /// It names only algorithms that are not known.
    case algorithm(String)
    /// The value has another length than the algorithm's.
    case length(bytes: Int, of: DigestAlgorithm)
    /// It gives two values of its strongest algorithm.
    case several(DigestAlgorithm)

    /// What is wrong and what would be right, as the end of a sentence.
    package var description: String {
        switch self {
        case .malformed(let text): "\(Quoted(text)) is not of the form sha512-…base64…"
        case .algorithm(let name): "\(Quoted(name)) is none of sha256, sha384 and sha512"
        case .length(let bytes, let algorithm):
            "the value has \(Counted(bytes, "byte")); \(algorithm.rawValue) has \(algorithm.byteCount)"
        case .several(let algorithm):
            "it has two different \(algorithm.rawValue) values; give the one of the bytes"
        }
    }
}
