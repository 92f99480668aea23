/// A file in Caches or tmp that mirror put there, as eviction sees it.
public struct CachedFile: Sendable, Hashable {
    /// The target.
    public var target: Target
    /// The file's size in bytes, as it is now.
    public var stamp: FileStamp
    /// When it was last used, as far as mirror can tell.
    public var lastUsed: Instant
    /// Whether it may be removed, or why not.
    public var state: State

    /// Whether a file may be removed.
    public enum State: String, Sendable, Hashable {
        /// It is as mirror put it there, and no reader holds it.
        case idle
        /// It has changed since mirror put it there, so it belongs to the user.
        case changed
        /// A reader holds it.
        case inUse = "in-use"
    }

    /// Takes the facts.
    public init(target: Target, stamp: FileStamp, lastUsed: Instant, state: State) {
        self.target = target
        self.stamp = stamp
        self.lastUsed = lastUsed
        self.state = state
    }
}

/// Decides which files of Caches go so that the rest fits a quota: the least recently used first.
///
/// All files count, and only idle ones go. Files last used in the same millisecond go in the order of
/// their paths' bytes, so that the same tree always gives the same answer.
package struct EvictionPolicy: Sendable {
    /// The greatest number of bytes that Caches may hold.
    package var quota: Int64

    /// Takes the quota in bytes.
    package init(quota: Int64) { self.quota = quota }

    /// Chooses among the files that are there; the order in which they are given does not matter.
    package func eviction(of files: some Sequence<CachedFile>) -> Eviction {
        eviction(of: (files as? CachedFileList) ?? CachedFileList(files))
    }

    private func eviction(of files: CachedFileList) -> Eviction {
        var held: Int64 = 0
        // Four bytes of position beside the time: a million of these are sorted, not a million files.
        var idle: [(lastUsed: Instant, position: Int32)] = []
        for position in files.indices {
            let file = files.brief(at: position)
            held = held.addingSaturated(file.size)
            if file.state == .idle, file.size > 0 {
                idle.append((file.lastUsed, Int32(position)))
            }
        }
        var eviction = Eviction(
            quota: quota, files: files.count, bytesBefore: held, bytesAfter: held)
        guard held > quota else { return eviction }
        idle.sort { left, right in
            if left.lastUsed != right.lastUsed { return left.lastUsed < right.lastUsed }
            return files.compare(Int(left.position), Int(right.position)) < 0
        }
        var count = 0
        while count < idle.count, eviction.bytesAfter > quota {
            eviction.bytesAfter -= files.brief(at: Int(idle[count].position)).size
            count += 1
        }
        eviction.evicted = files.selecting(idle.prefix(count).lazy.map { Int($0.position) })
        if !eviction.isEnough {
            eviction.left = files.selecting(
                files.indices.lazy.filter { files.brief(at: $0).state != .idle })
        }
        return eviction
    }
}

/// Which files of Caches go, and what remains.
public struct Eviction: Sendable {
    /// The greatest number of bytes that Caches may hold.
    public var quota: Int64
    /// How many files of mirror's are in Caches.
    public var files: Int
    /// Their size in bytes.
    public var bytesBefore: Int64
    /// Bytes that remain when the chosen files are gone.
    public var bytesAfter: Int64
    /// The files that go, least recently used first.
    public var evicted = CachedFileList()
    /// The files that stand in the way of the quota and may not go; empty when it is met.
    public var left = CachedFileList()

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
