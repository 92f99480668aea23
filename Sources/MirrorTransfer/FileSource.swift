internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// A source that is a local file, read by mirror itself (`file:`).
///
/// It responds as a server would, so that the rules of transfers apply unchanged. Its entity tag is
/// made of device, inode, size, mtime and ctime. The bytes are accepted only if these values are
/// the same before and after the bytes were read.
struct FileSource: Sendable {
    private let file: Descriptor
    private let path: String
    private let status: FileStatus

    /// Opens a regular file; blocks.
    init(path: String) throws(Refusal) {
        self.path = path
        do throws(Errno) {
            let number = try retrying("open", path) {
                // O_NONBLOCK: a named pipe must not hang the open.
                linux_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0)
            }
            file = Descriptor(owning: number)
            status = try file.status(path: path)
        } catch {
            throw FileSource.refusal(error)
        }
        guard status.isFile else {
            throw Refusal(.sourceFileUnreadable, "it is not a regular file")
        }
    }

    /// The size in bytes when it was opened.
    var size: Int64 { status.stamp.size }

    /// The response that a server would give to a request.
    func answer(to plan: RequestPlan, at now: Instant) -> ResponseHead {
        let tag = "\"file-\(fingerprint(status))\""
        let modified = Instant(milliseconds: status.stamp.modified / 1_000_000)
        var fields = [
            ("ETag", tag), ("Last-Modified", HTTPDate(seconds: modified.seconds).description),
            ("Date", HTTPDate(seconds: now.seconds).description),
        ]
        if plan.condition?.validators.entityTag?.text == tag {
            return ResponseHead(status: 304, fields)
        }
        fields.append(("Content-Length", String(size)))
        return ResponseHead(status: 200, fields)
    }

    /// Reads a small file; blocks.
    func readAll(by reading: FileReading) -> FileNews {
        do throws(Errno) {
            return try reading.asking { () throws(Errno) in
                // One byte more than expected shows that the file grew.
                let bytes = try file.bytes(at: 0, count: Int(size) + 1, path: path)
                return news(CopiedBytes(memory: bytes, length: Int64(bytes.count)))
            }
        } catch { return .refused(FileSource.refusal(error)) }
    }

    /// Copies the bytes into an empty part, shared where the file system can, and hashes them;
    /// blocks. The copy ends early once the reading is given up.
    func copy(
        to part: PartFile, of target: Target, digests: inout PipelineDigests,
        by reading: FileReading
    ) -> FileNews {
        do throws(Errno) {
            let length = try copy(to: part, digests: &digests, by: reading)
            return reading.asking { news(CopiedBytes(memory: nil, length: length)) }
        } catch {
            guard error.path == path else { return .broken(MirrorError(error, target: target)) }
            let refusal = FileSource.refusal(error)
            return .failed(
                TransportFailure(refusal.code, refusal.cause, isPassing: false, wasSent: true))
        }
    }

    private func copy(
        to part: PartFile, digests: inout PipelineDigests, by reading: FileReading
    ) throws(Errno) -> Int64 {
        let isShared = linux_ficlone(part.descriptor, file.number) >= 0
        let buffers = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 << 20, alignment: 4096)
        defer { buffers.deallocate() }
        let buffer = UnsafeMutableRawBufferPointer(rebasing: buffers[..<(1 << 20)])
        let copy = UnsafeMutableRawBufferPointer(rebasing: buffers[(1 << 20)...])
        var offset: Int64 = 0
        while !reading.isGivenUp {
            let count: Int
            if isShared {
                count = try part.read(into: buffer, at: offset)
            } else {
                count = try reading.asking { () throws(Errno) in
                    try file.read(into: buffer, at: offset, path: path)
                }
                reading.received(count)
                // Nobody may know any more what the part is for.
                if reading.isGivenUp { break }
            }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if !isShared {
                try part.write(bytes, at: offset)
                try part.confirm(bytes, at: offset, with: copy)
            }
            digests.update(bytes)
            offset += Int64(count)
            if count < buffer.count { break }
        }
        return offset
    }

    /// The bytes that were read, unless the file is no longer the one that was opened; blocks.
    private func news(_ bytes: CopiedBytes) -> FileNews {
        change().map { .failed($0) } ?? .copied(bytes)
    }

    private func fingerprint(_ status: FileStatus) -> String {
        let stamp = status.stamp
        return [
            String(status.device, radix: 16), String(stamp.inode, radix: 16),
            String(stamp.size, radix: 16), String(stamp.modified, radix: 16),
            String(stamp.changed, radix: 16),
        ].joined(separator: "-")
    }

    /// Returns a failure if the file is no longer the one that was opened, and nil otherwise;
    /// blocks. After a failure the bytes that were read must not be used.
    private func change() -> TransportFailure? {
        if let now = try? file.status(path: path), fingerprint(now) == fingerprint(status) {
            return nil
        }
        return TransportFailure(
            .sourceChanged, "the file changed while it was read", isPassing: true, wasSent: true)
    }

    static func refusal(_ error: Errno) -> Refusal {
        Refusal(.sourceFileUnreadable, "it cannot be read: \(error)")
    }
}

/// The bytes of a source file.
struct CopiedBytes: Sendable {
    /// The bytes; nil when they are in the part.
    let memory: [UInt8]?
    let length: Int64
}
