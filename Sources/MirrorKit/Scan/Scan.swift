internal import MirrorManifests
internal import MirrorModel
internal import MirrorSystem

/// Makes a plan: merges wanted resources, index rows and files in one pass over sorted streams.
///
/// The scan only gathers facts; the reconciler makes each decision. A file is read before its
/// decision if its stamp is not its row's, or if the index does not know it. A step that needs
/// bytes is decided a second time if the tree may have them under another name. A second thread
/// looks at half of a long list. The calling thread is blocked, and no server is asked.
struct Scan: ~Copyable {
    /// The number of targets from which a second thread is worth its cost.
    static let manyTargets = 2048

    private var view: ScanView
    private let hasSplit: Bool

    /// Takes the inputs of a plan; a root or an index that does not exist counts as empty.
    init(
        manifests: [Manifest], options: PlanOptions, root: RootDirectory?, index: Index?,
        now: Instant, splitting many: Int = Scan.manyTargets, meter: ActivityMeter? = nil,
        isCancelled: @escaping @Sendable () -> Bool
    ) throws {
        var reconciler = Reconciler()
        reconciler.everythingIsDue = options.everythingIsDue
        reconciler.refetched = options.refetched
        reconciler.prunes = options.prunes
        var manifests = manifests
        if options.isAtomic { for at in manifests.indices { manifests[at].isAtomic = true } }
        let wanted = try Wanted(manifests, options: options, index: index)
        if let refusal = ManifestError(wanted.disputes) { throw refusal }
        if options.refusesUnknownNames { try wanted.refuseUnknownNames(options) }
        let book = try OwnerBook(manifests, view: TreeView(root: root, index: index))
        view = ScanView(
            wanted: wanted, options: options, reconciler: reconciler, root: root, index: index,
            now: now, isCancelled: isCancelled, meter: meter, book: book,
            orphanOwners: options.isSelection
                ? [:] : OwnerBook.orphanOwners(manifests, book.formerNames))
        hasSplit = view.wanted.entries.count >= max(many, 2)
    }

    /// Scans and decides; `path` is the name of the root in the plan.
    ///
    /// Throws `MirrorError`, or `ManifestError` if another manifest wants a target differently.
    consuming func plan(for path: String) throws -> Plan {
        // Whatever changes a row from here on changes the mark.
        let rowsMark = view.index?.rows.mark
        let looked = ContinuousClock.now
        if let index = view.index {
            for part in try index.allParts() {
                view.parts[part.target, default: []].append(part)
            }
        }
        let count = view.wanted.entries.count
        view.meter?.begin(.looking, total: count)
        var findings =
            hasSplit
            ? try Scan.findings(of: view, splitAt: count / 2)
            : try ScanShard(0..<count, of: view).look()
        if let refusal = ManifestError(findings.disputes) { throw refusal }
        try findings.leaveRespelledOrphans(of: view)
        try view.useTree(for: &findings)
        // Only now: no bytes may be taken from what could not be read.
        let unread = findings.unreadOrphans
        findings.orphans.append(contentsOf: unread)
        let removals = removals(beside: findings, areSorted: unread.isEmpty)
        var plan = Plan(
            root: path, manifests: view.wanted.manifests,
            steps: merge(findings.steps, removals, of: findings.orphans), now: view.now,
            orphansLeft: view.options.prunes ? 0 : findings.orphans.count - removals.count)
        plan.rowsMark = rowsMark
        plan.looked = looked
        plan.rootFolder = view.root?.folder
        plan.skipped = view.wanted.skipped
        plan.owned = findings.owned
        plan.forgotten = findings.forgotten
        plan.orphanBytes = findings.orphanBytes
        plan.owners = findings.owners
        plan.released = findings.released
        for (target, parts) in view.parts {
            guard let position = plan.steps.position(of: target) else { continue }
            let used = plan.steps[position].part?.name
            let others = parts.map(\.name).filter { $0 != used }
            if !others.isEmpty { plan.supersededParts[target] = others }
        }
        try AdmissionScan(view, besides: findings.respelled).look(&plan)
        return plan
    }

    /// Looks at both halves at the same time, each with its own cursor and folder.
    private static func findings(
        of view: ScanView, splitAt middle: Int
    ) throws -> ScanFindings {
        let isAbandoned = CancellationFlag()
        var other = view
        other.isCancelled = { isAbandoned.isSet || view.isCancelled() }
        let count = view.wanted.entries.count
        let (first, second) = NativeThread.both(
            {
                let first = Result { try ScanShard(0..<middle, of: view).look() }
                if case .failure = first { isAbandoned.set() }
                return first
            },
            and: { [other] in Result { try ScanShard(middle..<count, of: other).look() } },
            thread: "scan")
        var findings = try first.get()
        let next = try second.get()
        // Each cursor sees that its rows are in order, and neither sees what is between them. Rows may
        // also have changed between their beginnings.
        guard findings.rowBehind == next.firstRow else {
            return try ScanShard(0..<count, of: view).look()
        }
        findings.append(next)
        return findings
    }

    /// The orphans that are removed and not moved, in order: all of them, those of tmp, or none.
    private func removals(beside findings: ScanFindings, areSorted: Bool) -> [Int] {
        let orphans = findings.orphans
        let removals = unsortedRemovals(beside: findings)
        return areSorted
            ? removals : removals.sorted { orphans.target(at: $0) < orphans.target(at: $1) }
    }

    private func unsortedRemovals(beside findings: ScanFindings) -> [Int] {
        guard view.options.prunes else {
            guard view.options.longestIdleInTmp != nil else { return [] }
            return findings.orphans.indices.filter {
                findings.orphans.target(at: $0).area == .tmp
            }
        }
        var moved: Set<Target> = []
        for position in findings.steps.notable {
            if case .move(let orphan) = findings.steps[position].means { moved.insert(orphan) }
        }
        let orphans = findings.orphans
        return orphans.indices.filter { moved.isEmpty || !moved.contains(orphans.target(at: $0)) }
    }

    private func merge(
        _ steps: StepList, _ removals: [Int], of orphans: OrphanTable
    ) -> StepList {
        if removals.isEmpty { return steps }
        var merged = StepList(of: view.wanted.manifests)
        merged.take(orphans)
        var rest = removals[...]
        for position in steps.indices {
            let target = steps.target(at: position)
            while let removal = rest.first, orphans.target(at: removal) < target {
                merged.appendRemoval(ofOrphan: removal)
                rest.removeFirst()
            }
            merged.append(stepAt: position, of: steps)
        }
        for removal in rest { merged.appendRemoval(ofOrphan: removal) }
        return merged
    }
}
