/// Base64 with its padding (RFC 4648 §4).
enum Base64 {
    /// The bytes; nil for anything but whole groups of four with canonical padding.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        var padding = 0
        for character in text {
            if character == UInt8(ascii: "=") {
                padding += 1
            } else {
                guard padding == 0, let value = value(of: character) else { return nil }
                bits = bits << 6 | UInt32(value)
                count += 1
                if count.isMultiple(of: 4) {
                    bytes += [UInt8(bits >> 16 & 255), UInt8(bits >> 8 & 255), UInt8(bits & 255)]
                    bits = 0
                }
            }
        }
        switch (count % 4, padding) {
        case (0, 0): return bytes
        case (2, 2) where bits & 0xF == 0: return bytes + [UInt8(bits >> 4 & 255)]
        case (3, 1) where bits & 0x3 == 0:
            return bytes + [UInt8(bits >> 10 & 255), UInt8(bits >> 2 & 255)]
        default: return nil
        }
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
