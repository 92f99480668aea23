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

/// What eviction did, or would do: which files of Caches go so that the rest fits a quota.
///
/// All files count, and only idle ones go, the least recently used first. Files last used in the same
/// millisecond go in the order of their paths' bytes, so the same tree always gives the same answer.
public struct EvictionReport: Sendable {
    /// The root's path.
    public var root: String
    /// Whether nothing was to be removed.
    public var isDryRun: Bool
    /// The greatest number of bytes that Caches may hold.
    public var quota: Int64
    /// How many files of mirror's are in Caches.
    public var files = 0
    /// Their size in bytes.
    public var bytesBefore: Int64 = 0
    /// Bytes that remain when the chosen files are gone.
    public var bytesAfter: Int64 = 0
    /// The files that go, least recently used first; one that could not be removed is in `failures`.
    public var evicted = CachedFileList()
    /// The files that stand in the way of the quota and may not go; empty when it is met.
    public var left = CachedFileList()
    /// Why files that were chosen are still there.
    public var failures: [MirrorError] = []

    /// Chooses among the files that are there; the order in which they are given does not matter.
    public init(root: String, isDryRun: Bool, quota: Int64, of files: some Sequence<CachedFile>) {
        (self.root, self.isDryRun, self.quota) = (root, isDryRun, quota)
        choose(among: (files as? CachedFileList) ?? CachedFileList(files))
    }

    private mutating func choose(among files: CachedFileList) {
        // Four bytes of position beside the time: a million of these are sorted, not a million files.
        var idle: [(lastUsed: Instant, position: Int32)] = []
        for position in files.indices {
            let file = files.brief(at: position)
            bytesBefore = bytesBefore.addingSaturated(file.size)
            if file.state == .idle, file.size > 0 {
                idle.append((file.lastUsed, Int32(position)))
            }
        }
        (self.files, bytesAfter) = (files.count, bytesBefore)
        guard bytesBefore > quota else { return }
        idle.sort { left, right in
            if left.lastUsed != right.lastUsed { return left.lastUsed < right.lastUsed }
            return files.compare(Int(left.position), Int(right.position)) < 0
        }
        var count = 0
        while count < idle.count, bytesAfter > quota {
            bytesAfter -= files.brief(at: Int(idle[count].position)).size
            count += 1
        }
        evicted = files.selecting(idle.prefix(count).lazy.map { Int($0.position) })
        if !isEnough {
            left = files.selecting(
                files.indices.lazy.filter { files.brief(at: $0).state != .idle })
        }
    }

    /// Whether what remains fits the quota.
    public var isEnough: Bool { bytesAfter <= quota }

    /// Enters files that could not be removed.
    public mutating func fail(_ failed: [(file: CachedFile, error: MirrorError)]) {
        guard !failed.isEmpty else { return }
        let targets = Set(failed.lazy.map(\.file.target))
        let chosen = evicted
        evicted = chosen.selecting(
            chosen.indices.lazy.filter { !targets.contains(chosen[$0].target) })
        for (file, error) in failed {
            failures.append(error)
            bytesAfter += file.stamp.size
        }
    }

    /// The bytes that were given back.
    public var bytesEvicted: Int64 { bytesBefore - bytesAfter }

    /// Writes the report as one JSON document, in chunks of about 64 KiB.
    public func write(to sink: ([UInt8]) throws -> Void) rethrows {
        var json = JSONWriter()
        json.beginObject()
        json.member("v", 1)
        json.member("root", root)
        json.member("dryRun", isDryRun)
        json.member("quota", quota)
        json.key("steps")
        json.beginArray()
        for file in evicted {
            write(file, "evict", "least-recently-used", to: &json)
            if json.bytes.count > 64 << 10 { try sink(json.take()) }
        }
        for file in left {
            write(file, "leave", file.state.rawValue, to: &json)
            if json.bytes.count > 64 << 10 { try sink(json.take()) }
        }
        json.endArray()
        writeRest(to: &json)
        json.endObject()
        json.newline()
        try sink(json.take())
    }

    private func writeRest(to json: inout JSONWriter) {
        json.key("failures")
        json.array { json in
            for error in failures {
                json.object { json in
                    json.member("path", error.target?.path)
                    json.member("code", error.code.rawValue)
                    json.member("message", error.message)
                }
            }
        }
        json.key("totals")
        json.object { json in
            json.member("files", files)
            json.member("bytes", bytesBefore)
            json.member("evicted", evicted.count)
            json.member("bytesEvicted", bytesEvicted)
            json.member("bytesLeft", bytesAfter)
            json.member("fits", isEnough)
        }
    }

    private func write(
        _ file: CachedFile, _ step: String, _ reason: String, to json: inout JSONWriter
    ) {
        json.object { json in
            json.member("path", file.target.path)
            json.member("step", step)
            json.member("reason", reason)
            json.member("size", file.stamp.size)
            json.member("lastUsed", file.lastUsed.rfc3339)
        }
    }
}

