internal import Glibc

/// An unnamed file for what a process writes.
final class ScratchFile: Sendable {
    let descriptor: Int32

    init() throws(SystemFailure) {
        var path = Array("/tmp/mirror-test-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw SystemFailure("mkstemp", "/tmp", errno: errno) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(path)
    }

    deinit { close(descriptor) }

    /// How many bytes were written.
    var size: Int { Int(max(0, lseek(descriptor, 0, SEEK_END))) }

    /// All that was written, or what comes after so many bytes.
    func text(from start: Int = 0) -> String {
        let size = size - start
        // An array made without room writes its count into the one empty array that all threads share.
        guard size > 0 else { return "" }
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = max(0, pread(descriptor, buffer.baseAddress, size, start))
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
