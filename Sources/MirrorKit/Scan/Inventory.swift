internal import MirrorModel
internal import MirrorStore

/// Lists the files that the index knows or the manifests want, one after the other.
///
/// Each file is looked at, but its bytes are not read.
struct Inventory: ~Copyable {
    private let view: TreeView
    private let wanted: Wanted
    private let now: Instant
    /// Whether files that no selected resource wants are left out.
    private let isSelection: Bool
    private var scan: StatCursor?
    private var parts: [Target: Int64] = [:]
    private let evicted: Set<Target>
    private var next = 0
    private var conflicts = ConflictScan()

    /// Takes the manifests; with tags, only resources that have one of them count.
    init(view: TreeView, manifests: [Manifest], only tags: Set<String>, now: Instant) throws {
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
        scan = view.root.map { StatCursor($0) }
    }

    /// Passes the files to the body in the order of their targets' bytes, then the conflict copies.
    mutating func files(_ body: (StoredFile) throws -> Void) throws {
        if let index = view.index {
            for part in try index.allParts() {
                parts[part.target] = max(parts[part.target] ?? 0, part.loggedBytes)
            }
            var cursor = try index.cursor()
            while let record = try cursor.nextRecord() {
                try tellWanted(before: record.target, body)
                conflicts.note(record.target)
                var file = StoredFile(record, file: try look(at: record.target))
                if let resource = takeWanted(record.target) {
                    // A digest that the manifest declares by now proves the known bytes.
                    if resource.pin != nil, resource.digests.contains(where: record.isProven) {
                        file.verified = .digest
                    }
                    file.freshness =
                        resource.pin != nil
                        ? .fresh(until: nil)
                        : Freshness.judge(resource.refresh, record: record, now: now)
                } else if isSelection {
                    continue
                } else {
                    file.isOrphan = !wanted.manifests.isEmpty
                }
                try body(withPart(file))
            }
        }
        try tellWanted(before: nil, body)
        if isSelection { return }
        for copy in try conflicts.copies(in: view, wanted) { try body(StoredFile(copy)) }
    }

    /// Passes wanted files that the index does not know to the body.
    private mutating func tellWanted(
        before target: Target?, _ body: (StoredFile) throws -> Void
    ) throws {
        while next < wanted.entries.count {
            let candidate = wanted.target(of: wanted.entries[next])
            if let target, candidate >= target { return }
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
    }

    private mutating func takeWanted(_ target: Target) -> Resource? {
        guard next < wanted.entries.count, wanted.target(of: wanted.entries[next]) == target
        else { return nil }
        next += 1
        return wanted.resource(of: wanted.entries[next - 1])
    }

    private mutating func look(at target: Target) throws -> LocalFile {
        try scan?.look(at: target) ?? .absent
    }

    private func withPart(_ file: StoredFile) -> StoredFile {
        guard let bytes = parts[file.target] else { return file }
        var file = file
        file.partBytes = bytes
        return file
    }
}
