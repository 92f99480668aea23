internal import CLinux
internal import Glibc

/// Looks at many targets, a folder at a time.
///
/// The cursor holds one descriptor: that of the folder it looked into last. If targets come in the
/// order of their paths, it opens each folder once, and a look costs about a microsecond. Any order
/// gives the same results. Two scans with a cursor each may run on two threads.
struct StatCursor: ~Copyable {
    private let root: RootDirectory
    private var folder: [UInt8]?
    private var place = Place.missing

    private enum Place {
        case open(Descriptor)
        case missing
        case obstructed(FileKind)
    }

    /// Makes a cursor that has not looked at any target.
    init(_ root: RootDirectory) { self.root = root }

    /// Looks at a target with a stat; no bytes are read.
    /// Throws `MirrorError` with `inputOutput` if the folder cannot be looked into.
    mutating func look(at target: Target) throws(MirrorError) -> LocalFile {
        do throws(Errno) {
            switch try enter(target.folder) {
            case .missing: return .absent
            case .obstructed(let kind): return .other(kind)
            case .open(let folder):
                let name = target.name
                let status = try FileStatus(folder: folder.number, name: name, path: target.path)
                return status.kind.map { .other($0) } ?? .file(status.stamp)
            }
        } catch {
            if error.number == ENOENT { return .absent }
            throw MirrorError(error, target: target)
        }
    }

    /// Returns why the file at a target is not the one that a plan was made for.
    /// Returns nil if the file is unchanged.
    ///
    /// - Parameter stamp: the stamp of the planned file. `nil` means that the index no longer knows
    ///   the file.
    mutating func change(of target: Target, since stamp: FileStamp?) -> MirrorError? {
        do throws(MirrorError) {
            let there = try look(at: target)
            if let stamp, there == .file(stamp) { return nil }
            return .changedSincePlan(target, isGone: there == .absent)
        } catch { return error }
    }

    /// Returns the stamp of the regular file at a target, and when it was last read.
    /// Returns nil if no regular file is there.
    mutating func lookAtUse(
        of target: Target
    ) throws(MirrorError) -> (stamp: FileStamp, accessed: Instant)? {
        do throws(Errno) {
            guard case .open(let folder) = try enter(target.folder) else { return nil }
            let status = try FileStatus(
                folder: folder.number, name: target.name, path: target.path)
            guard status.isFile else { return nil }
            return (status.stamp, Instant(milliseconds: status.accessed / 1_000_000))
        } catch {
            if error.number == ENOENT { return nil }
            throw MirrorError(error, target: target)
        }
    }

    /// Whether the file of a path exists and has a stamp. Returns false if the look fails.
    ///
    /// - Parameter path: the bytes of the path, with a NUL behind them in memory.
    mutating func isUnchanged(
        _ path: UnsafeBufferPointer<UInt8>, since stamp: FileStamp
    ) -> Bool {
        guard let start = path.baseAddress, let slash = enterFolder(of: path),
            case .open(let folder) = place
        else { return false }
        // The path has a NUL behind it, and so has its last component.
        let name = UnsafeRawPointer(start + slash + 1).assumingMemoryBound(to: CChar.self)
        return FileStatus.stamp(folder: folder.number, file: name) == stamp
    }

    /// Whether no file or folder is at a path. Returns false if the look fails.
    mutating func isAbsent(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let slash = enterFolder(of: path) else { return false }
        switch place {
        case .missing: return true
        case .obstructed: return false
        case .open(let folder):
            let name = path[(slash + 1)...]
            return withUnsafeTemporaryAllocation(of: CChar.self, capacity: name.count + 1) { text in
                for (at, byte) in name.enumerated() { text[at] = CChar(bitPattern: byte) }
                text[name.count] = 0
                guard let start = text.baseAddress else { return false }
                return faccessat(folder.number, start, F_OK, AT_SYMLINK_NOFOLLOW) != 0
                    && errno == ENOENT
            }
        }
    }

    /// Opens the folder of a path, unless it is open already.
    /// Returns the position of the path's last slash. Returns nil if the folder cannot be looked
    /// into.
    private mutating func enterFolder(of path: UnsafeBufferPointer<UInt8>) -> Int? {
        guard let start = path.baseAddress, let slash = path.lastIndex(of: UInt8(ascii: "/")) else {
            return nil
        }
        let isSame = folder?.count == slash && folder.map { memcmp($0, start, slash) == 0 } == true
        if isSame { return slash }
        let folder = String(decoding: path[..<slash], as: UTF8.self)
        return (try? enter(folder)) == nil ? nil : slash
    }

    private mutating func enter(_ path: String) throws(Errno) -> Place {
        let bytes = Array(path.utf8)
        if bytes == folder { return place }
        folder = nil
        do throws(Errno) {
            place = .open(try root.openFolder(path))
        } catch {
            switch error.number {
            case ENOENT: place = .missing
            case ELOOP: place = .obstructed(.symbolicLink)
            case ENOTDIR: place = .obstructed(.fileAsFolder)
            default: throw error
            }
        }
        folder = bytes
        return place
    }
}

/// The digests of a file's bytes, and the stamp that it had while they were read.
struct FileDigests: Hashable {
    /// Size, times and inode, the same before and after the read.
    let stamp: FileStamp
    /// One digest for each algorithm asked for, in that order.
    let digests: [Digest]

    /// Reads a target of a root once for all algorithms. Returns nil if no regular file is there.
    ///
    /// `hasRead` gets the number of bytes of each read. A file that changes during the read is read
    /// again, three times in all. After that, the method throws `inputOutput`. Blocks the calling
    /// thread.
    static func read(
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

    /// Returns the digests of an open file from its start to its end. Returns nil if cancelled.
    static func compute(
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
