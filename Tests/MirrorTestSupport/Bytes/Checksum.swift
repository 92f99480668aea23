internal import CCrypto

/// Digests for tests, made in one go and apart from the code under test.
public enum Checksum {
    /// The SHA-256 of bytes, in lower-case hexadecimal digits.
    public static func sha256(_ bytes: [UInt8]) -> String { hex(digest(bytes, EVP_sha256())) }

    /// The SHA-512 of bytes, in lower-case hexadecimal digits.
    public static func sha512(_ bytes: [UInt8]) -> String { hex(digest(bytes, EVP_sha512())) }

    /// The SHA-1 of bytes, in lower-case hexadecimal digits.
    public static func sha1(_ bytes: [UInt8]) -> String { hex(digest(bytes, EVP_sha1())) }

    /// The SHA-512 of bytes as Subresource Integrity writes it.
    public static func integrity(_ bytes: [UInt8]) -> String {
        "sha512-" + Base64.encode(digest(bytes, EVP_sha512()))
    }

    /// The SHA-256 of bytes as Repr-Digest writes it (RFC 9530).
    public static func reprDigest(_ bytes: [UInt8]) -> String {
        "sha-256=:" + Base64.encode(digest(bytes, EVP_sha256())) + ":"
    }

    private static func digest(_ bytes: [UInt8], _ algorithm: OpaquePointer?) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
            var length: UInt32 = 0
            EVP_Digest(bytes, bytes.count, buffer.baseAddress, &length, algorithm, nil)
            count = Int(length)
        }
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

/// Base 64 (RFC 4648 §4).
package enum Base64 {
    package static func encode(_ bytes: [UInt8]) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let word = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for digit in 0..<4 {
                text.append(
                    digit <= group.count
                        ? digits[word >> (18 - 6 * digit) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
