internal import CLinux
internal import Glibc
internal import Synchronization

/// A name in an open folder, for renames, links and status calls.
struct DirectoryEntry: Sendable {
    /// The folder, open.
    let folder: Descriptor
    /// The path below the root, for messages and for the index.
    let path: String
    /// A text that ends with the name. Mostly it is the path, so that no text is made for the name.
    private let text: String
    /// The offset in bytes of the name in `text`.
    private let nameStart: Int

    /// Creates an entry from an open folder and a name in it.
    init(folder: Descriptor, name: String, path: String) {
        self.folder = folder
        self.path = path
        text = name
        nameStart = 0
    }

    /// Creates an entry from an open folder and the path of a file in it.
    init(folder: Descriptor, path: String) {
        self.folder = folder
        self.path = path
        text = path
        nameStart = PathText.nameStart(in: path)
    }

    /// The name in the folder.
    var name: String { nameStart == 0 ? text : PathText.name(of: text) }

    /// Returns the status of the file with this name. Returns nil if there is no file.
    func status() throws(Errno) -> FileStatus? {
        let (status, failure) = withName { FileStatus.ask(folder.number, $0) }
        if failure == ENOENT { return nil }
        if failure != 0 { throw Errno(number: failure, call: "statx", path: path) }
        return FileStatus(status)
    }

    /// Passes the name as a C string to the body. The NUL that ends the text also ends the name.
    func withName<Value>(_ body: (UnsafePointer<CChar>) -> Value) -> Value {
        text.withCString { body($0 + nameStart) }
    }

    /// Returns the entry of another name in the same folder.
    func sibling(_ name: String) -> DirectoryEntry {
        let above = path.utf8.count - self.name.utf8.count
        return DirectoryEntry(folder: folder, name: name, path: path.prefix(bytes: above) + name)
    }

    /// Opens the file. The call follows no symbolic link and does not wait for a pipe.
    func open(_ flags: Int32, mode: UInt32 = 0) throws(Errno) -> Descriptor {
        Descriptor(
            owning: try retrying("openat", path) {
                let all = flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
                return withName { linux_openat(folder.number, $0, all, mode) }
            })
    }

    /// Removes the file. A missing file is no error.
    func unlink() throws(Errno) {
        do throws(Errno) {
            try retryingLibc("unlinkat", path) { withName { unlinkat(folder.number, $0, 0) } }
        } catch {
            if error.number != ENOENT { throw error }
        }
    }

    /// Gives the file a second name. Throws `EEXIST` if the name is taken.
    func link(to other: DirectoryEntry) throws(Errno) {
        try retryingLibc("linkat", other.path) {
            withName { name in
                other.withName { linkat(folder.number, name, other.folder.number, $0, 0) }
            }
        }
    }

    /// Renames the file to another name, and replaces an existing file of that name (rename(2)).
    func replace(_ other: DirectoryEntry) throws(Errno) {
        try rename(to: other, flags: 0)
    }

    /// Swaps the files of two names in one step (`RENAME_EXCHANGE`).
    func exchange(with other: DirectoryEntry) throws(Errno) {
        try rename(to: other, flags: UInt32(LINUX_RENAME_EXCHANGE))
    }

    /// Swaps the folders of two names in one step. Throws `ENOTDIR` if either is no folder.
    ///
    /// The slash at the end makes the kernel itself check for folders (path_resolution(7)). So no
    /// other program can act between the check and the exchange.
    func exchangeFolders(with other: DirectoryEntry) throws(Errno) {
        try retrying("renameat2", other.path) {
            linux_renameat2(
                folder.number, name + "/", other.folder.number, other.name + "/",
                UInt32(LINUX_RENAME_EXCHANGE))
        }
    }

