internal import MirrorModel

/// Makes a plan: what is wanted, known and there, merged in one pass over three sorted streams.
///
/// The survey only gathers; each decision is the reconciler's. Files whose stamps are not their
/// rows', and files that the index does not know, are read before they are decided upon. What needs
/// bytes is decided a second time where the tree may have them under another name. The calling
/// thread is blocked; no server is asked.
struct Survey: ~Copyable {
    private let wanted: Wanted
    private let options: PlanOptions
    private let reconciler: Reconciler
    private let root: RootDirectory?
    private let index: Index?
    private let now: Instant
    private let isCancelled: @Sendable () -> Bool

    private var scan: TreeScan?
    private var parts: [Target: [PartRecord]] = [:]
    private var steps: [Step] = []
    private var next = 0
    private var orphans: [IndexRecord] = []
    private var searching: [(step: Int, situation: Situation)] = []
    private var owned: [String: Int] = [:]
    private var forgotten: [Target] = []
    private let orphanOwners: [String: Int]

    /// Takes what a plan is made from; a root or an index that is not there counts as empty.
    init(
        manifests: [Manifest], options: PlanOptions, root: RootDirectory?, index: Index?,
        now: Instant, isCancelled: @escaping @Sendable () -> Bool
    ) throws {
        self.options = options
        self.root = root
        self.index = index
        self.now = now
        self.isCancelled = isCancelled
        wanted = try Wanted(manifests, options: options, index: index)
        var reconciler = Reconciler()
        reconciler.everythingIsDue = options.everythingIsDue
        reconciler.refetched = options.refetched
        reconciler.prunes = options.prunes
        self.reconciler = reconciler
        let selectsAll = options.only.isEmpty && options.skip.isEmpty
        var owners: [String: Int] = [:]
        for (position, manifest) in manifests.enumerated() where selectsAll {
            if let name = manifest.name { owners[name] = position }
        }
        orphanOwners = owners
        scan = root.map { TreeScan($0) }
    }

    /// Looks, and decides; `path` is what the plan calls the root. Throws `MirrorError`.
    consuming func plan(for path: String) throws -> Plan {
        if let index {
            for part in try index.allParts() { parts[part.target, default: []].append(part) }
            var cursor = try index.cursor()
            while let record = try cursor.nextRecord() { try advance(to: record) }
        }
        while next < wanted.entries.count { try decide(wanted.entries[next], record: nil) }
        try lookForBytesInTree()
        let left = addRemovals()
        steps.sort { $0.target < $1.target }
        var plan = Plan(
            root: path, manifests: wanted.manifests, steps: steps, now: now,
            orphansLeft: left)
        plan.skipped = wanted.skipped
        plan.owned = owned
        plan.forgotten = forgotten
        for step in steps {
            let others = (parts[step.target] ?? []).map(\.name).filter { $0 != step.part?.name }
            if !others.isEmpty { plan.supersededParts[step.target] = others }
        }
        return plan
    }

    private mutating func advance(to record: IndexRecord) throws {
        owned[record.owner, default: 0] += 1
        while next < wanted.entries.count {
            let entry = wanted.entries[next]
            let target = wanted.target(of: entry)
            if target == record.target { return try decide(entry, record: record) }
            if record.target < target { break }
            try decide(entry, record: nil)
        }
        if orphanOwners[record.owner] != nil { try addOrphan(record) }
    }

    private mutating func decide(_ entry: Wanted.Entry, record: IndexRecord?) throws {
        next += 1
        if next % 512 == 0, isCancelled() {
            throw MirrorError(.cancelled, "Interrupted while the plan was made.")
        }
        let resource = wanted.resource(of: entry)
        var situation = Situation(
            resource: resource, owner: wanted.manifests[Int(entry.manifest)].owner,
            sources: resource.pin == nil ? resource.sources.map { SourceKey($0.url) } : [])
        situation.record = record
        situation.file = try scan?.look(at: resource.target) ?? .absent
        situation.parts = parts[resource.target] ?? []
        try readWhereInDoubt(&situation)
        let decision = reconciler.step(for: situation, now: now)
        if case .transfer = decision.means, index != nil {
            searching.append((steps.count, situation))
        }
        steps.append(step(decision, entry, situation))
    }

