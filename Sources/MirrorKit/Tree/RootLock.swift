internal import CLinux
internal import Glibc

/// The right to write to a root, or to a shard's part of it, held with flock(2) until `release`.
///
/// The file is `lock` in the folder of the index. It is removed only with that folder, by its
/// holder: a lock on an unlinked file excludes no process. The file's text names the holder for people. Only the lock itself counts, and the kernel releases it when the
/// process ends.
final class RootLock: Sendable {
    /// The name of its file.
    static let name = "lock"
    /// A warning that locks may not hold, because other machines share the files. Otherwise nil.
    let warning: String?
    private let file: Descriptor

    private init(file: Descriptor, warning: String?) {
        self.file = file
        self.warning = warning
    }

    deinit { release() }

    /// Releases the lock now, without waiting for `deinit`.
    ///
    /// A thread that has just opened the index may still hold a reference to this object. To close
    /// the file would not suffice either. A forked child process that has not called exec yet holds
    /// the descriptor too, and with it the lock (flock(2)).
    func release() { _ = linux_flock(file.number, LOCK_UN) }

    /// Takes the lock of the root's shard. Throws `MirrorError` with `locked`, which names the
    /// holder, if it is taken.
    static func tryAcquire(
        _ root: RootDirectory, now: Instant
    ) throws(MirrorError) -> RootLock {
        var heldBy: String?
        do throws(Errno) {
            let path = root.shard.folder + "/" + name
            let file = try lock(path, heldBy: &heldBy) { () throws(Errno) in
                try root.makeFolder(root.shard.folder)
            }
            try write(["\(hostName())", "\(getpid())", now.rfc3339], to: file, path)
            return RootLock(file: file, warning: warning(for: FileSystemKind(of: file)))
        } catch {
            if let heldBy {
                throw MirrorError(
                    .locked,
                    "\(root.path): another run \(root.shard.remark)holds the lock (\(heldBy)).",
                    remedy: Remedy(.waitForLock))
            }
            // The root is right but the write failed, so another root would not help.
            let isOfTheDisk = error.number == EIO || error.number == EFBIG
            throw MirrorError(
                error.isNoSpace ? .noSpace : isOfTheDisk ? .inputOutput : .rootUnusable,
                "\(root.path): the lock cannot be taken: \(error).")
        }
    }

    /// Opens the lock file and locks it, alone. Sets `heldBy` if another process has the lock.
    ///
    /// A process that takes over all rows of a shard removes the file, so an unlinked one is opened
    /// again.
    private static func lock(
        _ path: String, heldBy: inout String?, in folder: () throws(Errno) -> Descriptor
    ) throws(Errno) -> Descriptor {
        while true {
            let folder = try folder()
            let file = Descriptor(
                owning: try retrying("openat", path) {
                    linux_openat(
                        folder.number, name,
                        O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o644)
                })
            do throws(Errno) {
                try retrying("flock", path) { linux_flock(file.number, LOCK_EX | LOCK_NB) }
            } catch {
                if error.number == EWOULDBLOCK { heldBy = holder(in: file, path) }
                throw error
            }
            if try file.status(path: path).links > 0 { return file }
        }
    }

    private static func write(
        _ lines: [String], to file: Descriptor, _ path: String
    ) throws(Errno) {
        let text = Array(lines.map { $0 + "\n" }.joined().utf8)
        try file.write(text, at: 0, path: path)
        // The file is not emptied before: an emptied file frees its block, and then needs another
        // one.
        try retryingLibc("ftruncate", path) { ftruncate(file.number, off_t(text.count)) }
    }

    /// Takes the lock of another shard, alone or together with others that read its index.
    ///
    /// Returns nil if the lock is taken. Throws `ENOENT` if the folder was removed.
    static func tryHold(
        _ folder: Descriptor, of shard: Shard, alone: Bool
    ) throws(Errno) -> RootLock? {
        let path = shard.folder + "/" + name
        let file = Descriptor(
            owning: try retrying("openat", path) {
                linux_openat(
                    folder.number, name,
                    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o644)
            })
        let lock = RootLock(file: file, warning: nil)
        return try lock.take(alone: alone, shard) ? lock : nil
    }

    /// Changes the lock of a shard between alone and together with others.
    ///
    /// Returns false, and then may hold nothing, if another process has the lock.
    func take(alone: Bool, _ shard: Shard) throws(Errno) -> Bool {
        let kind = alone ? LOCK_EX : LOCK_SH
        do throws(Errno) {
            try retrying("flock", shard.folder + "/" + RootLock.name) {
                linux_flock(file.number, kind | LOCK_NB)
            }
        } catch {
            if error.number == EWOULDBLOCK { return false }
            throw error
        }
        return true
    }

    private static let settles = "settles what a killed run left"

    /// Writes into the file that the holder does not sync, but settles what a killed run left.
    func noteThatItSettles(_ shard: Shard) throws(Errno) {
        let lines = [RootLock.settles, "\(getpid())", SystemClock.now().rfc3339]
        try RootLock.write(lines, to: file, shard.folder + "/" + RootLock.name)
    }

    /// Whether the holder of a shard's lock only settles what a killed run left.
    static func isHeldBySettling(_ folder: Descriptor, of shard: Shard) -> Bool {
        let path = shard.folder + "/" + name
        let entry = DirectoryEntry(folder: folder, name: name, path: path)
        guard let file = try? entry.open(O_RDONLY | O_NONBLOCK),
            let bytes = try? file.bytes(at: 0, count: settles.utf8.count, path: path)
        else { return false }
        return bytes.elementsEqual(settles.utf8)
    }

    /// Returns a warning if other machines may not see the locks of a file system; otherwise nil.
    static func warning(for kind: FileSystemKind) -> String? {
        kind.networkName.map {
            "The root is on a network file system (\($0)): locks may not hold between machines."
        }
    }

    /// Returns the holder that the lock file names: `host, pid 12, since …`.
    private static func holder(in file: Descriptor, _ path: String) -> String {
        let bytes = (try? file.bytes(at: 0, count: 512, path: path)) ?? []
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { line in
            String(
                String.UnicodeScalarView(line.unicodeScalars.filter { (0x20..<0x7F) ~= $0.value }))
        }
        guard lines.count >= 3 else { return "its file does not name it" }
        return "\(lines[0]), pid \(lines[1]), since \(lines[2])"
    }

    private static func hostName() -> String {
        var names = utsname()
        guard uname(&names) == 0 else { return "unknown host" }
        return withUnsafeBytes(of: names.nodename) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
