package import MirrorModel

/// The questions of a session to the index: one call each, errors as callers of the library see
/// them.
extension Index {
    /// The parts of a target.
    package func parts(for target: Target) throws(MirrorError) -> [PartRecord] {
        try reading { (database: inout Database) throws(IndexError) in
            try PartRows.parts(for: target, in: &database)
        }
    }

    /// The record of a target.
    package func record(for target: Target) throws(MirrorError) -> IndexRecord? {
        try reading { (database: inout Database) throws(IndexError) in
            try FileRows.record(for: target, in: &database)
        }
    }

    /// The records of targets, in the order of the list. One transaction reads them all, because its
    /// locks cost more than the rows.
    package func records(for targets: [Target]) throws(MirrorError) -> [IndexRecord?] {
        if targets.isEmpty { return [] }
        return try reading { (database: inout Database) throws(IndexError) in
            try database.run("BEGIN")
            let records: [IndexRecord?]
            do throws(IndexError) {
                records = try RecordSearch.records(for: targets, in: &database)
                try database.run("COMMIT")
            } catch {
                try? database.run("ROLLBACK")
                throw error
            }
            return records
        }
    }

    /// The first targets that begin with a text, in the order of their paths' bytes.
    ///
    /// They are those of files that the index knows, and of files that were left out for room.
    package func targets(
        beginningWith text: String, limit: Int
    ) throws(MirrorError) -> [Target] {
        let (known, evicted) = try reading { (database: inout Database) throws(IndexError) in
            (
                try FileRows.targets(from: text, limit: limit, in: &database),
                try EvictedRows.files(in: &database)
            )
        }
        let left = evicted.lazy.map(\.target)
        return Array(
            Set(known).union(left).filter { $0.path.utf8.starts(with: text.utf8) }.sorted()
                .prefix(limit))
    }

    /// The number of transfers at once that suited each host in earlier runs.
    package func learnedLimits() throws(MirrorError) -> [Host: Int] {
        try reading { (database: inout Database) throws(IndexError) in
            try HostRows.learnedLimits(in: &database)
        }
    }

    /// The files that were left out of Caches or tmp for room, in the order of their paths' bytes.
    package func evictedFiles() throws(MirrorError) -> [EvictedFile] {
        try reading { (database: inout Database) throws(IndexError) in
            try EvictedRows.files(in: &database)
        }
    }

    /// The versions that promotions are about to put in place, or have put there without a row as yet,
    /// and the folders of sets that they exchange.
    package func unfinishedPromotions() throws(MirrorError) -> (
        records: [IndexRecord], folders: [String]
    ) {
        try reading { (database: inout Database) throws(IndexError) in
            (
                try IntentRows.intents(in: &database).map(\.record),
                try JournalRows.journals(in: &database).compactMap(\.folder)
            )
        }
    }

    /// The account of the budget; nil if no run had one yet.
    package func budgetAccount() throws(MirrorError) -> BudgetAccount? {
        try reading { (database: inout Database) throws(IndexError) in
            try BudgetRow.account(in: &database)
        }
    }

    /// A walk over all records in the order of their paths' bytes.
    package func cursor() throws(MirrorError) -> RecordCursor {
        do throws(IndexError) { return try records() } catch { throw error.mirrorError }
    }

    /// A walk over the rows from a path on that decodes a column only when it is asked for.
    ///
    /// - Parameter readsRecords: whether the whole records of most rows will be read. Otherwise each
    ///   is looked for when it is needed.
    package func projectionCursor(
        from start: String, readsRecords: Bool = false
    ) throws(MirrorError) -> ProjectionCursor {
        do throws(IndexError) {
            return try projections(
                readsRecords ? FileRows.everyRowWithRecord : FileRows.everyProjection, from: start)
        } catch { throw error.mirrorError }
    }

    /// A walk over the rows of an area, which knows when each file was last used.
    package func cursorOfUses(in area: Area) throws(MirrorError) -> ProjectionCursor {
        do throws(IndexError) {
            return try projections(FileRows.everyRowWithUse, from: area.rawValue + "/")
        } catch { throw error.mirrorError }
    }

    /// A walk over all rows, which knows how each file was verified.
    package func cursorOfVerifications() throws(MirrorError) -> ProjectionCursor {
        do throws(IndexError) {
            return try projections(FileRows.everyRowWithVerification, from: "")
        } catch { throw error.mirrorError }
    }

    /// All parts.
    package func allParts() throws(MirrorError) -> [PartRecord] {
        try reading { (database: inout Database) throws(IndexError) in
            try PartRows.parts(in: &database)
        }
    }

    /// The target whose name a server chose and the first success fixed; nil before.
    package func serverName(of key: ServerNameKey) throws(MirrorError) -> Target? {
        try reading { (database: inout Database) throws(IndexError) in
            try ServerNameRows.target(of: key, in: &database)
        }
    }

    /// The manifests that this root remembers.
    package func manifests() throws(MirrorError) -> [ManifestRecord] {
        try reading { (database: inout Database) throws(IndexError) in
            try ManifestRows.manifests(in: &database)
        }
    }

    /// The runs that are remembered, the earliest first.
    package func runs() throws(MirrorError) -> [RunRecord] {
        try reading { (database: inout Database) throws(IndexError) in
            try RunRows.runs(in: &database)
        }
    }

    /// A number that changes whenever another process has written to the index.
    package func changeCount() throws(MirrorError) -> Int64 {
        try reading { (database: inout Database) throws(IndexError) in try database.changeCount() }
    }

    private func reading<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(MirrorError) -> Value {
        try indexed { () throws(IndexError) in try read(body) }
    }
}

extension RecordCursor {
    /// The next record; nil after the last.
    package mutating func nextRecord() throws(MirrorError) -> IndexRecord? {
        do throws(IndexError) { return try next() } catch { throw error.mirrorError }
    }
}
