internal import CLinux
internal import Glibc
internal import MirrorModel

/// A name in an open folder, for renames, links and status calls.
package struct DirectoryEntry: Sendable {
    /// The folder, open.
    package let folder: Descriptor
    /// The path beneath the root, for people and for the index.
    package let path: String
    /// A text that ends with the name, and where the name begins in it: mostly the path itself, so that
    /// no text is made for the name.
    private let text: String
    private let nameStart: Int

    /// Takes an open folder and a name in it.
    package init(folder: Descriptor, name: String, path: String) {
        self.folder = folder
        self.path = path
        text = name
        nameStart = 0
    }

    /// Takes a folder, and the path of a file in it.
    package init(folder: Descriptor, path: String) {
        self.folder = folder
        self.path = path
        text = path
        nameStart = PathText.nameStart(in: path)
    }

    /// The name in the folder.
    package var name: String { nameStart == 0 ? text : PathText.name(of: text) }

    /// The status of the file with this name; nil when there is none.
    package func status() throws(Errno) -> FileStatus? {
        let (status, failure) = withName { FileStatus.ask(folder.number, $0) }
        if failure == ENOENT { return nil }
        if failure != 0 { throw Errno(number: failure, call: "statx", path: path) }
        return FileStatus(status)
    }

    /// Passes the name as C has it: the NUL that ends the text ends the name.
    func withName<Value>(_ body: (UnsafePointer<CChar>) -> Value) -> Value {
        text.withCString { body($0 + nameStart) }
    }

    /// Another name in the same folder.
    package func sibling(_ name: String) -> DirectoryEntry {
        let above = path.utf8.count - self.name.utf8.count
        return DirectoryEntry(folder: folder, name: name, path: path.prefix(bytes: above) + name)
    }

    /// Opens the file; never follows a link, never waits for a pipe.
    package func open(_ flags: Int32, mode: UInt32 = 0) throws(Errno) -> Descriptor {
        Descriptor(
            owning: try retrying("openat", path) {
                let all = flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
                return withName { linux_openat(folder.number, $0, all, mode) }
            })
    }

    /// Removes the file; a missing file is no error.
    package func unlink() throws(Errno) {
        do throws(Errno) {
            try retryingLibc("unlinkat", path) { withName { unlinkat(folder.number, $0, 0) } }
        } catch {
            if error.number != ENOENT { throw error }
        }
    }

    /// Gives the file a second name; `EEXIST` where the name is taken.
    package func link(to other: DirectoryEntry) throws(Errno) {
        try retryingLibc("linkat", other.path) {
            withName { name in
                other.withName { linkat(folder.number, name, other.folder.number, $0, 0) }
            }
        }
    }

    /// Renames onto a name, and replaces an existing file (rename(2)).
    package func replace(_ other: DirectoryEntry) throws(Errno) {
        try rename(to: other, flags: 0)
    }

    /// Swaps the files of two names in one step (`RENAME_EXCHANGE`).
    package func exchange(with other: DirectoryEntry) throws(Errno) {
        try rename(to: other, flags: UInt32(LINUX_RENAME_EXCHANGE))
    }

    /// Swaps the folders of two names in one step; `ENOTDIR` where either is anything else.
    ///
    /// The slash at the end has the kernel itself ask for folders (path_resolution(7)), so nothing can
    /// come between the look and the exchange.
    package func exchangeFolders(with other: DirectoryEntry) throws(Errno) {
        try retrying("renameat2", other.path) {
            linux_renameat2(
                folder.number, name + "/", other.folder.number, other.name + "/",
                UInt32(LINUX_RENAME_EXCHANGE))
        }
    }

    /// Renames to a name that is free; `EEXIST` otherwise (`RENAME_NOREPLACE`).
    ///
    /// Where the file system cannot promise that, the file gets a hard link instead, which never
    /// replaces either. Where there are no hard links, the name is checked before the rename.
    package func renameToFree(_ other: DirectoryEntry) throws(Errno) {
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
    /// Gives the open file a name, or a further one; `EEXIST` where the name is taken.
    package func link(to entry: DirectoryEntry) throws(Errno) {
        try retrying("linkat", entry.path) {
            entry.withName { linux_link_open(number, entry.folder.number, $0) }
        }
    }

    /// Gives the open file a name; false where the name is taken.
    package func linkIfFree(to entry: DirectoryEntry) throws(Errno) -> Bool {
        do throws(Errno) { try link(to: entry) } catch {
            if error.number == EEXIST { return false }
            throw error
        }
        return true
    }
}

extension Errno {
    /// Whether the file system or the kernel lacks the flag of renameat2(2).
    package var isUnsupportedRename: Bool {
        number == EINVAL || number == ENOSYS || number == EOPNOTSUPP
    }

    /// Whether the file system has no hard links, or no further ones for this file.
    package var isUnsupportedLink: Bool {
        number == EPERM || number == EOPNOTSUPP || number == EMLINK || number == ENOSYS
    }
}
