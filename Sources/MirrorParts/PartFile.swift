internal import CLinux
internal import Glibc
package import MirrorModel
package import MirrorSystem

/// The file of an unfinished download, held open; closed when the last reference goes.
///
/// Thread-safe as pwrite(2) and pread(2) are: no position is shared. Who writes and who cuts agree
/// on the order between themselves.
package final class PartFile: Sendable {
    /// The file name in `tmp/`.
    package let name: String
    private let file: Descriptor

    /// The open file, for calls that this type has no word for.
    package var descriptor: Int32 { file.number }

    /// Takes over an open descriptor.
    package init(name: String, descriptor: Int32) {
        self.name = name
        file = Descriptor(owning: descriptor)
    }

    private var path: String { "tmp/" + name }

    /// Size, times and inode as they are now.
    package func stamp() throws(Errno) -> FileStamp { try file.status(path: path).stamp }

    /// The size in bytes.
    package func size() throws(Errno) -> Int64 { try stamp().size }

    /// Writes all bytes at an offset.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
        try file.write(bytes, at: offset, path: path)
    }

    /// Writes all bytes at an offset.
    package func write(_ bytes: [UInt8], at offset: Int64) throws(Errno) {
        try file.write(bytes, at: offset, path: path)
    }

    /// Reads back bytes that were just written, into a buffer that they fit in, and throws `EBADMSG`
    /// when the file holds others.
    package func confirm(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64,
        with buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) {
        try file.confirm(bytes, at: offset, with: buffer, path: path)
    }

    /// Reads bytes at an offset; fewer than the buffer holds only at the end.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno)
        -> Int
    {
        try file.read(into: buffer, at: offset, path: path)
    }

    /// Cuts the file to a length, or lengthens it with zeros (ftruncate(2)).
    func truncate(to length: Int64) throws(Errno) {
        try retryingLibc("ftruncate", path) { ftruncate(file.number, off_t(length)) }
    }

    /// Sends bytes that were written on their way to the disk, without waiting until they are there
    /// (sync_file_range(2)): the flush that does wait finds little left to do. It promises nothing, so
    /// an error is that flush's to report.
    package func startWriteback(_ range: Range<Int64>) {
        _ = linux_start_writeback(file.number, range.lowerBound, Int64(range.count))
    }

    /// Lets pages go that are on the disk (posix_fadvise(2)); those that are not yet stay.
    ///
    /// They are not waited for: a wait by sync_file_range(2) takes an error of the disk away from the
    /// flush that a promotion rests on.
    package func release(_ range: Range<Int64>) {
        _ = posix_fadvise(
            file.number, off_t(range.lowerBound), off_t(range.count), POSIX_FADV_DONTNEED)
    }

    /// Has the file system find room for bytes that are about to be written, without making the file
    /// longer (fallocate(2) with `FALLOC_FL_KEEP_SIZE`).
    ///
    /// ext4 then writes them for half of what it takes to find room page by page. An error is left to
    /// the write, which meets it too.
    package func reserve(_ range: Range<Int64>) {
        guard FileSystemKind(of: file).gainsByReserving else { return }
        _ = linux_reserve(file.number, range.lowerBound, Int64(range.count))
    }
}
