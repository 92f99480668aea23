/// A file's size, times and inode; equal stamps mean that its bytes were not touched.
public struct FileStamp: Sendable, Hashable {
    /// The size in bytes.
    public var size: Int64
    /// The modification time in nanoseconds since the Unix epoch.
    public var modified: Int64
    /// The time of the last change of the inode, in nanoseconds since the Unix epoch.
    public var changed: Int64
    /// The inode's number.
    public var inode: UInt64

    /// Takes the four values as `statx` gives them.
    public init(size: Int64, modified: Int64, changed: Int64, inode: UInt64) {
        self.size = size
        self.modified = modified
        self.changed = changed
        self.inode = inode
    }
}

/// The result of a look at a target.
package enum LocalFile: Sendable, Hashable {
    /// Nothing.
    case absent
    /// A regular file; its sha256 (32 bytes) where it was read.
    case file(FileStamp, sha256: Digest?)
    /// Something that mirror neither replaces nor follows: a folder, a symbolic link, a device.
    case other(FileKind)
}

/// A kind of directory entry that is not a regular file.
public enum FileKind: String, Sendable, Hashable {
    case folder
    case symbolicLink = "symbolic link"
    case fifo = "named pipe"
    case socket
    case device
    /// A regular file in the place of one of the folders above the target.
    case fileAsFolder = "file in the place of a folder"
}
