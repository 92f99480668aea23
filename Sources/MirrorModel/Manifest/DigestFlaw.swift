/// Why a text is not the digest that it is declared to be.
public enum DigestFlaw: Error, Sendable, Hashable, CustomStringConvertible {
    /// It has a prefix such as `sha256:` before the digits.
    case prefixed(String)
    /// It has a character that is not a hexadecimal digit.
    case notHexadecimal(Character)
    /// It has another number of digits than the algorithm's.
    case length(digits: Int, of: DigestAlgorithm)
    /// It is base64, as Subresource Integrity writes it.
    case integrity(DigestAlgorithm)

    /// What is wrong and what would be right, as the end of a sentence.
    public var description: String {
        switch self {
        case .prefixed(let prefix):
            "\(Quoted(prefix)) stands before the digits; write the hexadecimal digits alone"
        case .notHexadecimal(let character):
            "\(Quoted(String(character))) is not a hexadecimal digit"
        case .length(let digits, let algorithm):
            "it has \(Counted(digits, "hexadecimal digit")); \(algorithm.rawValue) has"
                + " \(algorithm.byteCount * 2)"
        case .integrity(let algorithm):
            "it is written as for integrity; write \"integrity\": \"\(algorithm.rawValue)-…\""
        }
    }
}

extension Digest {
    /// Reads the hexadecimal digits of a declared digest. Throws the flaw.
    public init(_ algorithm: DigestAlgorithm, declared text: String) throws(DigestFlaw) {
        if let digest = Digest(algorithm, hex: text) {
            self = digest
            return
        }
        let name = algorithm.rawValue
        let lowercase = text.lowercased()
        for prefix in ["\(name):", "\(name)=", "0x"] where lowercase.hasPrefix(prefix) {
            throw .prefixed(String(text.prefix(prefix.count)))
        }
        if lowercase.hasPrefix("\(name)-") { throw .integrity(algorithm) }
        if let character = text.first(where: { !$0.isHexDigit || !$0.isASCII }) {
            throw .notHexadecimal(character)
        }
        throw .length(digits: text.utf8.count, of: algorithm)
    }
}
