internal import MirrorModel

/// What the index says of works that are promoted together: their intents before anything gets its name,
/// and their rows afterwards.
///
/// A name that a server chose is proposed, and settled, together with its intent.
enum BatchRows {
    /// Writes the intents of staged files, and keeps their numbers with these.
    static func intend(
        _ staged: [StagedFile], in database: inout Database
    ) throws(IndexError) {
        for item in staged {
            item.number = try database.put(item.intent)
            try database.proposeServerName(item.promotion)
        }
    }

    /// Forgets the intents, except those of works that are not settled.
    static func forget(
        _ staged: [StagedFile?], except unsettled: Set<Int>, in database: inout Database
    ) throws(IndexError) {
        for (at, item) in staged.enumerated() {
            guard let item, !unsettled.contains(at) else { continue }
            if item.promotion.serverName != nil {
                try database.settleServerName(
                    item.promotion.target, isThere: item.placed != nil)
            }
            try database.removeIntents([item.number])
        }
    }

    /// Writes what becomes of the row of each work that went through; returns the targets of rows that
    /// are gone, so that nothing could be confirmed.
    static func write(
        _ group: PromotionBatch, to database: inout Database
    ) throws(IndexError) -> [Int: Target] {
        var vanished: [Int: Target] = [:]
        for at in group.works.indices {
            if let item = group.staged[at] {
                if !group.unsettled.contains(at) {
                    try complete(item, &database)
                } else if case .part(let name, _) = item.promotion.content {
                    // This name may hold what an exchange brought out, which no transfer continues.
                    try database.removePart(named: name)
                }
                continue
            }
            if group.failures[at] != nil { continue }
            switch group.works[at].task {
            case .promote, .promoteSet: break
            case .confirm(let confirmed):
                let restamped = group.checked.stamp(of: at)
                if try !confirmed.write(to: &database, restamped: restamped) {
                    vanished[at] = confirmed.target
                } else if let key = confirmed.serverName {
                    try database.fixServerName(confirmed.target, for: key)
                }
            case .remove(let removal): try database.removeRecord(of: removal.target)
            }
        }
        return vanished
    }

    /// Writes the row of a promotion that went through, and forgets what led to it.
    private static func complete(
        _ item: StagedFile, _ database: inout Database
    ) throws(IndexError) {
        guard let stamp = item.placed?.stamp else { return }
        try database.put(item.promotion.record, stamp: stamp)
        // Only what had a name beside the target was noted, and nothing without one has a part.
        if item.isUnnamed { return }
        if !PathText.isFolder(Area.tmp.rawValue, of: item.path) {
            try database.forgetHiddenFile(item.path)
        }
        switch item.promotion.content {
        case .part(let name, _): try database.removePart(named: name)
        case .move(let source) where item.kind == .move:
            try database.removeRecord(of: source)
        case .memory, .copy, .copyOfPart, .move: break
        }
    }
}

extension Confirmed {
    /// Writes the row; returns false where the target has none any more, and the file is not adopted.
    ///
    /// - Parameter restamped: the file's stamp since its mode was set.
    fileprivate func write(
        to database: inout Database, restamped: FileStamp?
    ) throws(IndexError) -> Bool {
        if let again {
            return try database.confirm(
                target, at: again.at, freshUntil: again.freshUntil)
        }
        let stamp = restamped ?? record.stamp
        if !isAdoption { return try database.replace(record, stamp: stamp) }
        try database.put(record, stamp: stamp)
        return true
    }
}

/// The rows of a promoted set besides those of its new files.
struct SetRows: Sendable {
    /// The journal's number.
    let journal: Int64
    /// Orphans that left with the old set.
    var removed: [Target] = []
    /// Files that stayed, by their paths, with the stamps that they have in the new folder.
    var restamped: [(path: String, stamp: FileStamp)] = []

    /// Writes them; a journal that is not settled stays for the next run.
    func write(to batch: inout Database, isSettled: Bool) throws(IndexError) {
        for target in removed { try batch.removeRecord(of: target) }
        for file in restamped { try batch.setStamp(file.stamp, ofFileAt: file.path) }
        if isSettled { try batch.removeJournal(journal) }
    }
}