/// A file of Caches that is there, or that a plan would bring, as a quota sees it.
package struct QuotaCandidate: Sendable {
    /// Its size once it is there, in bytes; 0 if unknown.
    package var size: Int64
    /// The resource's priority; 0 where no resource is known.
    package var priority: Int32
    /// The reason to keep or to fetch it.
    package var claim: Claim
    /// When it was last used; for a file that was never there, the time of the plan.
    package var lastUse: Instant
    /// Whether it can be left out: no reader holds it, and it is unchanged.
    package var mayLeave: Bool

    /// The reasons to keep or to fetch a file, the strongest first.
    package enum Claim: Int8, Sendable {
        /// Somebody asked for this very file.
        case asked
        /// A manifest wants it, and it was not evicted before.
        case wanted
        /// A manifest wants it, and it was evicted before: it comes back only where there is room.
        case evicted
        /// No manifest wants it any more.
        case unwanted
    }

    /// Takes the facts.
    package init(
        size: Int64, priority: Int32 = 0, claim: Claim, lastUse: Instant, mayLeave: Bool = true
    ) {
        self.size = size
        self.priority = priority
        self.claim = claim
        self.lastUse = lastUse
        self.mayLeave = mayLeave
    }

    /// Whether it is admitted before another: asked for, then by priority, then by last use.
    fileprivate func isAdmitted(before other: QuotaCandidate) -> Bool {
        if mayLeave != other.mayLeave { return !mayLeave }
        let (extremes, others) = (isExtreme, other.isExtreme)
        if extremes || others, claim != other.claim {
            return claim.rawValue < other.claim.rawValue
        }
        if priority != other.priority { return priority > other.priority }
        if claim != other.claim { return claim.rawValue < other.claim.rawValue }
        return lastUse > other.lastUse
    }

    /// Whether its priority does not matter against files of another claim.
    private var isExtreme: Bool { claim == .asked || claim == .unwanted }
}

extension QuotaCandidate {
    /// The positions of the candidates that a quota in bytes leaves out, ascending.
    ///
    /// Files are admitted one after the other: first those that cannot leave, then those that were
    /// asked for, then by priority, and among equals the most recently used first. A file that does
    /// not fit into the rest stays out, and a smaller one after it may fit. Files that were evicted
    /// before come after all others of their priority, so that the same manifest does not exchange
    /// the same files in every run. Among equals the first in the list is admitted first.
    package static func leftOut(
        of candidates: some RandomAccessCollection<QuotaCandidate>, quota: Int64
    ) -> [Int] {
        let quota = max(quota, 0)
        let candidates = Array(candidates)
        let total = candidates.reduce(Int64(0)) { $0.addingSaturated($1.size) }
        if total <= quota, total < .max { return [] }
        let ranked = candidates.indices.sorted { first, second in
            let (left, right) = (candidates[first], candidates[second])
            if left.isAdmitted(before: right) { return true }
            return !right.isAdmitted(before: left) && first < second
        }
        var room = quota
        var out: [Int] = []
        for position in ranked {
            let candidate = candidates[position]
            if !candidate.mayLeave || candidate.size <= max(room, 0) {
                room = room.addingSaturated(-candidate.size)
            } else {
                out.append(position)
            }
        }
        return out.sorted()
    }
}

/// A file that was left out of Caches or tmp for room, as the index remembers it.
public struct EvictedFile: Sendable, Hashable {
    /// The target.
    public var target: Target
    /// Its size in bytes, where known.
    public var size: Int64?
    /// When it was last used.
    public var lastUse: Instant

    /// Takes the facts.
    public init(target: Target, size: Int64?, lastUse: Instant) {
        self.target = target
        self.size = size
        self.lastUse = lastUse
    }
}

/// Files in Caches, kept compactly: some 60 bytes and the path for each of maybe a million.
public struct CachedFileList: Sendable {
    private var paths = ByteArena()
    private var records = BlockArray<Record>()
    /// The records that are in the list, in its order; nil for all of them as they came.
    private var order: [UInt32]?

    private struct Record {
        var path: ByteArena.Position
        var length: UInt16
        var state: CachedFile.State
        var lastUsed: Instant
        var stamp: FileStamp
    }

    /// Takes files in their order.
    public init(_ files: some Sequence<CachedFile> = EmptyCollection<CachedFile>()) {
        for file in files { append(file) }
    }

    /// Adds a file at the end.
    public mutating func append(_ file: CachedFile) {
        if order != nil { self = CachedFileList(Array(self)) }
        var path = file.target.path
        let record = Record(
            path: paths.reserve(path.utf8.count), length: UInt16(path.utf8.count),
            state: file.state, lastUsed: file.lastUsed, stamp: file.stamp)
        path.withUTF8 { paths.append($0) }
        records.append(record)
    }

    /// The files at some positions, in their order; the two lists share their storage.
    func selecting(_ positions: some Sequence<Int>) -> CachedFileList {
        var list = self
        list.order = positions.map { UInt32(place($0)) }
        return list
    }

    /// The values that decide whether a file is evicted, without its path.
    func brief(
        at position: Int
    ) -> (size: Int64, lastUsed: Instant, state: CachedFile.State) {
        let record = records[place(position)]
        return (record.stamp.size, record.lastUsed, record.state)
    }

    /// Negative, zero or positive as the first path's bytes come before, with or after the other's.
    func compare(_ first: Int, _ second: Int) -> Int {
        withPath(of: records[place(first)]) { first in
            withPath(of: records[place(second)]) { ByteOrder.compare(first, $0) }
        }
    }

    private func place(_ position: Int) -> Int { order.map { Int($0[position]) } ?? position }

    private func withPath<Result>(
        of record: Record, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        paths.withBytes(at: record.path, count: Int(record.length), body)
    }
}

extension CachedFileList: RandomAccessCollection {
    /// 0.
    public var startIndex: Int { 0 }
    /// How many files there are.
    public var endIndex: Int { order?.count ?? records.count }

    /// The file at a position.
    public subscript(position: Int) -> CachedFile {
        let record = records[place(position)]
        let path = withPath(of: record) { String(decoding: $0, as: UTF8.self) }
        return CachedFile(
            target: Target(unchecked: path), stamp: record.stamp, lastUsed: record.lastUsed,
            state: record.state)
    }
}
