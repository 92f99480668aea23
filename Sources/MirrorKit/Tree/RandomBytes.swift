internal import CLinux
internal import MirrorModel

/// Unpredictable bytes for names that nobody else picks (getrandom(2)).
enum RandomBytes {
    /// So many bytes; at most 256, which the kernel gives in one piece.
    static func make(_ count: Int) -> [UInt8] {
        precondition(count <= 256)
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while getrandom(buffer.baseAddress, count, 0) != count {}
            initialized = count
        }
    }

    /// So many bytes as hexadecimal digits.
    static func hex(_ count: Int) -> String { Hex.encode(make(count)) }
}
