internal import CLinux
internal import Glibc
internal import MirrorModel

/// Copies an open file's bytes into an empty one in the cheapest way that the file systems offer.
package enum FileCopy {
    /// Shares the extents (FICLONE), else lets the kernel copy (copy_file_range(2)), else reads and
    /// writes.
    ///
    /// The copy holds the bytes that the source held at some moment; the caller verifies it.
    package static func copy(from source: Descriptor, to copy: Descriptor, path: String)
        throws(Errno)
    {
        if linux_ficlone(copy.number, source.number) >= 0 { return }
        if try copyInKernel(from: source, to: copy, path: path) { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = try source.read(into: buffer, at: offset, path: path)
            try copy.write(
                UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset, path: path)
            offset += Int64(count)
            if count < buffer.count { return }
        }
    }

    /// Returns false when the kernel cannot copy between these two files, and copied nothing.
    private static func copyInKernel(
        from source: Descriptor, to copy: Descriptor, path: String
    ) throws(Errno) -> Bool {
        // By offsets, because the files' positions may be shared.
        var offset: Int64 = 0
        while true {
            do throws(Errno) {
                let count = try retrying("copy_file_range", path) {
                    linux_copy_file_range(source.number, copy.number, offset, 1 << 30)
                }
                // Some file systems of the kernel return 0 for files that they cannot copy.
                if count == 0 {
                    if offset > 0 { return true }
                    return try source.status(path: path).stamp.size == 0
                }
                offset += Int64(count)
            } catch {
                if offset == 0, !error.isNoSpace, error.number != EIO { return false }
                throw error
            }
        }
    }
}
