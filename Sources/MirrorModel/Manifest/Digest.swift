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

    /// Whether a match proves the bytes; md5 and sha1 do not, because collisions can be made.
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
    /// The value; its length is the algorithm's.
    public let bytes: [UInt8]

    /// Takes a value; nil when its length is not the algorithm's.
    public init?(_ algorithm: DigestAlgorithm, bytes: [UInt8]) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// Reads hexadecimal digits in either case; nil when they are not exactly one value.
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
package enum Hex {
    /// Two lower-case digits a byte.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
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

    /// Puts the digits into memory that has room for two a byte.
    package static func encode(
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

    /// Decodes an even number of digits in either case; nil for anything else.
    package static func decode(_ digits: some Collection<UInt8>) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        let count = digits.count / 2
        var isHex = true
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
            var rest = digits.makeIterator()
            while initialized < count, let high = rest.next(), let low = rest.next() {
                guard let high = value(of: high), let low = value(of: low) else {
                    isHex = false
                    return
                }
                bytes[initialized] = high << 4 | low
                initialized += 1
            }
        }
        return isHex ? bytes : nil
    }

    /// The value of one digit in either case; nil when it is none.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
