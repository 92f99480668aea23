import Testing

@testable import MirrorKit

/// What of a text stands in JSON as it is.
struct PlainTextTests {
    /// Texts are looked at eight bytes at a time, and what is left byte by byte.
    @Test(arguments: [1, 7, 8, 9, 15, 16, 17, 24])
    func plainTextEndsAtTheFirstOtherByte(count: Int) {
        for byte in UInt8.min...(.max) {
            let isPlain = (0x20...0x7E).contains(byte) && byte != 0x22 && byte != 0x5C
            for place in 0..<count {
                var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: count)
                bytes[place] = byte
                for start in 0...place {
                    #expect(
                        Self.end(of: bytes, from: start) == (isPlain ? count : place),
                        "byte \(byte) at \(place), from \(start)")
                }
                #expect(Self.end(of: bytes, from: place + 1) == count)
            }
        }
    }

    /// Of several the first one counts, and they do not hide each other.
    @Test func ofSeveralTheFirstCounts() {
        let special: [UInt8] = [0x00, 0x1F, 0x22, 0x23, 0x5C, 0x5D, 0x7F, 0x80, 0xFF]
        for (first, second) in special.flatMap({ one in special.map { (one, $0) } }) {
            for place in 0..<15 {
                var bytes = [UInt8](repeating: UInt8(ascii: " "), count: 20)
                bytes[place] = first
                bytes[place + 1] = second
                let expected = bytes.firstIndex {
                    $0 < 0x20 || $0 > 0x7E || $0 == 0x22 || $0 == 0x5C
                }
                #expect(
                    Self.end(of: bytes, from: 0) == expected ?? bytes.count,
                    "\(first), \(second) at \(place)")
            }
        }
    }

    private static func end(of bytes: [UInt8], from start: Int) -> Int {
        bytes.withUnsafeBytes { PlainText.end(in: $0, from: start) }
    }
}
