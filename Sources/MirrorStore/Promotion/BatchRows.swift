internal import MirrorModel

/// The rows of a batch on their way into the index, several at a time and in the order of the works.
struct BatchRows {
    private var packed: PackedWriter
    private var waiting: [PackedRow] = []

    /// Begins with the intents, which have the rows already.
    init(_ intents: PackedWriter) { packed = intents }

    /// Writes the row of a promotion that went through, and forgets what led to it.
    mutating func complete(_ item: StagedFile, _ database: inout Database) throws(IndexError) {
        guard let stamp = item.placed?.stamp else { return }
        waiting.append(PackedRow(start: start(of: item), stamp: stamp))
        // Only what had a name beside the target was noted, and nothing without one has a part.
        if item.isUnnamed { return }
        if !PathText.isFolder(Area.tmp.rawValue, of: item.path) {
            try HiddenFileRows.forget(item.path, in: &database)
        }
        switch item.landing.content {
        case .part(let name, _): try PartRows.remove(named: name, in: &database)
        case .move(let source) where item.kind == .move:
            try write(to: &database)
            try FileRows.remove(source, in: &database)
        case .memory, .copy, .copyOfPart, .move: break
        }
    }

    /// Writes the rows that wait. Whatever else changes rows comes after them.
    mutating func write(to database: inout Database) throws(IndexError) {
        if waiting.isEmpty { return }
        try FileRows.put(waiting, of: packed, in: &database)
        waiting.removeAll(keepingCapacity: true)
    }

    private mutating func start(of item: StagedFile) -> Int {
        if let row = item.row { return row }
        defer { packed.add(item.landing.record, stamp: item.stamp) }
        return packed.count
    }
}
