/// Makes a plan: merges wanted resources, index rows and files in one pass over sorted streams.
///
/// The scan only collects facts; the reconciler makes each decision. Before a decision, the scan
/// reads a file whose stamp differs from its row's, or a file without a row. If a step needs bytes
/// that the tree may have under another name, its decision is made a second time. A second thread
/// looks at half of a long list. The scan blocks the calling thread, and makes no request.
struct Scan: ~Copyable {
    /// The number of targets from which a second thread saves more time than it costs.
    static let manyTargets = 2048

    private var view: ScanView
    private let hasSplit: Bool
    /// Bytes that must stay free on each file system.
    private let least: Int64

    /// Checks the inputs of a plan. A missing root or index counts as empty.
    init(
        manifests: [Manifest], options: PlanOptions, shard: Shard = .whole,
        root: RootDirectory?, index: Index?,
        now: Instant, least: Int64 = 0, splitting many: Int = Scan.manyTargets,
        meter: ActivityMeter? = nil,
        isCancelled: @escaping @Sendable () -> Bool
    ) throws {
        var reconciler = Reconciler()
        reconciler.everythingIsDue = options.refresh
        reconciler.refetched = options.refetch
        reconciler.prunes = options.prune
        var manifests = manifests
        if options.atomic { for at in manifests.indices { manifests[at].isAtomic = true } }
        var options = options
        options.quota = options.quota.map { shard.share(of: $0) }
        let wanted = try Wanted(manifests, options: options, of: shard, index: index)
        if let refusal = ManifestError(wanted.disputes) { throw refusal }
        if options.refusesUnknownNames { try wanted.refuseUnknownNames(options) }
        let book = try OwnerBook(manifests, view: TreeView(root: root, index: index))
        view = ScanView(
            wanted: wanted, options: options, reconciler: reconciler, root: root, index: index,
            now: now, isCancelled: isCancelled, meter: meter, book: book,
            orphanOwners: options.isSelection
                ? [:] : OwnerBook.orphanOwners(manifests, book.formerNames))
        self.least = least
        hasSplit = view.wanted.entries.count >= max(many, 2)
    }

    /// Makes the plan; `path` is the name of the root in the plan.
    ///
    /// Throws `MirrorError`, or `ManifestError` if another manifest wants a different file at a
    /// target.
    consuming func plan(for path: String) throws -> Plan {
        // A later change of a row changes the mark, and then the run reads its rows again.
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
            : try ScanRange(0..<count, of: view).look()
        if let refusal = ManifestError(findings.disputes) { throw refusal }
        try findings.leaveRespelledOrphans(of: view)
        try view.useTree(for: &findings)
        // The unread orphans are added only now, so that no step uses bytes that could not be read.
        let unread = findings.unreadOrphans
        findings.orphans.append(contentsOf: unread)
        let removals = removals(beside: findings, areSorted: unread.isEmpty)
        var plan = Plan(
            root: path, manifests: view.wanted.manifests,
            steps: merge(findings.steps, removals, of: findings.orphans), now: view.now,
            orphansLeft: view.options.prune ? 0 : findings.orphans.count - removals.count)
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
        if let index = view.index {
            let sizes = try index.learnedSizes()
            plan.learned = Set(sizes.map(\.target))
            plan.learn(sizes)
        }
        try AdmissionScan(view, besides: findings.respelled).look(&plan)
        if let root = view.root {
            plan.withoutRoom = plan.shortages(on: try DiskSpace(of: root, least: least))
        }
        return plan
    }

