/// A gzip stream of stored blocks (RFC 1952, RFC 1951 §3.2.4): valid, and longer than its content.
public enum Gzip {
    /// Wraps bytes; any decoder gives them back.
    public static func encode(_ bytes: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
        var start = 0
        repeat {
            let end = min(start + 0xFFFF, bytes.count)
            let length = UInt16(end - start)
            stream.append(end == bytes.count ? 1 : 0)
            stream += littleEndian(length) + littleEndian(~length) + bytes[start..<end]
            start = end
        } while start < bytes.count
        return stream + littleEndian(crc32(bytes)) + littleEndian(UInt32(bytes.count))
    }

    private static func crc32(_ bytes: [UInt8]) -> UInt32 {
        let table = (0..<256).map { (index: UInt32) in
            (0..<8).reduce(index) { word, _ in word >> 1 ^ (word & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        return ~bytes.reduce(~0) { $0 >> 8 ^ table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] }
    }

    private static func littleEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        (0..<value.bitWidth / 8).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}
