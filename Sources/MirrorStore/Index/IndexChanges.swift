package import MirrorModel
internal import MirrorSystem

/// The changes that a session makes to the index: one transaction a call, errors as callers of the
/// library see them.
///
/// Where rows of files change, a run is told that those that its plan has may be others (`RowsState`).
package struct IndexChanges {
    let index: Index

    /// Notes that a target was used.
    package func noteUse(of target: Target, at instant: Instant) throws(MirrorError) {
        try writing { (batch: inout Database) throws(IndexError) in
            try FileRows.noteUse(of: target, at: instant, in: &batch)
        }
    }

    /// Remembers the number of transfers at once that suits each host.
    package func remember(learnedLimits limits: [Host: Int]) throws(MirrorError) {
        if limits.isEmpty { return }
        try writing { (batch: inout Database) throws(IndexError) in
            try HostRows.put(learnedLimits: limits, at: SystemClock.now(), in: &batch)
        }
    }

    /// Remembers files that are left out now, and forgets those that come back.
    package func note(
        evicted: [EvictedFile], readmitted: [Target]
    ) throws(MirrorError) {
        if evicted.isEmpty, readmitted.isEmpty { return }
        try writing { (batch: inout Database) throws(IndexError) in
            for file in evicted { try EvictedRows.put(file, in: &batch) }
            for target in readmitted { try EvictedRows.remove(target, in: &batch) }
        }
    }

    /// Adds bytes to what has been spent of the budget since a period began, by whatever run; returns all of it.
    package func charge(_ bytes: Int64, since start: Instant) throws(MirrorError) -> BudgetAccount {
        try writing { (batch: inout Database) throws(IndexError) in
            try BudgetRow.charge(bytes, since: start, in: &batch)
        }
    }

    /// Writes one row.
    package func put(_ record: IndexRecord) throws(MirrorError) { try put([record]) }

    /// Writes rows in one transaction.
    package func put(_ records: [IndexRecord]) throws(MirrorError) {
        guard !records.isEmpty else { return }
        try changingRows { (batch: inout Database) throws(IndexError) in
            for record in records { try FileRows.put(record, in: &batch) }
        }
    }

    /// Removes rows in one transaction.
    package func removeRecords(_ targets: [Target]) throws(MirrorError) {
        guard !targets.isEmpty else { return }
        try changingRows { (batch: inout Database) throws(IndexError) in
            for target in targets { try FileRows.remove(target, in: &batch) }
        }
    }

    /// Remembers a manifest.
    package func put(_ manifest: ManifestRecord) throws(MirrorError) {
        try writing { (batch: inout Database) throws(IndexError) in
            try ManifestRows.put(manifest, in: &batch)
        }
    }

    /// Forgets a manifest; what only it owned loses its row.
    package func forgetManifest(named name: String) throws(MirrorError) {
        try changingRows { (batch: inout Database) throws(IndexError) in
            try ManifestRows.release(allOf: name, in: &batch)
            try ManifestRows.remove(named: name, in: &batch)
        }
    }

    /// Gives all that manifests own to their new names.
    package func renameManifests(_ names: [(old: String, new: String)]) throws(MirrorError) {
        guard !names.isEmpty else { return }
        let names = names.map { [$0.old, $0.new] }
        try changingRows { (batch: inout Database) throws(IndexError) in
            for pair in names { try ManifestRows.rename(pair[0], to: pair[1], in: &batch) }
        }
    }

    /// Writes who owns targets that others have let go.
    package func setOwners(_ owners: [Target: Owners]) throws(MirrorError) {
        guard !owners.isEmpty else { return }
        try changingRows { (batch: inout Database) throws(IndexError) in
            for (target, owners) in owners {
                try FileRows.setOwners(owners, of: target, in: &batch)
            }
        }
    }

    /// Writes a run's row.
    package func put(_ run: RunRecord) throws(MirrorError) {
        try writing { (batch: inout Database) throws(IndexError) in try RunRows.put(run, in: &batch)
        }
    }

    private func changingRows(
        _ body: (inout Database) throws(IndexError) -> Void
    ) throws(MirrorError) {
        index.rows.change()
        defer { index.rows.change() }
        try writing(body)
    }

    private func writing<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(MirrorError) -> Value {
        try indexed { () throws(IndexError) in try index.write(body) }
    }
}
