/// Reads every file again and compares it with its row and with the manifests' declarations.
struct IntegrityCheck: ~Copyable {
    private let view: TreeView
    private let wanted: Wanted
    private let isCancelled: @Sendable () -> Bool
    private let meter: ActivityMeter?
    private var next = 0
    private var result = VerifyReport(root: "")
    private var conflicts = ConflictScan()
    /// The targets that were left out for lack of space.
    private var evicted: Set<Target> = []

    init(
        view: TreeView, manifests: [Manifest], meter: ActivityMeter? = nil,
        isCancelled: @escaping @Sendable () -> Bool
    ) throws {
        self.meter = meter
        self.view = view
        self.isCancelled = isCancelled
        wanted = try Wanted(manifests, options: PlanOptions(), of: view.shard, index: view.index)
    }

    /// Reads all files and reports differences.
    ///
    /// Throws `MirrorError` with `inputOutput` or `cancelled`.
    mutating func report(root: String) throws -> VerifyReport {
        (result.root, result.shard) = (root, view.shard.name)
        evicted = Set(try view.index?.evictedFiles().map(\.target) ?? [])
        if let meter {
            let sizes = try storedSizes()
            let total = max(sizes.files, wanted.entries.count)
            meter.begin(.reading, total: total, totalBytes: sizes.bytes)
        }
        defer { meter?.end() }
        if let index = view.index {
            var cursor = try index.projectionCursor(from: "")
            while try cursor.next() {
                let record = try cursor.wholeRecord()
                try checkWanted(before: record.target)
                let isWanted =
                    next < wanted.entries.count
                    && wanted.target(of: wanted.entries[next]) == record.target
                let resource = isWanted ? wanted.resource(of: wanted.entries[next]) : nil
                if isWanted { next += 1 }
                try check(record.target, record: record, resource: resource)
            }
        }
        try checkWanted(before: nil)
        result.conflicts = try conflicts.copies(in: view, wanted)
        return result
    }

    /// The number and the bytes of the files in the index. For a million rows this takes a third of
    /// a second.
    private func storedSizes() throws -> (files: Int, bytes: Int64) {
        var sizes = (files: 0, bytes: Int64(0))
        guard let index = view.index else { return sizes }
        var cursor = try index.projectionCursor(from: "")
        while try cursor.next() {
            sizes.files += 1
            sizes.bytes = sizes.bytes.addingSaturated(cursor.row?.stamp.size ?? 0)
        }
        return sizes
    }

    private mutating func checkWanted(before target: Target?) throws {
        while next < wanted.entries.count {
            let candidate = wanted.target(of: wanted.entries[next])
            if let target, candidate >= target { return }
            next += 1
            try check(
                candidate, record: nil, resource: wanted.resource(of: wanted.entries[next - 1]))
        }
    }

    private mutating func check(
        _ target: Target, record: IndexRecord?, resource: Resource?
    ) throws {
        conflicts.note(target)
        meter?.name(target)
        defer { meter?.add(files: 1) }
        let declared = resource?.digests ?? []
        let expected = resource?.pin ?? record?.sha256
        guard let root = view.root else { return add(target, .missing, expected, nil) }
        let read: (stamp: FileStamp, digests: [Digest])?
        do throws(MirrorError) { read = try self.read(target, in: root, declared) } catch {
            guard error.code != .cancelled else { throw error }
            return add(target, .unreadable, expected, nil)
        }
        guard let (stamp, digests) = read else {
            return try addAbsent(target, in: root, expected: expected, isKnown: record != nil)
        }
        result.files += 1
        result.bytes += stamp.size
        let isOurs = digests.first == record?.sha256
        if record == nil, resource?.pin == nil {
            add(target, .untracked, nil, digests.first)
        } else if let wanted = declared.first(where: { digest in
            // Beside a pin, weak digests do not count, as in a plan.
            (digest.algorithm.isStrong || resource?.pin == nil) && !digests.contains(digest)
        }) {
            let actual = digests.first { $0.algorithm == wanted.algorithm }
            add(target, isOurs ? .outdated : .changed, wanted, actual)
        } else if let record, resource?.pin == nil, !isOurs {
            add(target, .changed, record.sha256, digests.first)
        } else if let size = resource?.size, size != stamp.size {
            add(target, isOurs ? .outdated : .changed, nil, digests.first)
        }
    }

    /// The digests of a file, SHA-256 first, with all that the manifest declares.
    ///
    /// Returns nil if there is no file.
    private func read(
        _ target: Target, in root: RootDirectory, _ declared: [Digest]
    ) throws(MirrorError) -> (stamp: FileStamp, digests: [Digest])? {
        let further = declared.map(\.algorithm).filter { $0 != .sha256 }
        let read = try FileDigests.read(
            target, in: root, algorithms: [.sha256] + further.prefix(1), isCancelled: isCancelled,
            hasRead: ActivityMeter.reading(meter))
        guard let read else { return nil }
        var digests = read.digests
        // One read computes at most two digests. Hardly any manifest declares more.
        for algorithm in further.dropFirst() {
            let again = try FileDigests.read(
                target, in: root, algorithms: [algorithm], isCancelled: isCancelled)
            guard let again else { return nil }
            digests += again.digests
        }
        return (read.stamp, digests)
    }

    private mutating func addAbsent(
        _ target: Target, in root: RootDirectory, expected: Digest?, isKnown: Bool
    ) throws {
        var scan = StatCursor(root)
        if !isKnown, evicted.contains(target), case .absent = try scan.look(at: target) {
            result.evicted += 1
        } else if case .other = try scan.look(at: target) {
            add(target, .obstructed, expected, nil)
        } else {
            add(target, .missing, expected, nil)
        }
    }

    private mutating func add(
        _ target: Target, _ kind: Discrepancy.Kind, _ expected: Digest?, _ actual: Digest?
    ) {
        result.discrepancies.append(
            Discrepancy(target: target, kind: kind, expected: expected, actual: actual))
    }
}
