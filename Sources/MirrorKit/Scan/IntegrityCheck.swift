internal import MirrorModel
internal import MirrorStore

/// Reads every file again and compares it with the index and with the pins of the manifests.
struct IntegrityCheck: ~Copyable {
    private let view: TreeView
    private let wanted: Wanted
    private let isCancelled: @Sendable () -> Bool
    private let meter: ActivityMeter?
    private var next = 0
    private var result = VerifyReport(root: "")
    private var conflicts = ConflictScan()

    init(
        view: TreeView, manifests: [Manifest], meter: ActivityMeter? = nil,
        isCancelled: @escaping @Sendable () -> Bool
    ) throws {
        self.meter = meter
        self.view = view
        self.isCancelled = isCancelled
        wanted = try Wanted(manifests, options: PlanOptions(), index: view.index)
    }

    /// Reads all files and reports differences.
    ///
    /// Throws `MirrorError` with `inputOutput` or `cancelled`.
    mutating func report(root: String) throws -> VerifyReport {
        result.root = root
        if let meter {
            let sizes = try storedSizes()
            let total = max(sizes.files, wanted.entries.count)
            meter.begin(.reading, total: total, totalBytes: sizes.bytes)
        }
        defer { meter?.end() }
        if let index = view.index {
            var cursor = try index.cursor()
            while let record = try cursor.nextRecord() {
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

    /// What the index expects to be read; a look at a million rows takes a third of a second.
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
        let pin = resource?.pin
        var algorithms: [DigestAlgorithm] = [.sha256]
        if let pin, pin.algorithm != .sha256 { algorithms.append(pin.algorithm) }
        let expected = pin ?? record?.sha256
        guard let root = view.root else { return add(target, .missing, expected, nil) }
        let read: FileDigests?
        do throws(MirrorError) {
            read = try FileDigests.read(
                target, in: root, algorithms: algorithms, isCancelled: isCancelled,
                hasRead: ActivityMeter.reading(meter))
        } catch {
            guard error.code != .cancelled else { throw error }
            return add(target, .unreadable, expected, nil)
        }
        guard let read else { return try addAbsent(target, in: root, expected: expected) }
        result.files += 1
        result.bytes += read.stamp.size
        if let pin, !read.digests.contains(pin) {
            let isOurs = read.digests.first == record?.sha256
            add(target, isOurs ? .outdated : .changed, pin, read.digests.last)
        } else if let record, pin == nil, read.digests.first != record.sha256 {
            add(target, .changed, record.sha256, read.digests.first)
        } else if record == nil, pin == nil {
            add(target, .untracked, nil, read.digests.first)
        }
    }

    private mutating func addAbsent(
        _ target: Target, in root: RootDirectory, expected: Digest?
    ) throws {
        var scan = StatCursor(root)
        if case .other = try scan.look(at: target) {
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
