internal import CLinux
internal import Glibc
internal import Synchronization

/// The root, held open: every file of the tree is opened relative to its descriptor.
///
/// Once the root is open, no file is opened by its full path, and no symbolic link in the root is
/// followed. The system call is openat2(2) with `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`. If
/// that call is missing, one openat(2) with `O_NOFOLLOW` opens each component. Folders are made
/// when a first entry is put into them.
final class RootDirectory: Sendable {
    /// The root's absolute path, for messages and for calls that need a path.
    let path: String
    /// The root's own descriptor, opened before any file is written.
    /// syncfs(2) reports only errors that come after its descriptor was opened.
    let descriptor: Descriptor
    /// The part of the targets that this process has. The folder of its index and lock follows.
    let shard: Shard
    private let hasOpenat2: Bool
    /// The parents of new folders. Until they are flushed, a power cut could remove the new
    /// folders.
    private let unflushed = Mutex<[Descriptor]>([])

    /// Opens a folder as a root. Throws `MirrorError` with `rootUnusable`.
    ///
    /// - Parameter allowsOpenat2: tests can forbid openat2(2), so that openat(2) is used.
    init(
        opening path: String, shard: Shard = .whole, allowsOpenat2: Bool = true
    ) throws(MirrorError) {
        let number: Int32
        do throws(Errno) {
            number = try retrying("open", path) {
                linux_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
            }
        } catch {
            throw MirrorError(
                .rootUnusable, "\(path): the root cannot be opened: \(error).",
                remedy: Remedy(.chooseRoot))
        }
        self.path = path
        self.shard = shard
        descriptor = Descriptor(owning: number)
        // Old container runtimes answer EPERM if the kernel has no openat2, so every failure
        // counts.
        let probe =
            allowsOpenat2
            ? linux_openat2(number, ".", UInt64(O_CLOEXEC), 0, beneath)
            : -ENOSYS
        hasOpenat2 = probe >= 0
        if probe >= 0 { close(probe) }
        for name in Area.allCases.map(\.rawValue) + [".mirror"] {
            try refuseWhatIsNoFolder(named: name)
        }
    }

    /// Throws if an entry with the name of a folder that mirror makes is no folder.
    /// Otherwise every resource in that folder would fail for the same reason.
    private func refuseWhatIsNoFolder(named name: String) throws(MirrorError) {
        let status = try? FileStatus(folder: descriptor.number, name: name, path: name)
        guard let status, status.kind != .folder else { return }
        let kind = status.kind?.rawValue ?? "file"
        throw MirrorError(
            .rootUnusable,
            "\(path)/\(name): a \(kind) is in the place of a folder, and mirror follows no links beneath the root. Move it away, or choose another root.",
            remedy: Remedy(.chooseRoot)
        )
    }

    /// The device and the inode of the root. `nil` means that they cannot be read.
    var folder: (device: UInt64, inode: UInt64)? {
        (try? descriptor.status(path: path)).map { ($0.device, $0.stamp.inode) }
    }

    /// Whether the folder has `.mirror/`, so that mirror has worked here before.
    var isRoot: Bool { (try? openFolder(".mirror")) != nil }

    /// Opens a folder of the root; the empty path is the root.
    func openFolder(_ path: String) throws(Errno) -> Descriptor {
        if path.isEmpty { return descriptor }
        return Descriptor(
            owning: try open(path, flags: O_RDONLY | O_DIRECTORY | O_CLOEXEC, mode: 0))
    }

    /// Opens a folder of the root. If it does not exist, makes it and its parents (mode 0755).
    /// New folders survive a power cut after the caller has flushed `takeUnflushedFolders`.
    func makeFolder(_ path: String) throws(Errno) -> Descriptor {
        do throws(Errno) {
            return try openFolder(path)
        } catch {
            if error.number != ENOENT { throw error }
        }
        var folder = descriptor
        var walked = ""
        for component in path.parts(at: "/") {
            let name = String(component)
            walked += walked.isEmpty ? name : "/" + name
            do throws(Errno) {
                try retryingLibc("mkdirat", walked) { mkdirat(folder.number, name, 0o755) }
                let parent = folder
                unflushed.withLock { $0.append(parent) }
            } catch {
                if error.number != EEXIST { throw error }
            }
            folder = Descriptor(owning: try openComponent(name, in: folder, path: walked))
        }
        return folder
    }

    /// Removes and returns the folders in which a folder was made. The caller flushes them.
    func takeUnflushedFolders() -> [Descriptor] {
        unflushed.withLock { folders in
            defer { folders = [] }
            return folders
        }
    }

    /// How many folders wait to be flushed, each with an open descriptor.
    var unflushedFolderCount: Int { unflushed.withLock { $0.count } }

    /// Whether so many folders wait to be flushed that their descriptors are too many to hold.
    var hasManyUnflushedFolders: Bool { unflushedFolderCount >= FolderCache.most }

    /// Opens a file of the root for reading. Never waits for a pipe, and follows no link.
    func openFile(_ path: String) throws(Errno) -> Descriptor {
        Descriptor(owning: try open(path, flags: O_RDONLY | O_NONBLOCK | O_CLOEXEC, mode: 0))
    }

