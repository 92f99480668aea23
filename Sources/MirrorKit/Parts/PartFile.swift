internal import CLinux
internal import Glibc

/// The file of an unfinished download, held open; closed when the last reference goes.
///
/// The class is thread-safe as pwrite(2) and pread(2) are, because no position is shared. Callers
/// that write and callers that cut must agree on the order among themselves.
final class PartFile: Sendable {
    /// The file name in `tmp/`.
    let name: String
    private let file: Descriptor

    /// The open descriptor, for calls that this type does not provide.
    var descriptor: Int32 { file.number }

    /// Makes a part's file from an open descriptor, which this object closes.
    init(name: String, descriptor: Int32) {
        self.name = name
        file = Descriptor(owning: descriptor)
    }

    private var path: String { "tmp/" + name }

    /// Size, times and inode as they are now.
    func stamp() throws(Errno) -> FileStamp { try file.status(path: path).stamp }

    func size() throws(Errno) -> Int64 { try stamp().size }

    /// Writes all bytes at an offset.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Errno) {
        try file.write(bytes, at: offset, path: path)
    }

    func write(_ bytes: [UInt8], at offset: Int64) throws(Errno) {
        try file.write(bytes, at: offset, path: path)
    }

    /// Reads back bytes that were just written, into a buffer that can hold them.
    /// Throws `EBADMSG` if the file holds other bytes.
    func confirm(
        _ bytes: UnsafeRawBufferPointer, at offset: Int64,
        with buffer: UnsafeMutableRawBufferPointer
    ) throws(Errno) {
        try file.confirm(bytes, at: offset, with: buffer, path: path)
    }

    /// Reads bytes at an offset. Returns fewer than the buffer holds only at the file's end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(Errno)
        -> Int
    {
        try file.read(into: buffer, at: offset, path: path)
    }

    /// Cuts the file to a length, or lengthens it with zeros (ftruncate(2)).
    func truncate(to length: Int64) throws(Errno) {
        try retryingLibc("ftruncate", path) { ftruncate(file.number, off_t(length)) }
    }

    /// Starts writing bytes to the disk (sync_file_range(2)). Does not wait until they are written.
    ///
    /// The later flush, which waits, then has little left to do. This call promises nothing, and
    /// the later flush reports errors.
    func startWriteback(_ range: Range<Int64>) {
        _ = linux_start_writeback(file.number, range.lowerBound, Int64(range.count))
    }

    /// Releases pages that are on the disk (posix_fadvise(2)); other pages stay in memory.
    ///
    /// The call does not wait until the other pages are written. A wait by sync_file_range(2) would
    /// consume a disk error that the flush before a promotion must report.
    func release(_ range: Range<Int64>) {
        _ = posix_fadvise(
            file.number, off_t(range.lowerBound), off_t(range.count), POSIX_FADV_DONTNEED)
    }

    /// Reserves space for bytes that are about to be written, without making the file longer.
    ///
    /// The call is fallocate(2) with `FALLOC_FL_KEEP_SIZE`. ext4 then writes the bytes in half of
    /// the time that it needs to find space page by page. An error is ignored, because the later
    /// write fails with the same error.
    func reserve(_ range: Range<Int64>) {
        guard FileSystemKind(of: file).gainsByReserving else { return }
        _ = linux_reserve(file.number, range.lowerBound, Int64(range.count))
    }
}

/// Stores the parts of the transfer loop, in the tree's `tmp/` and in the index.
///
/// Several threads call the methods. Implementations are quick and thread-safe.
protocol PartStore: Sendable {
    /// What the keys in the names of new parts begin with.
    var tag: String { get }
    /// Creates an empty part: first its row, then its file.
    func create(_ record: PartRecord) throws(MirrorError) -> PartFile
    /// Opens the part of a row. Returns nil if the part is no regular file, or does not exist.
    func open(_ record: PartRecord) throws(MirrorError) -> PartFile?
    /// Writes the changed values of a part (total, provenances, runs) into its row.
    func update(_ record: PartRecord) throws(MirrorError)
    /// Logs that the part holds the bytes of a milestone, whose length counts from `start`.
    func log(_ milestone: Milestone, from start: Int64, part name: String) throws(MirrorError)
    /// Removes the part's file and its row.
    func discard(part name: String) throws(MirrorError)
}

extension PartStore {
    var tag: String { "" }
}
