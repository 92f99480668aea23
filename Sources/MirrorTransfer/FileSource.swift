internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorParts
internal import MirrorSystem

/// A source that is a local file, read by mirror itself (`file:`), as it was when it was looked at.
///
/// It responds as a server would, so that the rules of transfers apply unchanged. Its entity tag is
/// made of device, inode, size, mtime and ctime. The bytes are accepted only if these values are
/// the same before and after the bytes were read.
///
/// It holds no descriptor: closing one may wait for a server, as opening and reading do. All of that
/// happens within one piece of work of a thread that reads files.
struct FileSource: Sendable {
    private let path: String
    private let status: FileStatus

    /// Looks at a regular file; blocks.
    init(path: String) throws(Refusal) {
        self.path = path
        do throws(Errno) {
            status = try FileSource.open(path).status(path: path)
        } catch {
            throw FileSource.refusal(error)
        }
        guard status.isFile else {
            throw Refusal(.sourceFileUnreadable, "it is not a regular file")
        }
    }

    private static func open(_ path: String) throws(Errno) -> Descriptor {
        let number = try retrying("open", path) {
            // O_NONBLOCK: a named pipe must not hang the open.
            linux_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0)
        }
        return Descriptor(owning: number)
    }

    private static func refusal(_ error: Errno) -> Refusal {
        Refusal(.sourceFileUnreadable, "it cannot be read: \(error)")
    }

    /// The size in bytes when it was looked at.
    var size: Int64 { status.stamp.size }

    /// The response that a server would give to a request.
    func answer(to plan: RequestPlan, at now: Instant) -> ResponseHead {
        let tag = "\"file-\(fingerprint)\""
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

    private var fingerprint: String {
        let stamp = status.stamp
        return [
            String(status.device, radix: 16), String(stamp.inode, radix: 16),
            String(stamp.size, radix: 16), String(stamp.modified, radix: 16),
            String(stamp.changed, radix: 16),
        ].joined(separator: "-")
    }
}

// MARK: Reading

extension FileSource {
    /// Reads a small file; blocks.
    func readAll(by reading: FileReading) -> FileNews {
        do throws(Errno) {
            return try reading.asking { () throws(Errno) in
                let file = try FileSource.open(path)
                // One byte more than expected shows that the file grew.
                let buffer = UnsafeMutableRawBufferPointer.allocate(
                    byteCount: Int(size) + 1, alignment: 16)
                defer { buffer.deallocate() }
                let count = try read(file, into: buffer, at: 0, by: reading)
                let bytes = CopiedBytes(memory: Array(buffer[..<count]), length: Int64(count))
                return news(bytes, of: file)
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
            let file = try reading.asking { () throws(Errno) in try FileSource.open(path) }
            let length = try copy(file, to: part, digests: &digests, by: reading)
            return reading.asking { news(CopiedBytes(memory: nil, length: length), of: file) }
        } catch {
            guard error.path == path else { return .broken(MirrorError(error, target: target)) }
            let refusal = FileSource.refusal(error)
            return .failed(
                TransportFailure(refusal.code, refusal.cause, isPassing: false, wasSent: true))
        }
    }

    private func copy(
        _ file: Descriptor, to part: PartFile, digests: inout PipelineDigests,
        by reading: FileReading
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
                    try read(file, into: buffer, at: offset, by: reading)
                }
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

    /// Fills a buffer from the file, up to its end, in pieces that count as they come.
    private func read(
        _ file: Descriptor, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64,
        by reading: FileReading
    ) throws(Errno) -> Int {
        var done = 0
        while done < buffer.count, !reading.isGivenUp {
            let end = min(done + reading.piece, buffer.count)
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[done..<end])
            let count = try file.read(into: piece, at: offset + Int64(done), path: path)
            reading.received(count)
            done += count
            if count < piece.count { break }
        }
        return done
    }

    /// The bytes that were read, unless the file is no longer the one that was looked at; blocks.
    /// After a failure the bytes must not be used.
    private func news(_ bytes: CopiedBytes, of file: Descriptor) -> FileNews {
        if let now = try? file.status(path: path), now.device == status.device,
            now.stamp == status.stamp
        {
            return .copied(bytes)
        }
        return .failed(
            TransportFailure(
                .sourceChanged, "the file changed while it was read", isPassing: true,
                wasSent: true))
    }
}

/// The bytes of a source file.
struct CopiedBytes: Sendable {
    /// The bytes; nil when they are in the part.
    let memory: [UInt8]?
    let length: Int64
}
