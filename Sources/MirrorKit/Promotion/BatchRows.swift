/// Writes the index for works that are promoted together: intents before, and rows afterwards.
///
/// A name that a server chose is proposed together with its intent, and settled together with it.
enum BatchRows {
    /// Writes the intents of staged files, and stores each intent's number in its file.
    static func intend(
        _ staged: [StagedFile], in database: inout Database
    ) throws(IndexError) {
        for item in staged {
            item.number = try database.put(item.intent)
            try database.proposeServerName(item.promotion)
        }
    }

    /// Removes the intents of staged files, except those of unsettled works.
    /// `unsettled` has the positions of these works.
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

    /// Writes or removes the row of each work that succeeded.
    /// Returns the targets of confirmations whose rows no longer exist, by the works' positions.
    static func write(
        _ group: PromotionBatch, to database: inout Database
    ) throws(IndexError) -> [Int: Target] {
        var vanished: [Int: Target] = [:]
        for at in group.works.indices {
            if let item = group.staged[at] {
                if !group.unsettled.contains(at) {
                    try complete(item, &database)
                } else if case .part(let name, _) = item.promotion.content {
                    // After an exchange, the part's name may hold the target's old file, which no
                    // transfer may continue.
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

    /// Writes the row of a promotion that succeeded, and removes the row of its part or source.
    private static func complete(
        _ item: StagedFile, _ database: inout Database
    ) throws(IndexError) {
        guard let stamp = item.placed?.stamp else { return }
        try database.put(item.promotion.record, stamp: stamp)
        // A file that was staged without a name has no part and no hidden name.
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
    /// Writes the row of a confirmation.
    /// Returns false if the target has no row any more. An adoption makes the row in that case.
    ///
    /// - Parameter restamped: the file's stamp after its mode was set. `nil` means that the mode
    ///   was not set.
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

/// The changes of the index for a promoted set, besides the rows of its new files.
struct SetRows: Sendable {
    /// The journal's number.
    let journal: Int64
    /// The orphans that were removed together with the old files of the set.
    var removed: [Target] = []
    /// The files that stayed, by their paths, with their stamps in the new folder.
    var restamped: [(path: String, stamp: FileStamp)] = []

    /// Writes the changes. The journal of an unsettled set stays for the next run.
    func write(to batch: inout Database, isSettled: Bool) throws(IndexError) {
        for target in removed { try batch.removeRecord(of: target) }
        for file in restamped { try batch.setStamp(file.stamp, ofFileAt: file.path) }
        if isSettled { try batch.removeJournal(journal) }
    }
}
