/// A file in Caches or tmp that mirror put there, as eviction sees it.
package struct CachedFile: Sendable, Hashable {
    /// The target.
    package var target: Target
    /// The stamp that the file has now.
    package var stamp: FileStamp
    /// When the file was last used, as far as mirror can know.
    package var lastUsed: Instant
    /// Whether the file may be removed, or why not.
    package var state: State

    /// Whether a file may be removed.
    package enum State: String, Sendable, Hashable {
        /// The file is as mirror put it there, and no reader holds it.
        case idle
        /// The file has changed since mirror put it there, so it belongs to the user.
        case changed
        /// A reader holds the file.
        case inUse = "in-use"
    }
}

/// What eviction did, or would do: which files of Caches go so that the rest fits a quota.
///
/// All files count against the quota, but only idle ones go, the least recently used first. Files
/// last used in the same millisecond go in the order of their paths' bytes. So the same tree always
/// gives the same answer.
package struct EvictionReport: Sendable {
    /// The root's path.
    package var root: String
    /// Whether mirror only reports what it would remove.
    package var isDryRun: Bool
    /// The greatest number of bytes that Caches may hold.
    package var quota: Int64
    /// How many files of mirror's are in Caches.
    var files = 0
    /// The size of these files in bytes, before eviction.
    var bytesBefore: Int64 = 0
    /// The bytes that remain in Caches once the chosen files are gone.
    package var bytesAfter: Int64 = 0
    /// The files that go, least recently used first, without those that could not be removed.
    package var evicted = CachedFileList()
    /// The files that are not idle, if the quota is not met without them. Empty if it is met.
    package var left = CachedFileList()
    /// Why files that were chosen could not be removed.
    package var failures: [MirrorError] = []

    /// Chooses the files to remove. The order of `files` does not matter.
    init(root: String, isDryRun: Bool, quota: Int64, of files: some Sequence<CachedFile>) {
        (self.root, self.isDryRun, self.quota) = (root, isDryRun, quota)
        choose(among: (files as? CachedFileList) ?? CachedFileList(files))
    }

    private mutating func choose(among files: CachedFileList) {
        // A position needs four bytes. So a million pairs are sorted, and not a million files.
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

    /// Whether the files that remain fit the quota.
    package var isEnough: Bool { bytesAfter <= quota }

    /// Notes which of the chosen files could not be removed.
    mutating func fail(_ failed: [(file: CachedFile, error: MirrorError)]) {
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

    /// The bytes that eviction frees.
    package var bytesEvicted: Int64 { bytesBefore - bytesAfter }

    /// Writes the report as one JSON document, in chunks of about 64 KiB.
    package func write(to sink: ([UInt8]) throws -> Void) rethrows {
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
        json.objects("failures", failures) { error, json in
            json.member("path", error.target?.path)
            json.member("code", error.code.rawValue)
            json.member("message", error.message)
        }
        json.object("totals") { json in
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

/// A file that is in Caches, or that a plan would put there, as a quota sees the file.
struct QuotaCandidate: Sendable {
    /// The file's size in bytes once it is there; 0 if unknown.
    var size: Int64
    /// The resource's priority; 0 if no resource is known.
    var priority: Int32 = 0
    /// The reason to keep or to fetch the file.
    var claim: Claim
    /// When the file was last used; the time of the plan for a file that was never there.
    var lastUse: Instant
    /// Whether the file can be left out: no reader holds it, and it is unchanged.
    var mayLeave: Bool = true

    /// The reasons to keep or to fetch a file, the strongest first.
    enum Claim: Int8, Sendable {
        /// The caller asked for this very file.
        case asked
        /// A manifest wants the file, and it was not evicted before.
        case wanted
        /// A manifest wants the file, but it was evicted before: it returns only if there is room.
        case evicted
        /// No manifest wants the file any more.
        case unwanted
    }

    /// Whether this file is admitted before another one; `leftOut` explains the order.
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

    /// Whether the file's claim counts more than its priority.
    private var isExtreme: Bool { claim == .asked || claim == .unwanted }
}

extension QuotaCandidate {
    /// Returns the positions of the candidates that a quota in bytes leaves out, ascending.
    ///
    /// Files are admitted one after the other. The order is: files that cannot leave, files that
    /// the caller asked for, higher priority, later use. A file that does not fit into the rest
    /// stays out, and a smaller one after it may fit. Files that were evicted before come after all
    /// others of their priority. Otherwise the same manifest would exchange the same files in every
    /// run. Among equals the first in the list is admitted first.
    static func leftOut(
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

/// What the quota of Caches has left for files whose sizes only their servers tell.
struct QuotaRoom: Sendable, Hashable {
    /// The quota in bytes.
    let quota: Int64
    /// The bytes that no file has taken.
    private(set) var left: Int64
    /// What files took beyond what the plan counted for them, by the positions of their steps.
    private var taken: [Int: Int64] = [:]

    init(quota: Int64, left: Int64) { (self.quota, self.left) = (quota, left) }

    /// Takes a file's bytes beyond those that the plan counted. Returns false if they do not fit.
    mutating func take(_ size: Int64, counted: Int64, for position: Int) -> Bool {
        let growth = size - counted - taken[position, default: 0]
        if growth <= 0 { return true }
        if growth > left { return false }
        left -= growth
        taken[position, default: 0] += growth
        return true
    }

    /// Gives back what a file took that did not arrive.
    mutating func giveBack(_ position: Int) { left += taken.removeValue(forKey: position) ?? 0 }
}

/// A file that was left out of Caches or tmp for lack of room, as the index remembers the file.
struct EvictedFile: Sendable, Hashable {
    /// The target.
    var target: Target
    /// The file's size in bytes, where known.
    var size: Int64?
    /// When the file was last used.
    var lastUse: Instant
}

/// Files in Caches, kept compactly: some 60 bytes and the path for each of maybe a million.
package struct CachedFileList: Sendable {
    private var paths = ByteArena()
    private var records = BlockArray<Record>()
    /// The records of the list, in its order. `nil` means all records in the order of their adding.
    private var order: [UInt32]?

    private struct Record {
        var path: ByteArena.Position
        var length: UInt16
        var state: CachedFile.State
        var lastUsed: Instant
        var stamp: FileStamp
    }

    /// Takes files in their order.
    init(_ files: some Sequence<CachedFile> = EmptyCollection<CachedFile>()) {
        for file in files { append(file) }
    }

    /// Adds a file at the end.
    mutating func append(_ file: CachedFile) {
        if order != nil { self = CachedFileList(Array(self)) }
        var path = file.target.path
        let record = Record(
            path: paths.reserve(path.utf8.count), length: UInt16(path.utf8.count),
            state: file.state, lastUsed: file.lastUsed, stamp: file.stamp)
        path.withUTF8 { paths.append($0) }
        records.append(record)
    }

    /// Returns a list of the files at some positions. Both lists share their storage.
    func selecting(_ positions: some Sequence<Int>) -> CachedFileList {
        var list = self
        list.order = positions.map { UInt32(place($0)) }
        return list
    }

    /// Returns the values that decide whether a file is evicted, without its path.
    func brief(
        at position: Int
    ) -> (size: Int64, lastUsed: Instant, state: CachedFile.State) {
        let record = records[place(position)]
        return (record.stamp.size, record.lastUsed, record.state)
    }

    /// Compares the bytes of two files' paths.
    ///
    /// Returns a negative number if the first path comes first, 0 if both are equal, else a
    /// positive one.
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
    /// The position of the first file: 0.
    package var startIndex: Int { 0 }
    /// How many files there are.
    package var endIndex: Int { order?.count ?? records.count }

    /// The file at a position.
    package subscript(position: Int) -> CachedFile {
        let record = records[place(position)]
        let path = withPath(of: record) { String(decoding: $0, as: UTF8.self) }
        return CachedFile(
            target: Target(unchecked: path), stamp: record.stamp, lastUsed: record.lastUsed,
            state: record.state)
    }
}
