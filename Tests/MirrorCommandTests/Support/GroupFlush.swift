import MirrorTestSupport

/// The flush of a whole file system, which some report the errors of.
enum GroupFlush {
    /// Whether the program flushes many files at once where `/tmp` lies.
    static let isUsed: Bool = {
        let text = String(decoding: Folder("/proc/self").read("mounts") ?? [], as: UTF8.self)
        let mounts = text.split(separator: "\n").map { $0.split(separator: " ") }
        let holding = mounts.filter { $0.count > 2 && ["/", "/tmp"].contains($0[1]) }
        let last = holding.last { $0[1] == "/tmp" } ?? holding.last
        return last.map { ["ext2", "ext3", "ext4", "xfs", "btrfs"].contains($0[2]) } ?? false
    }()
}
