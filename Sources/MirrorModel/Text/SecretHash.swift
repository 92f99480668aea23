/// Hashes bytes with keys that the process keeps to itself: eight bytes a multiplication.
///
/// Whoever writes a manifest or a list chooses the targets, and must not be able to choose ones that
/// collide. That takes a secret, not the strength and the cost of SipHash: Go's maps (wyhash) and Rust's
/// hashbrown (foldhash) multiply in the same way.
enum SecretHash {
    private static let keys = (
        UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max) | 1
    )

    static func value(_ bytes: UnsafeRawBufferPointer) -> Int {
        let (start, factor) = keys
        var hash = start ^ UInt64(bytes.count)
        var at = 0
        while at + 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
            hash = folded(hash ^ word, factor)
            at += 8
        }
        var rest: UInt64 = 0
        while at < bytes.count {
            rest = rest << 8 | UInt64(bytes[at])
            at += 1
        }
        return Int(truncatingIfNeeded: folded(folded(hash ^ rest, factor), start | 1))
    }

    /// Both halves of a product, so that every bit depends on all bits of the factors.
    private static func folded(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