    /// Renames the file to a name that is free.
    /// Throws `EEXIST` if it is taken (`RENAME_NOREPLACE`).
    ///
    /// If the file system lacks that flag, the file gets a hard link, which never replaces a file
    /// either. If there are no hard links, the call checks the name before it renames.
    func renameToFree(_ other: DirectoryEntry) throws(Errno) {
        do throws(Errno) {
            return try rename(to: other, flags: UInt32(LINUX_RENAME_NOREPLACE))
        } catch {
            guard error.isUnsupportedRename else { throw error }
        }
        do throws(Errno) {
            try link(to: other)
        } catch {
            guard error.isUnsupportedLink else { throw error }
            if try other.status() != nil {
                throw Errno(number: EEXIST, call: "rename", path: other.path)
            }
            return try replace(other)
        }
        try unlink()
    }

    private func rename(to other: DirectoryEntry, flags: UInt32) throws(Errno) {
        try retrying("renameat2", other.path) {
            withName { name in
                other.withName {
                    linux_renameat2(folder.number, name, other.folder.number, $0, flags)
                }
            }
        }
    }
}

extension Descriptor {
    /// Gives the open file a name, or a further one. Throws `EEXIST` if the name is taken.
    func link(to entry: DirectoryEntry) throws(Errno) {
        try retrying("linkat", entry.path) {
            entry.withName { linux_link_open(number, entry.folder.number, $0) }
        }
    }

    /// Gives the open file a name. Returns false if the name is taken.
    func linkIfFree(to entry: DirectoryEntry) throws(Errno) -> Bool {
        do throws(Errno) { try link(to: entry) } catch {
            if error.number == EEXIST { return false }
            throw error
        }
        return true
    }
}

extension Errno {
    /// Whether the file system or the kernel lacks the flag of renameat2(2).
    var isUnsupportedRename: Bool {
        number == EINVAL || number == ENOSYS || number == EOPNOTSUPP
    }

    /// Whether the file system has no hard links, or allows no further one for this file.
    var isUnsupportedLink: Bool {
        number == EPERM || number == EOPNOTSUPP || number == EMLINK || number == ENOSYS
    }
}

extension DirectoryEntry {
    /// Removes a folder with everything below it. The call follows no link.
    func removeTree() throws(Errno) {
        let opened = try open(O_RDONLY | O_DIRECTORY)
        for child in try opened.names(path: path) {
            let entry = DirectoryEntry(folder: opened, name: child, path: path + "/" + child)
            if try entry.status()?.kind == .folder {
                try entry.removeTree()
            } else {
                try entry.unlink()
            }
        }
        try retryingLibc("unlinkat", path) { unlinkat(folder.number, name, AT_REMOVEDIR) }
    }
}

