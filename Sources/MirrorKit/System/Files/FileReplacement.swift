internal import CLinux
internal import Glibc

/// Rewrites a file outside the tree: writes a new file beside it, flushes that file, then renames
/// it.
///
/// At every moment, and after every interruption, the path leads to the whole old file or to the
/// whole new one. The new file gets the mode and owner of the old one. If the path is a link, the
/// link stays and its destination is rewritten. The writer holds the new file with flock(2) while
/// that file has a temporary name. A killed process leaves a file that no process holds. The next
/// writer in that folder removes such a file.
struct FileReplacement {
    /// The path of the file, with links resolved.
    private let path: String
    /// The file's status when this value was made. `nil` means that there was no file.
    private let before: stat?

    /// Notes the status of an existing file.
    ///
    /// Throws `MirrorError` with `usage` if the file is not regular, or is a link that leads
    /// nowhere. Throws other codes if a link cannot be followed.
    init(of path: String) throws(MirrorError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let number = errno
            // A rename would put the file in place of the link.
            if lstat(path, &status) == 0 {
                guard number == ENOENT else {
                    throw MirrorError(Errno(number: number, call: "stat", path: path))
                }
                throw MirrorError(.usage, "\(path.printable): it is a link that leads to no file.")
            }
            self.path = path
            before = nil
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw MirrorError(
                .usage,
                "\(path.printable): it is not a regular file, and only such a file is replaced.")
        }
        self.path = resolvedPath(path) ?? path
        before = status
    }

    /// The absolute path of the folder that holds the file.
    /// `nil` means that there is no such folder.
    var folder: String? { resolvedPath(folderPath) }

    /// Writes the bytes from `body` to a new file, and renames it onto the old one.
    ///
    /// After an error, the path leads to the unchanged old file. If only the flush of the folder
    /// failed, it leads to the whole new file. Throws the errors of `body`, or `MirrorError`.
    func write<Value>(
        _ body: ((_ bytes: [UInt8]) throws -> Void) throws -> Value
    ) throws -> Value {
        do {
            let folder = try FileReplacement.open(folderPath, O_RDONLY | O_DIRECTORY, for: path)
            FileReplacement.removeLeftovers(in: folder, path: folderPath)
            let (hidden, file) = try make()
            let value: Value
            do {
                value = try fill(file, body)
                try refuseOtherChange()
                try retryingLibc("rename", path) { rename(hidden, path) }
            } catch {
                unlink(hidden)
                throw error
            }
            try folder.flush(path: folderPath)
            return value
        } catch let error as Errno {
            throw MirrorError(error)
        }
    }

    /// Creates the new file under a temporary name, and locks it.
    private func make() throws(Errno) -> (name: String, file: Descriptor) {
        while true {
            let name = folderPath + "/" + FileReplacement.stem + randomHex(8)
            // If other users may not read the old file, they may not read the new one while it is
            // written.
            let file = try FileReplacement.open(
                name, O_RDWR | O_CREAT | O_EXCL, mode: before == nil ? 0o666 : 0o600, for: path)
            // Another process may remove the file as a leftover before this process holds the lock.
            _ = linux_flock(file.number, LOCK_EX | LOCK_NB)
            if try file.status(path: path).links > 0 { return (name, file) }
        }
    }

    private static let stem = ".mirror-"

    private static func removeLeftovers(in folder: Descriptor, path: String) {
        for name in (try? folder.names(path: path)) ?? [] {
            let digits = name.utf8.dropFirst(stem.utf8.count)
            guard name.utf8.starts(with: stem.utf8), digits.count == 16,
                Hex.decode(Array(digits)) != nil
            else { continue }
            let entry = DirectoryEntry(folder: folder, name: name, path: name)
            guard let file = try? entry.open(O_RDONLY),
                (try? file.status(path: name))?.isFile == true,
                linux_flock(file.number, LOCK_EX | LOCK_NB) == 0
            else { continue }
            try? entry.unlink()
        }
    }

    private func fill<Value>(
        _ file: Descriptor, _ body: ((_ bytes: [UInt8]) throws -> Void) throws -> Value
    ) throws -> Value {
        var offset: Int64 = 0
        let value = try body { bytes in
            try file.write(bytes, at: offset, path: path)
            offset += Int64(bytes.count)
        }
        if let before {
            // Only root may change a file's owner.
            // If another user replaces the file, that user owns the new one.
            _ = fchown(file.number, before.st_uid, before.st_gid)
            try retryingLibc("fchmod", path) { fchmod(file.number, before.st_mode & 0o7777) }
        }
        try file.flush(path: path)
        return value
    }

    /// Refuses to replace a file that another program has changed, so that no change is lost.
    private func refuseOtherChange() throws(MirrorError) {
        var now = stat()
        let isThere = stat(path, &now) == 0
        let isSame =
            if let before {
                isThere && now.st_ino == before.st_ino && now.st_size == before.st_size
                    && now.st_ctim.tv_sec == before.st_ctim.tv_sec
                    && now.st_ctim.tv_nsec == before.st_ctim.tv_nsec
            } else {
                !isThere
            }
        guard !isSame else { return }
        throw MirrorError(
            .inputOutput,
            "\(path.printable): it was changed by someone else meanwhile, so it was left. Run again."
        )
    }

    private var slash: String.Index? { path.utf8.lastIndex(of: UInt8(ascii: "/")) }

    private var folderPath: String {
        slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    private static func open(
        _ name: String, _ flags: Int32, mode: mode_t = 0, for path: String
    ) throws(Errno) -> Descriptor {
        Descriptor(
            owning: try retryingLibc("open", path) { Glibc.open(name, flags | O_CLOEXEC, mode) })
    }
}

extension Descriptor {
    /// Copies the bytes of this file into an empty file.
    ///
    /// The call shares the extents (FICLONE), else lets the kernel copy (copy_file_range(2)), else
    /// reads and writes. The copy has the bytes that this file had at some moment. The caller
    /// verifies the copy.
    func copy(to copy: Descriptor, path: String) throws(Errno) {
        if linux_ficlone(copy.number, number) >= 0 { return }
        if try copyInKernel(to: copy, path: path) { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while true {
            let count = try read(into: buffer, at: offset, path: path)
            try copy.write(
                UnsafeRawBufferPointer(rebasing: buffer[..<count]), at: offset, path: path)
            offset += Int64(count)
            if count < buffer.count { return }
        }
    }

    /// Copies with copy_file_range(2).
    ///
    /// Returns false if the kernel cannot copy between these two files, and copied nothing.
    private func copyInKernel(to copy: Descriptor, path: String) throws(Errno) -> Bool {
        // The call passes offsets, because other code may share the files' positions.
        var offset: Int64 = 0
        while true {
            do throws(Errno) {
                let count = try retrying("copy_file_range", path) {
                    linux_copy_file_range(number, copy.number, offset, 1 << 30)
                }
                // Some file systems of the kernel return 0 for files that they cannot copy.
                if count == 0 {
                    if offset > 0 { return true }
                    return try status(path: path).stamp.size == 0
                }
                offset += Int64(count)
            } catch {
                if offset == 0, !error.isNoSpace, error.number != EIO { return false }
                throw error
            }
        }
    }
}

/// Returns the absolute path of a file without links, `.` and `..` (realpath(3)).
///
/// Returns nil if there is no file.
package func resolvedPath(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
}
