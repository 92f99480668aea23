internal import MirrorModel
internal import MirrorStore

/// Lists the files that the index knows or the manifests want, one after the other.
///
/// Each file is looked at, but its bytes are not read. Rows, wanted resources and files are merged in
/// one pass over sorted streams, as in a scan.
struct Inventory: ~Copyable {
    private let view: TreeView
    private let wanted: Wanted
    private let now: Instant
    /// Whether files that no selected resource wants are left out.
    private let isSelection: Bool
    /// Whether files about which there is nothing to say are only counted.
    private let countsKept: Bool
    private(set) var kept = KeptFiles()
    private var scan: StatCursor?
    private var parts: [Target: Int64] = [:]
    private let evicted: Set<Target>
    private var next = 0
    private var conflicts = ConflictScan()

    /// Takes the manifests; with tags, only resources that have one of them count.
    init(
        view: TreeView, manifests: [Manifest], only tags: Set<String>, countingKept: Bool = false,
        now: Instant
    ) throws {
        var options = PlanOptions()
        options.only = tags
        let wanted = try Wanted(manifests, options: options, index: view.index)
        try wanted.refuseUnknownNames(options)
        let evicted = Set(try view.index?.evictedFiles().map(\.target) ?? [])
        self.evicted = evicted
        self.view = view
        self.now = now
        self.wanted = wanted
        isSelection = !tags.isEmpty
        countsKept = countingKept
        scan = view.root.map { StatCursor($0) }
    }

    /// Passes the files to the body in the order of their targets' bytes, then the conflict copies.
    mutating func files(_ body: (StoredFile) throws -> Void) throws {
        if let index = view.index {
            for part in try index.allParts() {
                parts[part.target] = max(parts[part.target] ?? 0, part.loggedBytes)
            }
            var cursor = try index.projectionCursor(from: "", readsRecords: true)
            while try cursor.next() { try tell(&cursor, body) }
        }
        while next < wanted.entries.count { try tellUnknown(body) }
        if isSelection { return }
        for copy in try conflicts.copies(in: view, wanted) { try body(StoredFile(copy)) }
    }

    /// Passes the file of the cursor's row to the body, and wanted files before it.
    private mutating func tell(
        _ cursor: inout ProjectionCursor, _ body: (StoredFile) throws -> Void
    ) throws {
        guard let row = cursor.row else {
            // Reading the whole record throws an error that names the damage.
            let record = try cursor.wholeRecord()
            throw MirrorError(.inputOutput, "\(record.target): its row cannot be read.")
        }
        var isWanted = false
        while next < wanted.entries.count, !isWanted {
            let order = wanted.compare(wanted.entries[next], with: row.path)
            if order > 0 { break }
            isWanted = order == 0
            if !isWanted { try tellUnknown(body) }
        }
        conflicts.note(row.path)
        let isPinned = isWanted && wanted.isPlainlySatisfied(wanted.entries[next], by: row)
        let isUntouched = scan?.isUnchanged(row.path, since: row.stamp) == true
        if countsKept, isPinned, isUntouched, !hasPart(wanted.entries[next]) {
            next += 1
            return kept.add(row.stamp.size)
        }
        let record = try cursor.wholeRecord()
        var file = StoredFile(
            record,
            file: isUntouched ? .file(row.stamp, sha256: nil) : try look(at: record.target))
        if isPinned {
            next += 1
            (file.verified, file.freshness) = (.digest, .fresh(until: nil))
        } else if isWanted {
            let resource = wanted.resource(of: wanted.entries[next])
            next += 1
            // A digest that the manifest declares by now proves the known bytes.
            if resource.pin != nil, resource.digests.contains(where: record.isProven) {
                file.verified = .digest
            }
            file.freshness =
                resource.pin != nil
                ? .fresh(until: nil)
                : Freshness.judge(resource.refresh, record: record, now: now)
        } else if isSelection {
            return
        } else {
            file.isOrphan = !wanted.manifests.isEmpty
        }
        try body(withPart(file))
    }

    private func hasPart(_ entry: Wanted.Reference) -> Bool {
        !parts.isEmpty && parts[wanted.target(of: entry)] != nil
    }

    /// Passes the next wanted file, which the index does not know, to the body.
    private mutating func tellUnknown(_ body: (StoredFile) throws -> Void) throws {
        let candidate = wanted.target(of: wanted.entries[next])
        next += 1
        conflicts.note(candidate)
        let state: StoredFile.State
        switch try look(at: candidate) {
        case .absent: state = evicted.contains(candidate) ? .evicted : .missing
        case .other: state = .obstructed
        case .file: state = .untracked
        }
        try body(withPart(StoredFile(target: candidate, state: state)))
    }

    private mutating func look(at target: Target) throws -> LocalFile {
        try scan?.look(at: target) ?? .absent
    }

    private func withPart(_ file: StoredFile) -> StoredFile {
        guard !parts.isEmpty, let bytes = parts[file.target] else { return file }
        var file = file
        file.partBytes = bytes
        return file
    }
}