extension Descriptor {
    /// Returns the names in an open folder, without `.` and `..`, in no order.
    ///
    /// mirror makes no name that is not UTF-8, so other names are left out. With `part`, the call
    /// also leaves out names that do not contain this text.
    func names(path: String, containing part: String? = nil) throws(Errno) -> [String] {
        var names: [String] = []
        try forEachName(path: path) { bytes in
            let text = bytes.assumingMemoryBound(to: CChar.self).baseAddress
            // In a folder of a million names most do not match.
            // No String is made of names that do not match.
            if let part, let text, strstr(text, part) == nil { return }
            let name = String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            if let name, name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Returns the names in an open folder. Returns nil if a name is not UTF-8.
    func allNames(path: String) throws(Errno) -> [String]? {
        // Other programs may change the folder, so it is read once.
        var names: [String] = []
        var isWhole = true
        try forEachName(path: path) { bytes in
            guard let name = String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self) else {
                isWhole = false
                return
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return isWhole ? names : nil
    }

    /// Calls the body with each name in the folder, which ends in NUL, in no order.
    private func forEachName(
        path: String, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(Errno) {
        // The stream gets a descriptor of its own, because it moves the position and closes the
        // descriptor.
        let own = try retrying("openat", path) {
            linux_openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        }
        guard let stream = fdopendir(own) else {
            close(own)
            throw Errno(number: linux_errno(), call: "fdopendir", path: path)
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                let number = linux_errno()
                if number == 0 { return }
                throw Errno(number: number, call: "readdir", path: path)
            }
            withUnsafeBytes(of: &entry.pointee.d_name) { body($0) }
        }
    }
}

/// The attributes of a folder: mode, owner, group and extended attributes.
///
/// Access control lists and security labels are extended attributes.
struct FolderAttributes: Sendable, Hashable {
    /// The permission bits.
    let mode: UInt16
    private let user: UInt32
    private let group: UInt32
    private let extended: [[UInt8]: [UInt8]]

    /// Reads the attributes of an open folder (statx(2), flistxattr(2)).
    init(of folder: Descriptor, path: String) throws(Errno) {
        var status = linux_status()
        try retrying("statx", path) {
            linux_statx(folder.number, "", Int32(LINUX_AT_EMPTY_PATH), &status)
        }
        mode = status.mode & 0o7777
        user = status.user
        group = status.group
        extended = try FolderAttributes.extended(of: folder, path: path)
    }

    /// Whether another folder has equal attributes, except for the mode, which can be set.
    func equalsExceptForMode(_ other: FolderAttributes) -> Bool {
        user == other.user && group == other.group && extended == other.extended
    }

    private static func extended(
        of folder: Descriptor, path: String
    ) throws(Errno) -> [[UInt8]: [UInt8]] {
        let names: [UInt8]
        do throws(Errno) {
            names = try bytes("flistxattr", path) {
                linux_list_attributes(folder.number, $0, $1)
            }
        } catch {
            // The file system has no extended attributes.
            if error.number == EOPNOTSUPP { return [:] }
            throw error
        }
        var attributes: [[UInt8]: [UInt8]] = [:]
        for name in names.split(separator: 0) {
            attributes[Array(name)] = try (name + [0]).withUnsafeBufferPointer {
                (name) throws(Errno) in
                try bytes("fgetxattr", path) { value, size in
                    name.withMemoryRebound(to: CChar.self) {
                        $0.baseAddress.map {
                            linux_get_attribute(folder.number, $0, value, size)
                        } ?? 0
                    }
                }
            }
        }
        return attributes
    }

    /// Calls `body` with a buffer of 64 KiB, the most that an attribute has (xattr(7)).
    ///
    /// `body` returns the number of bytes that it put there. The result is these bytes.
    private static func bytes(
        _ call: StaticString, _ path: String,
        _ body: (UnsafeMutablePointer<CChar>?, Int) -> Int
    ) throws(Errno) -> [UInt8] {
        let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: 64 << 10)
        defer { buffer.deallocate() }
        let count = try retrying(call, path) { body(buffer, 64 << 10) }
        return UnsafeBufferPointer(start: buffer, count: count).map { UInt8(bitPattern: $0) }
    }
}

// MARK: Random names

/// How many bytes the kernel gives in one piece: enough for sixteen names of 16 bytes.
private let randomBatch = 256
private let randomStock = Mutex<[UInt8]>([])

/// Returns unpredictable bytes, at most 256, for names that no other process picks (getrandom(2)).
func randomBytes(_ count: Int) -> [UInt8] {
    precondition(count <= randomBatch)
    return randomStock.withLock { stock in
        if stock.count < count {
            stock = [UInt8](unsafeUninitializedCapacity: randomBatch) { buffer, initialized in
                while getrandom(buffer.baseAddress, randomBatch, 0) != randomBatch {
                    if errno != EINTR, readRandomDevice(buffer) { break }
                }
                initialized = randomBatch
            }
        }
        defer { stock.removeLast(count) }
        return Array(stock.suffix(count))
    }
}

/// Fills the buffer from urandom(4), for a sandbox that refuses getrandom(2).
///
/// Returns false if the device gives fewer bytes.
private func readRandomDevice(_ buffer: UnsafeMutableBufferPointer<UInt8>) -> Bool {
    let device = linux_openat(AT_FDCWD, "/dev/urandom", O_RDONLY | O_CLOEXEC, 0)
    guard device >= 0 else { return false }
    defer { close(device) }
    return read(device, buffer.baseAddress, buffer.count) == buffer.count
}

/// Returns this many unpredictable bytes as hexadecimal digits, two for each byte.
func randomHex(_ count: Int) -> String { Hex.encode(randomBytes(count)) }
