internal import CLinux
internal import MirrorModel

/// The type of a file system, which shows how far its locks and flushes reach (statfs(2)).
package struct FileSystemKind: Hashable {
    /// The magic number; 0 when the kernel does not report it.
    let magic: Int64

    /// Takes a magic number.
    package init(magic: Int64) { self.magic = magic }

    /// Queries the file system that holds an open file.
    package init(of descriptor: Descriptor) {
        magic = max(0, linux_file_system_type(descriptor.number))
    }

    /// The name of a file system that other machines or a program serve; nil for a local one.
    package var networkName: String? { FileSystemKind.networks[magic] }

    /// Whether one syncfs(2) is known to wait for, and report on, everything that a batch wrote.
    package var reportsGroupFlush: Bool { FileSystemKind.groupFlushing.contains(magic) }

    /// Whether writes cost less after room was reserved for many of them at once.
    ///
    /// This was measured on ext4. xfs looks ahead by itself, and tmpfs would fill pages that may
    /// never be written.
    package var gainsByReserving: Bool { magic == 0xEF53 }

    /// ext2/3/4, xfs, btrfs (linux/magic.h).
    private static let groupFlushing: Set<Int64> = [0xEF53, 0x5846_5342, 0x9123_683E]

    private static let networks: [Int64: String] = [
        0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "SMB", 0xFE53_4D42: "SMB",
        0x6573_5546: "FUSE", 0x0102_1997: "9P", 0x00C3_6400: "Ceph", 0x5346_414F: "AFS",
        0x7375_7245: "Coda", 0x0BD0_0BD0: "Lustre", 0x4750_4653: "GPFS",
    ]

    /// Whether this kernel reports write-back errors through syncfs(2): since Linux 5.8.
    package static let kernelReportsGroupFlush: Bool = {
        var names = utsname()
        guard uname(&names) == 0 else { return false }
        let release = withUnsafeBytes(of: names.release) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        return isAtLeast5_8(release: release)
    }()

    /// Reads the first two numbers of a release such as `6.1.0-18-amd64`.
    static func isAtLeast5_8(release: String) -> Bool {
        let numbers = release.split(whereSeparator: { !("0"..."9").contains($0) }).prefix(2)
            .compactMap { Int($0) }
        guard numbers.count == 2 else { return false }
        return (numbers[0], numbers[1]) >= (5, 8)
    }
}
