internal import MirrorModel

/// Lists what the index knows and the manifests want, each file looked at and not read.
struct Inventory: ~Copyable {
    private let view: TreeView
    private let wanted: Wanted
    private let now: Instant
    private var scan: TreeScan?
    private var parts: [Target: Int64] = [:]
    private var next = 0
    private var list: [StoredFile] = []

    init(view: TreeView, manifests: [Manifest], now: Instant) throws {
        self.view = view
        self.now = now
        wanted = try Wanted(manifests, options: PlanOptions(), index: view.index)
        scan = view.root.map { TreeScan($0) }
    }

    /// The files, in the order of their targets' bytes.
    mutating func files() throws -> [StoredFile] {
        if let index = view.index {
            for part in try index.allParts() {
                parts[part.target] = max(parts[part.target] ?? 0, part.loggedBytes)
            }
            var cursor = try index.cursor()
            while let record = try cursor.nextRecord() {
                try addWanted(before: record.target)
                var file = StoredFile(record, file: try look(at: record.target))
                if let resource = takeWanted(record.target) {
                    file.freshness =
                        resource.pin != nil
                        ? .fresh(until: nil)
                        : Freshness.judge(resource.refresh, record: record, now: now)
                }
                add(file)
            }
        }
        try addWanted(before: nil)
        return list
    }

    /// Adds wanted files that the index does not know.
    private mutating func addWanted(before target: Target?) throws {
        while next < wanted.entries.count {
            let candidate = wanted.target(of: wanted.entries[next])
            if let target, candidate >= target { return }
            next += 1
            let state: StoredFile.State
            switch try look(at: candidate) {
            case .absent: state = .missing
            case .other: state = .obstructed
            case .file: state = .stranger
            }
            add(StoredFile(target: candidate, state: state))
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

    private mutating func add(_ file: StoredFile) {
        var file = file
        file.partBytes = parts[file.target] ?? 0
        list.append(file)
    }
}
