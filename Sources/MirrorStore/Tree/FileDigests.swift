internal import CLinux
internal import Glibc
package import MirrorModel
package import MirrorSystem

/// The digests of a file's bytes, and the stamp that it had while they were read.
package struct FileDigests: Hashable {
    /// Size, times and inode, the same before and after the read.
    package let stamp: FileStamp
    /// One digest for each algorithm asked for, in that order.
    package let digests: [Digest]

    /// Reads a target beneath a root once for all algorithms; nil when no regular file is there.
    ///
    /// `hasRead` hears how many bytes each reading brought. A file that changes meanwhile is read again, three times in all; then `inputOutput` is
    /// thrown. The calling thread is blocked during the read.
    package static func read(
        _ target: Target, in root: RootDirectory, algorithms: [DigestAlgorithm] = [.sha256],
        isCancelled: () -> Bool = { false }, hasRead: (Int64) -> Void = { _ in }
    ) throws(MirrorError) -> FileDigests? {
        do throws(Errno) {
            for _ in 1...3 {
                let file = try root.openFile(target.path)
                let before = try file.status(path: target.path)
                guard before.isFile else { return nil }
                let digests = try compute(
                    file, algorithms: algorithms, path: target.path, isCancelled: isCancelled,
                    hasRead: hasRead)
                guard let digests else {
                    throw Errno(number: ECANCELED, call: "read", path: target.path)
                }
                if try file.status(path: target.path).stamp == before.stamp {
                    return FileDigests(stamp: before.stamp, digests: digests)
                }
            }
        } catch {
            switch error.number {
            case ENOENT, ELOOP, ENOTDIR, ENXIO: return nil
            case ECANCELED:
                throw MirrorError(.cancelled, "\(target): reading was cancelled.", target: target)
            default: throw MirrorError(error, target: target)
            }
        }
        throw MirrorError(
            .inputOutput,
            "\(target): the file changes while it is read. Run again when nothing writes to it.",
            target: target)
    }

    /// The digests of an open file from its start to its end; nil when cancelled.
    package static func compute(
        _ file: Descriptor, algorithms: [DigestAlgorithm], path: String,
        isCancelled: () -> Bool = { false }, hasRead: (Int64) -> Void = { _ in }
    ) throws(Errno) -> [Digest]? {
        _ = posix_fadvise(file.number, 0, 0, POSIX_FADV_SEQUENTIAL)
        var first = ByteHasher(algorithms.first ?? .sha256)
        var second = algorithms.count > 1 ? ByteHasher(algorithms[1]) : nil
        precondition(algorithms.count <= 2, "one pass makes two digests")
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            if isCancelled() { return nil }
            let count = try file.read(into: buffer, at: offset, path: path)
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            first.update(bytes)
            second?.update(bytes)
            offset += Int64(count)
            hasRead(Int64(count))
            if count < buffer.count { break }
        }
        guard let other = second.take() else { return [first.finish()] }
        return [first.finish(), other.finish()]
    }
}
