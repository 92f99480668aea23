package import MirrorModel
internal import MirrorSystem

/// The changes that a session makes to the index: one transaction a call, errors as callers of the
/// library see them.
extension Index {
    /// Notes that a target was used.
    package func noteUse(of target: Target, at instant: Instant) throws(MirrorError) {
        try writing { (batch: inout Database) throws(IndexError) in
            try batch.noteUse(of: target, at: instant)
        }
    }

    /// Remembers the number of transfers at once that suits each host.
    package func remember(learnedLimits limits: [Host: Int]) throws(MirrorError) {
        if limits.isEmpty { return }
        try writing { (batch: inout Database) throws(IndexError) in
            try batch.put(learnedLimits: limits, at: SystemClock.now())
        }
    }

    /// Remembers files that are left out now, and forgets those that come back.
    package func note(
        evicted: [EvictedFile], readmitted: [Target]
    ) throws(MirrorError) {
        if evicted.isEmpty, readmitted.isEmpty { return }
        try writing { (batch: inout Database) throws(IndexError) in
            for file in evicted { try batch.put(file) }
            for target in readmitted { try batch.removeEvicted(target) }
        }
    }

    /// Remembers what has been spent of the budget.
    package func put(_ account: BudgetAccount) throws(MirrorError) {
        try writing { (batch: inout Database) throws(IndexError) in try batch.put(account) }
    }

    /// Writes one row.
    package func put(_ record: IndexRecord) throws(MirrorError) { try put([record]) }

    /// Writes rows in one transaction.
    package func put(_ records: [IndexRecord]) throws(MirrorError) {
        guard !records.isEmpty else { return }
        try changingRows { (batch: inout Database) throws(IndexError) in
            for record in records { try batch.put(record) }
        }
    }

    /// Removes rows in one transaction.
    package func removeRecords(_ targets: [Target]) throws(MirrorError) {
        guard !targets.isEmpty else { return }
        try changingRows { (batch: inout Database) throws(IndexError) in
            for target in targets { try batch.removeRecord(for: target) }
        }
    }

    /// Fixes the target that a server's suggestion stands for.
    package func rememberServerName(
        owner: String, folder: String, source: SourceKey, target: Target
    ) throws(MirrorError) {
        try writing { (batch: inout Database) throws(IndexError) in
            try batch.putServerName(target, owner: owner, folder: folder, source: source)
        }
    }

    /// Remembers a manifest.
    package func put(_ manifest: ManifestRecord) throws(MirrorError) {
        try writing { (batch: inout Database) throws(IndexError) in try batch.put(manifest) }
    }

    /// Forgets a manifest; what only it owned loses its row.
    package func forgetManifest(named name: String) throws(MirrorError) {
        try changingRows { (batch: inout Database) throws(IndexError) in
            try batch.release(allOf: name)
            try batch.removeManifest(named: name)
        }
    }

    /// Gives all that manifests own to their new names.
    package func renameManifests(_ names: [(old: String, new: String)]) throws(MirrorError) {
        guard !names.isEmpty else { return }
        let names = names.map { [$0.old, $0.new] }
        try changingRows { (batch: inout Database) throws(IndexError) in
            for pair in names { try batch.rename(pair[0], to: pair[1]) }
        }
    }

    /// Writes who owns targets that others have let go.
    package func setOwners(_ owners: [Target: Owners]) throws(MirrorError) {
        guard !owners.isEmpty else { return }
        try changingRows { (batch: inout Database) throws(IndexError) in
            for (target, owners) in owners { try batch.setOwners(owners, of: target) }
        }
    }

    /// Writes a run's row.
    package func put(_ run: RunRecord) throws(MirrorError) {
        try writing { (batch: inout Database) throws(IndexError) in try batch.put(run) }
    }

    private func changingRows(
        _ body: (inout Database) throws(IndexError) -> Void
    ) throws(MirrorError) {
        rows.change()
        defer { rows.change() }
        try writing(body)
    }

    private func writing<Value: Sendable>(
        _ body: (inout Database) throws(IndexError) -> Value
    ) throws(MirrorError) -> Value {
        try indexed { () throws(IndexError) in try write(body) }
    }
}
