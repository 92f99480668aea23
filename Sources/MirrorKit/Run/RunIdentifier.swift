internal import MirrorModel

/// A name for a run: 26 characters that sort by time (ULID, https://github.com/ulid/spec).
enum RunIdentifier {
    /// 48 bits of milliseconds and 10 random bytes, in Crockford's base 32.
    static func make(now: Instant, random: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
        var high = UInt64(clamping: now.milliseconds) & 0xFFFF_FFFF_FFFF
        var low = random.prefix(10).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        var text: [Character] = []
        for _ in 0..<16 {
            text.append(digits[Int(low & 31)])
            low >>= 5
        }
        for _ in 0..<10 {
            text.append(digits[Int(high & 31)])
            high >>= 5
        }
        return String(text.reversed())
    }
}
