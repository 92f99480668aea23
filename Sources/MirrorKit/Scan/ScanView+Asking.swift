internal import MirrorModel
internal import MirrorStore

/// Files that nothing pins, while everything else about them is as their rows say: their sources are
/// asked when they are due. The reconciler would decide the same about a whole situation.
extension ScanView {
    /// Whether such a file is due; nil for others.
    func freshness(
        of entry: Wanted.Reference, _ row: RowProjection, _ origin: RowOrigin?
    ) -> Freshness? {
        guard let origin, let source = origin.source,
            let refresh = wanted.plainRefresh(of: entry, row, from: source)
        else { return nil }
        if reconciler.everythingIsDue { return .due(.asked) }
        return Freshness.judge(
            refresh, confirmedAt: origin.confirmedAt, freshUntil: origin.freshUntil, now: now)
    }

    /// The step for such a file that is due.
    func asking(
        about record: IndexRecord, _ entry: Wanted.Reference, because cause: DueCause
    ) -> Step {
        Step(
            target: record.target, manifest: Int(entry.manifest), resource: Int(entry.resource),
            decision: reconciler.asking(about: record, because: cause, now: now),
            size: wanted.size(of: entry))
    }

    /// The step for such a file that is fresh; nil where its row has no digest.
    func keeping(
        _ row: RowProjection, _ entry: Wanted.Reference, until end: Instant?
    ) -> Step? {
        guard let sha256 = Digest(.sha256, bytes: Array(row.sha256)) else { return nil }
        return Step(
            target: wanted.target(of: entry), manifest: Int(entry.manifest),
            resource: Int(entry.resource),
            decision: Reconciler.keeping(sha256, freshUntil: end),
            size: wanted.size(of: entry) ?? row.stamp.size)
    }
}
