/// An algorithm whose values a manifest may declare, weakest first.
public enum DigestAlgorithm: String, Sendable, Hashable, CaseIterable, Comparable {
    case md5, sha1, sha256, sha384, sha512

    /// The length of a value in bytes.
    public var byteCount: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// Whether an equal value proves the bytes.
    /// Collisions of md5 and sha1 can be made, so they do not.
    public var isStrong: Bool { self >= .sha256 }

    /// Whether the left algorithm is weaker.
    public static func < (left: DigestAlgorithm, right: DigestAlgorithm) -> Bool {
        left.byteCount < right.byteCount
    }
}

/// A digest of a file's bytes: the algorithm and a value of that algorithm's length.
public struct Digest: Sendable, Hashable {
    /// The algorithm that made the value.
    public let algorithm: DigestAlgorithm
    /// The value, as long as the algorithm demands.
    public let bytes: [UInt8]

    /// Creates a digest from its value. Returns nil if the length is not the algorithm's.
    public init?(_ algorithm: DigestAlgorithm, bytes: [UInt8]) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// Reads hexadecimal digits in either case. Returns nil if they are not exactly one value.
    public init?(_ algorithm: DigestAlgorithm, hex: some StringProtocol) {
        guard let bytes = Hex.decode(hex.utf8) else { return nil }
        self.init(algorithm, bytes: bytes)
    }

    /// The value in lower-case hexadecimal digits.
    public var hex: String { Hex.encode(bytes) }
}

extension Digest: CustomStringConvertible {
    /// The algorithm, a colon and the value.
    public var description: String { "\(algorithm.rawValue):\(hex)" }
}

/// Hexadecimal digits (RFC 4648 §8).
enum Hex {
    /// Encodes each byte as two lower-case digits.
    static func encode(_ bytes: some Collection<UInt8>) -> String {
        // Not generic, because a generic body is not specialized for callers in other modules.
        bytes.withContiguousStorageIfAvailable(encode)
            ?? Array(bytes).withUnsafeBufferPointer(encode)
    }

    private static func encode(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            encode(bytes, into: text)
            return bytes.count * 2
        }
    }

    /// Writes two digits for each byte into memory, which must have room for them.
    static func encode(
        _ bytes: UnsafeBufferPointer<UInt8>, into text: UnsafeMutableBufferPointer<UInt8>
    ) {
        for (at, byte) in bytes.enumerated() {
            text[2 * at] = digit(byte >> 4)
            text[2 * at + 1] = digit(byte & 15)
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// Decodes an even number of digits in either case. Returns nil for any other text.
    static func decode(_ digits: some Collection<UInt8>) -> [UInt8]? {
        digits.withContiguousStorageIfAvailable(decode)
            ?? Array(digits).withUnsafeBufferPointer(decode)
    }

    private static func decode(_ digits: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var all: UInt8 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: digits.count / 2) { bytes, count in
            // A table needs no branch for a digit, and digests are most of a long manifest's text.
            nibbles.withUnsafeBufferPointer { nibbles in
                for at in 0..<digits.count / 2 {
                    let high = nibbles[Int(digits[2 * at])]
                    let low = nibbles[Int(digits[2 * at + 1])]
                    all |= high | low
                    bytes.initializeElement(at: at, to: high << 4 | low & 15)
                }
            }
            count = digits.count / 2
        }
        return all < 16 ? bytes : nil
    }

    /// The value of each byte as a digit. 255 means that the byte is not a digit.
    private static let nibbles: [UInt8] = (0...255).map { value(of: $0) ?? 255 }

    /// The value of one digit in either case. Returns nil if the byte is not a digit.
    static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// Why a text is not a digest in hexadecimal digits.
public enum DigestError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text has a prefix such as `sha256:` before the digits.
    case prefixed(String)
    /// The text has a character that is not a hexadecimal digit.
    case notHexadecimal(Character)
    /// The text has another number of digits than the algorithm's value.
    case length(digits: Int, of: DigestAlgorithm)
    /// The text is base64, as Subresource Integrity writes a digest.
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
    /// Reads the hexadecimal digits of a declared digest. Throws the reason if the text is not one.
    public init(_ algorithm: DigestAlgorithm, declared text: String) throws(DigestError) {
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

extension Digest {
    /// The digest as Subresource Integrity writes it: algorithm, hyphen, and the value in base64.
    var integrity: String { algorithm.rawValue + "-" + Base64.encode(bytes) }

    /// Reads Subresource Integrity metadata, `sha512-…base64…`, several separated by spaces.
    ///
    /// The result is the digest of the strongest algorithm in the text (SRI §3.3.3). sha1 is read
    /// because npm once wrote it. An unknown algorithm is skipped if the text also has a known one.
    /// Options after `?` are ignored, as the specification says.
    init(integrity text: String) throws(IntegrityError) {
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
        guard let strongest else { throw unknown.map { .algorithm($0) } ?? .malformed(text) }
        self = strongest
    }
}

/// Why mirror cannot use a text as integrity metadata.
enum IntegrityError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text is not `algorithm-base64`.
    case malformed(String)
    /// The text names only unknown algorithms. The value is the first of them.
    case algorithm(String)
    /// The value has another length than the algorithm demands.
    case length(bytes: Int, of: DigestAlgorithm)
    /// The text gives two different values of its strongest algorithm.
    case several(DigestAlgorithm)

    /// What is wrong and what would be right, as the end of a sentence.
    var description: String {
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

/// SHA-256 digests of consecutive pieces of a file. The last piece may be shorter.
struct Pieces: Sendable, Hashable {
    /// The length of a piece in bytes. Greater than 0.
    let length: Int64
    /// The digests one after the other, 32 bytes each, because a large file has very many.
    private let packed: [UInt8]

    /// Takes the length of a piece in bytes and the digests of all pieces.
    ///
    /// Returns nil if the length is not positive, there are no digests, or one is not a sha256.
    init?(length: Int64, digests: [Digest]) {
        guard digests.allSatisfy({ $0.algorithm == .sha256 }) else { return nil }
        self.init(length: length, packed: digests.flatMap(\.bytes))
    }

    /// Takes the length of a piece in bytes and the bytes of all digests.
    ///
    /// Returns nil if the length is not positive, or the bytes are not one or more whole digests.
    init?(length: Int64, packed: [UInt8]) {
        let size = DigestAlgorithm.sha256.byteCount
        guard length > 0, !packed.isEmpty, packed.count.isMultiple(of: size) else { return nil }
        self.length = length
        self.packed = packed
    }

    /// The number of pieces.
    var count: Int { packed.count / DigestAlgorithm.sha256.byteCount }

    /// The bytes of one piece's sha256. Positions count from 0.
    func sha256(at position: Int) -> ArraySlice<UInt8> {
        let size = DigestAlgorithm.sha256.byteCount
        return packed[(position * size)..<((position + 1) * size)]
    }

    /// The digests of the pieces, in order.
    var digests: [Digest] {
        (0..<count).compactMap { Digest(.sha256, bytes: Array(sha256(at: $0))) }
    }

    /// Whether a file of this size has this number of pieces.
    func fits(size: Int64) -> Bool {
        let (whole, rest) = size.quotientAndRemainder(dividingBy: length)
        return Int64(count) == max(whole + (rest > 0 ? 1 : 0), 1)
    }
}