    private func open(_ path: String, flags: Int32, mode: UInt64) throws(Errno) -> Int32 {
        if hasOpenat2 {
            return try retrying("openat2", path) {
                linux_openat2(descriptor.number, path, UInt64(flags), mode, beneath)
            }
        }
        var components = path.parts(at: "/").map(String.init)
        guard let last = components.popLast() else {
            throw Errno(number: ENOENT, call: "openat", path: path)
        }
        var folder = descriptor
        for name in components {
            folder = Descriptor(owning: try openComponent(name, in: folder, path: path))
        }
        if flags & O_DIRECTORY != 0 { return try openComponent(last, in: folder, path: path) }
        return try retrying("openat", path) {
            linux_openat(folder.number, last, flags | O_NOFOLLOW, 0)
        }
    }

    /// Opens one folder by its name. Throws `ELOOP` if the name is a symbolic link.
    private func openComponent(
        _ name: String, in folder: Descriptor, path: String
    ) throws(Errno) -> Int32 {
        do throws(Errno) {
            return try retrying("openat", path) {
                let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
                return linux_openat(folder.number, name, flags, 0)
            }
        } catch {
            // With O_DIRECTORY, Linux reports a symbolic link as ENOTDIR (open(2), O_NOFOLLOW).
            guard error.number == ENOTDIR,
                try FileStatus(folder: folder.number, name: name, path: path).kind == .symbolicLink
            else { throw error }
            throw Errno(number: ELOOP, call: error.call, path: path)
        }
    }
}

/// The flags of openat2(2) that forbid paths out of the root, and links of any kind.
private let beneath = UInt64(
    LINUX_RESOLVE_BENEATH | LINUX_RESOLVE_NO_SYMLINKS
        | LINUX_RESOLVE_NO_MAGICLINKS)

/// The folders that one batch works in, held open until it ends.
///
/// A folder that another program renames between two batches is looked up again.
struct FolderCache {
    private let root: RootDirectory
    private var folders: [[UInt8]: Folder] = [:]
    /// The three folders that were used last.
    /// A batch mostly needs three at a time: one of targets, one of files that they are copied
    /// from, and `tmp/`.
    private var recent: [(path: String, folder: Folder)] = []

    /// An open folder and the file system that it is on.
    struct Folder {
        let descriptor: Descriptor
        let device: UInt64
    }

    /// Maximum number of folders that are held open.
    /// A batch of many folders must not use up the files that the process may have open
    /// (getrlimit(2)).
    static let most = min(128, max(8, Descriptor.limit / 16))

    /// Makes an empty cache.
    init(_ root: RootDirectory) { self.root = root }

    /// What the keys of this process's files in `tmp/` begin with.
    var tag: String { root.shard.tag }

    /// Returns a folder, and makes it if it does not exist.
    mutating func make(_ path: String) throws(Errno) -> Folder {
        let root = root
        return try keep(path) { () throws(Errno) in try root.makeFolder(path) }
    }

    /// Returns the folder that a path leads into, and makes it if it does not exist.
    mutating func makeFolder(of path: String) throws(Errno) -> Folder {
        if let folder = recentFolder(of: path) { return folder }
        return try make(PathText.folder(of: path))
    }

    /// Returns a folder. Throws if it does not exist.
    mutating func open(_ path: String) throws(Errno) -> Folder {
        let root = root
        return try keep(path) { () throws(Errno) in try root.openFolder(path) }
    }

    /// Returns the entry of a path. Throws if the path's folder does not exist.
    mutating func entry(_ path: String) throws(Errno) -> DirectoryEntry {
        let folder: Folder
        if let recent = recentFolder(of: path) {
            folder = recent
        } else {
            folder = try open(PathText.folder(of: path))
        }
        return DirectoryEntry(folder: folder.descriptor, path: path)
    }

    /// Closes the open folders, for example because folders were removed.
    mutating func drop() {
        folders = [:]
        recent = []
    }

    /// Returns a path's folder and its last component.
    static func split(_ path: String) -> (folder: String, name: String) {
        (PathText.folder(of: path), PathText.name(of: path))
    }

    private func recentFolder(of path: String) -> Folder? {
        for at in recent.indices where PathText.isFolder(recent[at].path, of: path) {
            return recent[at].folder
        }
        return nil
    }

    private mutating func keep(
        _ path: String, _ open: () throws(Errno) -> Descriptor
    ) throws(Errno) -> Folder {
        for at in recent.indices where PathText.areSame(recent[at].path, path) {
            return recent[at].folder
        }
        let key = Array(path.utf8)
        if let folder = folders[key] {
            note(path, folder)
            return folder
        }
        let descriptor = try open()
        let folder = Folder(
            descriptor: descriptor, device: try descriptor.status(path: path).device)
        if folders.count >= FolderCache.most { drop() }
        folders[key] = folder
        note(path, folder)
        return folder
    }

    private mutating func note(_ path: String, _ folder: Folder) {
        if recent.count == 3 { recent.removeFirst() }
        recent.append((path, folder))
    }
}

// MARK: Hidden names

extension Target {
    /// Returns a short-lived name for a file beside the target, which no other file has.
    /// The form of the name is `.<name>.mirror-<32 hexadecimal digits>`.
    func freshHiddenName() -> String {
        String(joining: ".", name.prefix(bytes: 160), ".mirror-", randomHex(16))
    }

    /// Returns a path beside the target whose last component is a `freshHiddenName()`.
    func freshHiddenPath() -> String { String(joining: folder, "/", freshHiddenName()) }

    /// Whether a file name has the form of `freshHiddenName`.
    static func isHidden(_ name: String) -> Bool {
        let mark = Array(name.utf8.suffix(40))
        return name.utf8.first == UInt8(ascii: ".") && mark.starts(with: ".mirror-".utf8)
            && Hex.decode(mark.dropFirst(8)) != nil
    }
}
