internal import MirrorModel
internal import MirrorSystem

/// What all promotions of a run work with: the tree, the index, and the way to the disk.
final class PromotionEnvironment: Sendable {
    let root: RootDirectory
    let index: Index
    let flush: DurableFlush
    let probe: PromotionProbe
    let unnamed: UnnamedFiles
    /// The time, after which conflicts are named.
    let now: @Sendable () -> Instant

    init(
        root: RootDirectory, index: Index, probe: PromotionProbe,
        now: @escaping @Sendable () -> Instant
    ) throws(Errno) {
        self.root = root
        self.index = index
        self.probe = probe
        self.now = now
        unnamed = UnnamedFiles(isAllowed: probe.allowsUnnamedFiles)
        flush = try DurableFlush(root: root, probe: probe)
    }

    /// The file system that a flush of a whole group of works writes out; nil when each of their files
    /// is flushed by itself.
    func groupDevice(count: Int) -> UInt64? { flush.isGroup(count: count) ? flush.device : nil }
}
