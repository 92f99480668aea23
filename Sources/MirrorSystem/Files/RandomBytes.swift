internal import CLinux
internal import Glibc
internal import MirrorModel
internal import Synchronization

/// Unpredictable bytes for names that no other process picks (getrandom(2)).
package enum RandomBytes {
    /// The number of bytes that the kernel gives in one piece, enough for sixteen names.
    private static let batch = 256
    private static let stock = Mutex<[UInt8]>([])

    /// Returns `count` bytes, at most 256.
    package static func make(_ count: Int) -> [UInt8] {
        precondition(count <= batch)
        return stock.withLock { stock in
            if stock.count < count { stock = fetch(batch) }
            defer { stock.removeLast(count) }
            return Array(stock.suffix(count))
        }
    }

    private static func fetch(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while getrandom(buffer.baseAddress, count, 0) != count {
                if errno != EINTR, readDevice(buffer) { break }
            }
            initialized = count
        }
    }

    /// Reads the device (urandom(4)), for a sandbox that refuses the call.
    private static func readDevice(_ buffer: UnsafeMutableBufferPointer<UInt8>) -> Bool {
        let device = linux_openat(AT_FDCWD, "/dev/urandom", O_RDONLY | O_CLOEXEC, 0)
        guard device >= 0 else { return false }
        defer { close(device) }
        return read(device, buffer.baseAddress, buffer.count) == buffer.count
    }

    /// Returns `count` bytes as hexadecimal digits.
    package static func hex(_ count: Int) -> String { Hex.encode(make(count)) }
}
