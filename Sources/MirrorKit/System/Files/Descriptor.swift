internal import CLinux
internal import Glibc

/// An open file or folder, which is closed when the last reference is released.
package final class Descriptor: Sendable {
    /// The descriptor's number, which is valid as long as this object exists.
    package let number: Int32

    /// Takes ownership of an open descriptor.
    init(owning number: Int32) { self.number = number }

    deinit { close(number) }

    /// An empty file in memory, which has no name (memfd_create(2)).
    package static func inMemory() throws(Errno) -> Descriptor {
        Descriptor(owning: try retrying("memfd_create", "") { linux_memfd("tool") })
    }

    /// The file's status (fstat(2)).
    func status(path: String) throws(Errno) -> FileStatus {
        try FileStatus(folder: number, name: "", flags: Int32(LINUX_AT_EMPTY_PATH), path: path)
    }

    /// Makes bytes and size durable, but not times (fdatasync(2)).
    func flushBytes(path: String) throws(Errno) {
        try retryingLibc("fdatasync", path) { fdatasync(number) }
    }

    /// Makes everything about the file or folder durable (fsync(2)).
    func flush(path: String) throws(Errno) {
        try retryingLibc("fsync", path) { fsync(number) }
    }

    /// Writes all bytes at an offset. After a short write, it writes the rest (pwrite(2)).
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64, path: String)
        throws(Errno)
    {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            done += try retryingLibc("pwrite", path) {
                pwrite(number, rest.baseAddress, rest.count, off_t(offset) + done)
            }
        }
    }

    /// Writes all bytes at an offset.
    package func write(_ bytes: [UInt8], at offset: Int64, path: String) throws(Errno) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(Errno) in
            try write(UnsafeRawBufferPointer(buffer), at: offset, path: path)
        }
    }

    /// Reads bytes at an offset into a buffer, and returns their number (pread(2)).
    ///
    /// The call fills the buffer, unless the file ends earlier.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, path: String
    ) throws(Errno) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = try retryingLibc("pread", path) {
                pread(number, rest.baseAddress, rest.count, off_t(offset) + done)
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Reads back bytes that were just written. Throws `EBADMSG` if the file holds others.
    ///
    /// The bytes come from the page cache, so the call costs a copy and no read from the disk. The
    /// call exposes a disk or a file system that reported a write but did not perform it.
    func confirm(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64,
        with buffer: UnsafeMutableRawBufferPointer, path: String
    ) throws(Errno) {
        guard let first = bytes.baseAddress, !bytes.isEmpty else { return }
        let window = UnsafeMutableRawBufferPointer(rebasing: buffer[..<bytes.count])
        let count = try read(into: window, at: offset, path: path)
        guard count == bytes.count, let copy = window.baseAddress, memcmp(copy, first, count) == 0
        else { throw Errno(number: EBADMSG, call: "pwrite", path: path) }
    }

    /// Writes bytes to the start of a file, and reads them back.
    func writeConfirmed(_ bytes: [UInt8], path: String) throws(Errno) {
        var buffer: [UInt8] = []
        try writeConfirmed(bytes, path: path, with: &buffer)
    }

    /// Writes bytes to the start of a file, and reads them back into a buffer.
    ///
    /// The buffer grows to the number of bytes. The caller can use it again for the next file.
    func writeConfirmed(
        _ bytes: [UInt8], path: String, with buffer: inout [UInt8]
    ) throws(Errno) {
        try write(bytes, at: 0, path: path)
        if buffer.count < bytes.count { buffer = Array(repeating: 0, count: bytes.count) }
        try buffer.withUnsafeMutableBufferPointer { (buffer) throws(Errno) in
            try bytes.withUnsafeBufferPointer { (bytes) throws(Errno) in
                try confirm(
                    UnsafeRawBufferPointer(bytes), at: 0,
                    with: UnsafeMutableRawBufferPointer(buffer), path: path)
            }
        }
    }

    /// Returns `count` bytes at an offset, or fewer if the file ends earlier.
    package func bytes(at offset: Int64, count: Int, path: String) throws(Errno) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        defer { buffer.deallocate() }
        return Array(buffer[..<(try read(into: buffer, at: offset, path: path))])
    }
}

/// The number of transfers or connections at once that the limit on open files allows (getrlimit(2)).
///
/// A transfer at work has a socket and a part open. A promotion has the file, its folder and that
/// folder's parent open. As many promotions as transfers may run. The program itself needs
/// descriptors for the index and its log, the lock, the root, open folders, and its threads' waits.
extension Descriptor {
    /// How many files this process may have open (getrlimit(2), RLIMIT_NOFILE).
    static var limit: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 1024
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// The greatest number of open descriptors that do not belong to transfers.
    static let others = 32
    /// The greatest number of open descriptors in a server that do not belong to connections.
    ///
    /// Each thread of the server opens one more file.
    static let othersOfServer = 48
    /// The number of descriptors that a transfer has open, at work and promoted.
    static let each = 4

    /// Returns how many transfers may run at once: the wanted number or fewer, but at least one.
    static func transfers(wanted: Int, limit: Int) -> Int {
        min(wanted, max(1, (limit - others) / each))
    }

    /// Returns how many connections a server may accept: the wanted number or fewer, but at least
    /// one.
    ///
    /// Each connection has a socket and the file that it sends. Further connections wait in the
    /// kernel's queue. If the server accepted them, it could not open their files.
    static func connections(wanted: Int, limit: Int) -> Int {
        min(wanted, max(1, (limit - othersOfServer) / 2))
    }

    /// Returns the message for users if fewer transfers than wanted may run. Returns nil otherwise.
    static func limitNotice(wanted: Int, limit: Int) -> String? {
        let count = transfers(wanted: wanted, limit: limit)
        guard count < wanted else { return nil }
        let transfers = count == 1 ? "1 transfer runs" : "\(count) transfers run"
        return "This process may have \(limit) files open, so \(transfers) at once instead of "
            + "\(wanted). `ulimit -n` raises that."
    }
}
