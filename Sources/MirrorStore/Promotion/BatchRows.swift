internal import MirrorModel

/// The rows of works that were promoted together, on their way into the index: several at a time, and in
/// the order of the works.
struct BatchRows {
    private var packed: PackedWriter
    private var waiting: [PackedRow] = []

    /// Begins with the intents, which have the rows already.
    init(_ intents: PackedWriter) { packed = intents }

    /// Writes what becomes of the row of each work that went through; returns the targets of rows that
    /// are gone, so that nothing could be confirmed.
    mutating func write(
        _ group: PromotionGroup, to database: inout Database
    ) throws(IndexError) -> [Int: Target] {
        var vanished: [Int: Target] = [:]
        for at in group.works.indices {
            if let item = group.staged[at] {
                if !group.unsettled.contains(at) {
                    try complete(item, &database)
                } else if case .part(let name, _) = item.landing.content {
                    // Under this name may be what an exchange brought out: nobody continues it.
                    try PartRows.remove(named: name, in: &database)
                }
                continue
            }
            if group.failures[at] != nil { continue }
            switch group.works[at].task {
            case .land, .landSet: break
            case .confirm(let confirmed):
                try flush(to: &database)
                let restamped = group.checked.stamp(of: at)
                if try !confirmed.write(to: &database, restamped: restamped) {
                    vanished[at] = confirmed.target
                } else if let key = confirmed.serverName {
                    try ServerNameRows.fix(confirmed.target, for: key, in: &database)
                }
            case .remove(let removal):
                try flush(to: &database)
                try FileRows.remove(removal.target, in: &database)
            }
        }
        try flush(to: &database)
        return vanished
    }

    /// Writes the row of a promotion that went through, and forgets what led to it.
    private mutating func complete(
        _ item: StagedFile, _ database: inout Database
    ) throws(IndexError) {
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
            try flush(to: &database)
            try FileRows.remove(source, in: &database)
        case .memory, .copy, .copyOfPart, .move: break
        }
    }

    /// Writes the rows that wait. Whatever else changes rows comes after them.
    private mutating func flush(to database: inout Database) throws(IndexError) {
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

extension Confirmed {
    /// Writes the row; returns false where the target has none any more, and the file is not adopted.
    ///
    /// - Parameter restamped: the file's stamp since its mode was set.
    fileprivate func write(
        to database: inout Database, restamped: FileStamp?
    ) throws(IndexError) -> Bool {
        switch row {
        case .replaced(let record):
            let stamp = restamped ?? record.stamp
            if !isAdoption { return try FileRows.replace(record, stamp: stamp, in: &database) }
            try FileRows.put(record, stamp: stamp, in: &database)
            return true
        case .confirmedAgain(let record, let now, let freshUntil):
            return try FileRows.confirm(
                record.target, at: now, freshUntil: freshUntil, in: &database)
        }
    }
}