    /// Looks at both halves at the same time, each with its own cursor and its own open folder.
    private static func findings(
        of view: ScanView, splitAt middle: Int
    ) throws -> ScanFindings {
        let isAbandoned = CancellationFlag()
        var other = view
        other.isCancelled = { isAbandoned.isSet || view.isCancelled() }
        let count = view.wanted.entries.count
        let (first, second) = NativeThread.both(
            {
                let first = Result { try ScanRange(0..<middle, of: view).look() }
                if case .failure = first { isAbandoned.set() }
                return first
            },
            and: { [other] in Result { try ScanRange(middle..<count, of: other).look() } },
            thread: "scan")
        var findings = try first.get()
        let next = try second.get()
        // Each cursor checks the order of its own rows. Neither sees rows between the two halves,
        // and rows may have changed after the first cursor was opened.
        guard findings.rowBehind == next.firstRow else {
            return try ScanRange(0..<count, of: view).look()
        }
        findings.append(next)
        return findings
    }

    /// The orphans to remove, in order; without `prunes` only those of tmp, or none. Moved orphans
    /// stay out.
    private func removals(beside findings: ScanFindings, areSorted: Bool) -> [Int] {
        let orphans = findings.orphans
        let removals = unsortedRemovals(beside: findings)
        return areSorted
            ? removals : removals.sorted { orphans.target(at: $0) < orphans.target(at: $1) }
    }

    private func unsortedRemovals(beside findings: ScanFindings) -> [Int] {
        guard view.options.prune else {
            guard view.options.keepTmp != nil else { return [] }
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

/// The values that all ranges of a scan share.
struct ScanView: Sendable {
    let wanted: Wanted
    let options: PlanOptions
    let reconciler: Reconciler
    let root: RootDirectory?
    let index: Index?
    let now: Instant
    var isCancelled: @Sendable () -> Bool
    /// Receives the progress of the scan. `nil` if no code listens.
    let meter: ActivityMeter?
    /// The targets that other owners name.
    let book: OwnerBook
    /// The positions of the manifests whose orphans the scan looks for, by the text of their
    /// owners.
    let orphanOwners: [String: Int]
    /// The parts that the index knows, by their targets.
    var parts: [Target: [PartRecord]] = [:]
}

extension ScanView {
    /// Throws `MirrorError` with `cancelled` if the caller has cancelled the plan.
    func stopIfCancelled() throws {
        if isCancelled() { throw MirrorError(.cancelled, "Interrupted while the plan was made.") }
    }

    /// Whether a row already has the owners that an entry needs.
    func keepsOwners(_ entry: Wanted.Reference, _ row: RowProjection) -> Bool {
        if wanted.isOnlyOwner(of: entry, row.owner) { return true }
        guard Owners.areShared(row.owner) else { return false }
        let owners = Owners(text: String(decoding: row.owner, as: UTF8.self))
        let wanting = wanted.owners(of: entry)
        return wanting.allSatisfy(owners.contains)
            && owners.names.allSatisfy { wanting.contains($0) || !book.isOfRun($0) }
    }

    /// The situation of an entry, still without its row, its file and its parts.
    func situation(of entry: Wanted.Reference) -> Situation {
        let resource = wanted.resource(of: entry)
        return Situation(
            resource: resource, owner: wanted.manifests[Int(entry.manifest)].owner,
            sources: resource.pin == nil ? resource.sources.map { SourceKey($0.url) } : [])
    }

    /// Whether a decision is a plain fetch, of which the resource says all.
    func isPlainFetch(_ decision: Decision, _ entry: Wanted.Reference) -> Bool {
        decision == .plainFetch && !wanted.isNamedByServer(entry)
    }

    /// The step that a decision makes.
    func step(_ decision: Decision, _ entry: Wanted.Reference, _ situation: Situation) -> Step {
        var size = situation.resource.size ?? situation.record?.stamp.size
        if decision.kind != .keep, situation.resource.size == nil {
            size = nil
            if case .transfer(let part, _) = decision.means {
                let isFetched = decision.kind == .fetch
                size = part?.total ?? (isFetched ? situation.resource.likelySize : nil)
            }
        }
        return Step(
            target: situation.resource.target, manifest: Int(entry.manifest),
            resource: Int(entry.resource), decision: decision, size: size)
    }
}