    /// Reads a file that its stamp does not vouch for, or that a digest is declared for which
    /// the index has no value.
    private mutating func readWhereInDoubt(_ situation: inout Situation) throws {
        guard case .file(let stamp, _) = situation.file, let root else { return }
        let pin = situation.resource.pin
        let record = situation.record
        let isKnown =
            record.map { record in
                record.stamp == stamp
                    && (pin.map { record.digest(of: $0.algorithm) != nil } ?? true)
            } ?? false
        guard !isKnown || options.rehashes else { return }
        var algorithms: [DigestAlgorithm] = [.sha256]
        if let pin, pin.algorithm != .sha256 { algorithms.append(pin.algorithm) }
        // Between the look and the reading, a file can go, and another one come.
        for _ in 1...3 {
            guard case .file = situation.file else { return }
            let read: FileDigests?
            do throws(MirrorError) {
                read = try FileDigests.read(
                    situation.resource.target, in: root, algorithms: algorithms,
                    isCancelled: isCancelled)
            } catch {
                // One file that cannot be read is that resource's failure, not the plan's.
                guard error.code != .cancelled else { throw error }
                situation.isUnreadable = true
                return
            }
            if let read {
                situation.digests = read.digests
                situation.file = .file(read.stamp, sha256: nil)
                return
            }
            situation.file = try scan?.look(at: situation.resource.target) ?? .absent
        }
    }

    private func step(
        _ decision: Decision, _ entry: Wanted.Entry, _ situation: Situation
    ) -> Step {
        var size = situation.resource.size ?? situation.record?.stamp.size
        if decision.kind != .keep, situation.resource.size == nil {
            size = nil
            if case .transfer(let part?, _) = decision.means { size = part.total }
        }
        return Step(
            target: situation.resource.target, manifest: Int(entry.manifest),
            resource: Int(entry.resource), kind: decision.kind, reason: decision.reason,
            means: decision.means, occupant: decision.occupant, size: size)
    }

    /// An orphan whose file is gone is only forgotten; one that was changed is somebody's now.
    private mutating func addOrphan(_ record: IndexRecord) throws {
        guard case .file(let stamp, _) = try scan?.look(at: record.target) ?? .absent else {
            forgotten.append(record.target)
            return
        }
        guard stamp != record.stamp, let root else { return orphans.append(record) }
        do throws(MirrorError) {
            let read = try FileDigests.read(record.target, in: root, isCancelled: isCancelled)
            guard let read, read.digests.first == record.sha256 else { return }
            var current = record
            current.stamp = read.stamp
            orphans.append(current)
        } catch {
            // What cannot be read may have been changed, and is left.
            if error.code == .cancelled { throw error }
        }
    }
}

extension Survey {
    /// Decides again, with what the tree holds under other names, wherever bytes would be fetched.
    private mutating func lookForBytesInTree() throws {
        guard let index, !searching.isEmpty else { return }
        let donors = try Donors(for: searching.map(\.situation), in: index, scan: &scan)
        let heirs = OrphanHeirs(orphans)
        for (position, situation) in searching {
            var richer = situation
            if let pin = situation.resource.pin { richer.donor = donors.target(with: pin) }
            richer.orphan = heirs.orphan(for: situation)
            guard richer.donor != nil || richer.orphan != nil else { continue }
            let decision = reconciler.step(for: richer, now: now)
            steps[position].kind = decision.kind
            steps[position].reason = decision.reason
            steps[position].means = decision.means
            if steps[position].size == nil { steps[position].size = richer.orphan?.stamp.size }
        }
        shareOrphans()
    }

    /// An orphan can be renamed once: where several want its bytes, each copies them.
    private mutating func shareOrphans() {
        var heirs: [Target: [Int]] = [:]
        for (position, _) in searching {
            if case .move(let orphan) = steps[position].means {
                heirs[orphan, default: []].append(position)
            }
        }
        for (orphan, positions) in heirs where positions.count > 1 {
            for position in positions { steps[position].means = .copy(of: orphan) }
        }
    }

    /// Adds a removal for each orphan where that was asked for; says how many are left otherwise.
    private mutating func addRemovals() -> Int {
        guard options.prunes else { return orphans.count }
        let moved = Set(
            steps.compactMap { step in
                if case .move(let orphan) = step.means { orphan } else { nil }
            })
        for orphan in orphans where !moved.contains(orphan.target) {
            steps.append(
                Step(
                    target: orphan.target, manifest: orphanOwners[orphan.owner] ?? 0,
                    resource: nil, kind: .remove, reason: .orphan(of: orphan.owner),
                    means: .removal, occupant: .ours(orphan.stamp, sha256: orphan.sha256),
                    size: orphan.stamp.size))
        }
        return 0
    }
}
