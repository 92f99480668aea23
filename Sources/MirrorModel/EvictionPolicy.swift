/// A file in Caches that mirror put there, as eviction sees it.
public struct CachedFile: Sendable, Hashable {
    /// The target.
    public var target: Target
    /// The size in bytes of what is there now.
    public var stamp: FileStamp
    /// When it was last used, as far as that can be told.
    public var lastUsed: Instant
    /// Whether it may be removed, or why not.
    public var standing: Standing

    /// Whether a file may be removed.
    public enum Standing: String, Sendable, Hashable {
        /// It is as mirror put it there, and nobody reads it.
        case idle
        /// It has changed since mirror put it there: it is somebody's now.
        case changed
        /// A reader holds it.
        case inUse = "in-use"
    }

    /// Takes what is known.
    public init(target: Target, stamp: FileStamp, lastUsed: Instant, standing: Standing) {
        self.target = target
        self.stamp = stamp
        self.lastUsed = lastUsed
        self.standing = standing
    }
}

/// Decides which files of Caches go so that the rest fits a quota: the least recently used first.
///
/// All files count, and only idle ones go. Files last used in the same millisecond go in the order of
/// their paths' bytes, so that the same tree always gives the same answer.
public struct EvictionPolicy: Sendable {
    /// The greatest number of bytes that Caches may hold.
    public var quota: Int64

    /// Takes the quota in bytes.
    public init(quota: Int64) { self.quota = max(quota, 0) }

    /// Chooses among the files that are there; the order in which they are given does not matter.
    public func eviction(of files: [CachedFile]) -> Eviction {
        let held = files.reduce(Int64(0)) { sum, file in
            let (sum, overflow) = sum.addingReportingOverflow(file.stamp.size)
            return overflow ? .max : sum
        }
        var eviction = Eviction(
            quota: quota, files: files.count, bytesBefore: held, bytesAfter: held)
        guard held > quota else { return eviction }
        let idle = files.filter { $0.standing == .idle }.sorted {
            ($0.lastUsed, $0.target) < ($1.lastUsed, $1.target)
        }
        for file in idle where file.stamp.size > 0 {
            if eviction.bytesAfter <= quota { break }
            eviction.evicted.append(file)
            eviction.bytesAfter -= file.stamp.size
        }
        eviction.left = eviction.isEnough ? [] : files.filter { $0.standing != .idle }
        return eviction
    }
}

/// Which files of Caches go, and what remains.
public struct Eviction: Sendable, Hashable {
    /// The greatest number of bytes that Caches may hold.
    public var quota: Int64
    /// How many files of mirror's are in Caches.
    public var files: Int
    /// What they take up in bytes.
    public var bytesBefore: Int64
    /// What is left of that when the chosen files are gone.
    public var bytesAfter: Int64
    /// The files that go, least recently used first.
    public var evicted: [CachedFile] = []
    /// The files that stand in the way of the quota and may not go; empty when it is met.
    public var left: [CachedFile] = []

    /// Takes the numbers; no file is chosen yet.
    public init(quota: Int64, files: Int, bytesBefore: Int64, bytesAfter: Int64) {
        self.quota = quota
        self.files = files
        self.bytesBefore = bytesBefore
        self.bytesAfter = bytesAfter
    }

    /// Whether what remains fits the quota.
    public var isEnough: Bool { bytesAfter <= quota }
}
