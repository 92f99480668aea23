internal import CLinux
internal import Glibc

/// The part of statx(2)'s report on a directory entry that mirror uses.
struct FileStatus: Sendable, Hashable {
    /// The kind of a file that is not regular. `nil` means that the file is regular.
    let kind: FileKind?
    /// Size, times and inode.
    let stamp: FileStamp
    /// When the file was last read, in nanoseconds since the epoch, as far as the mount records it.
    let accessed: Int64
    /// The number of the file's names (hard links).
    let links: UInt32
    /// The permission bits.
    let mode: UInt16
    /// The number of the user who owns the file.
    let user: UInt32
    /// The device of the file system that holds the file: major number << 32, and minor number.
    let device: UInt64

    /// Whether the file is regular.
    var isFile: Bool { kind == nil }

    /// Asks for the status of a name in a folder. The call follows no symbolic link.
    init(folder: Int32, name: String, flags: Int32 = 0, path: String) throws(Errno) {
        // `withCString` lends the text's own bytes. A String passed directly would be copied.
        let (status, failure) = name.withCString { FileStatus.ask(folder, $0, flags) }
        if failure != 0 { throw Errno(number: failure, call: "statx", path: path) }
        self.init(status)
    }

    /// Calls statx(2). `failure` is 0 or the number of the error.
    static func ask(
        _ folder: Int32, _ name: UnsafePointer<CChar>, _ flags: Int32 = 0
    ) -> (status: linux_status, failure: Int32) {
        var result = linux_status()
        let flags = flags | AT_SYMLINK_NOFOLLOW | Int32(LINUX_AT_NO_AUTOMOUNT)
        let code = uninterrupted { linux_statx(folder, name, flags, &result) }
        return (result, code < 0 ? -code : 0)
    }

    /// Returns the stamp of a regular file in a folder.
    /// Returns nil for any other file, and after an error.
    static func stamp(folder: Int32, file name: UnsafePointer<CChar>) -> FileStamp? {
        var result = linux_status()
        let flags = AT_SYMLINK_NOFOLLOW | Int32(LINUX_AT_NO_AUTOMOUNT)
        guard linux_statx(folder, name, flags, &result) == 0,
            Int32(result.mode) & 0o170000 == 0o100000
        else { return nil }
        return FileStamp(
            size: Int64(clamping: result.size), modified: nanoseconds(result.modified),
            changed: nanoseconds(result.changed), inode: result.inode)
    }

    /// Returns the stamp of the regular file to which a path leads, also through links.
    ///
    /// Returns nil for any other file, and after an error.
    static func stamp(following path: String) -> FileStamp? {
        var result = linux_status()
        let code = path.withCString { name in
            uninterrupted { linux_statx(AT_FDCWD, name, 0, &result) }
        }
        let status = FileStatus(result)
        return code == 0 && status.isFile ? status.stamp : nil
    }

    init(_ status: linux_status) {
        kind =
            switch Int32(status.mode) & 0o170000 {
            case 0o100000: nil
            case 0o040000: .folder
            case 0o120000: .symbolicLink
            case 0o010000: .fifo
            case 0o140000: .socket
            default: .device
            }
        stamp = FileStamp(
            size: Int64(clamping: status.size),
            modified: FileStatus.nanoseconds(status.modified),
            changed: FileStatus.nanoseconds(status.changed), inode: status.inode)
        accessed = FileStatus.nanoseconds(status.accessed)
        links = status.links
        mode = status.mode & 0o7777
        user = status.user
        device = UInt64(status.device_major) << 32 | UInt64(status.device_minor)
    }

    /// Returns nanoseconds since the epoch, clamped, because a file's date may not fit in 64 bits.
    private static func nanoseconds(_ time: linux_time) -> Int64 {
        let (product, tooFar) = time.seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow) = product.addingReportingOverflow(Int64(time.nanoseconds))
        return tooFar || overflow ? (time.seconds < 0 ? .min : .max) : sum
    }
}

/// The type of a file system, which shows how far its locks and flushes reach (statfs(2)).
struct FileSystemKind: Hashable {
    /// The magic number. 0 means that the kernel does not report it.
    let magic: Int64

    /// Creates a type from its magic number.
    init(magic: Int64) { self.magic = magic }

    /// Queries the file system that holds an open file.
    init(of descriptor: Descriptor) {
        magic = max(0, linux_file_system_type(descriptor.number))
    }

    /// The name of a file system that other machines or a program serve. `nil` means a local one.
    var networkName: String? { FileSystemKind.networks[magic] }

    /// Whether one syncfs(2) is known to flush everything that a batch wrote, and to report its
    /// errors.
    var reportsGroupFlush: Bool { FileSystemKind.groupFlushing.contains(magic) }

    /// Whether writes cost less after room was reserved for many of them at once.
    ///
    /// The gain was measured on ext4. xfs looks ahead by itself, and tmpfs would fill pages that
    /// may never be written.
    var gainsByReserving: Bool { magic == 0xEF53 }

    /// ext2/3/4, xfs, btrfs (linux/magic.h).
    private static let groupFlushing: Set<Int64> = [0xEF53, 0x5846_5342, 0x9123_683E]

    private static let networks: [Int64: String] = [
        0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "SMB", 0xFE53_4D42: "SMB",
        0x6573_5546: "FUSE", 0x0102_1997: "9P", 0x00C3_6400: "Ceph", 0x5346_414F: "AFS",
        0x7375_7245: "Coda", 0x0BD0_0BD0: "Lustre", 0x4750_4653: "GPFS",
    ]

    /// Whether this kernel reports write-back errors through syncfs(2): since Linux 5.8.
    static let kernelReportsGroupFlush: Bool = {
        var names = utsname()
        guard uname(&names) == 0 else { return false }
        let release = withUnsafeBytes(of: names.release) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        return isAtLeast5_8(release: release)
    }()

    /// Whether a kernel's release, such as `6.1.0-18-amd64`, is at least 5.8.
    static func isAtLeast5_8(release: String) -> Bool {
        let numbers = release.split(whereSeparator: { !("0"..."9").contains($0) }).prefix(2)
            .compactMap { Int($0) }
        guard numbers.count == 2 else { return false }
        return (numbers[0], numbers[1]) >= (5, 8)
    }
}
