/// The list of steps that would make the tree match; `sync` is a plan, executed.
public struct Plan: Sendable {
    /// The root's path.
    public var root: String
    /// The manifests, in the order in which they were given.
    public var manifests: [Manifest]
    /// One step for each target, in the order of the targets' bytes.
    public var steps: StepList
    /// When the plan was made.
    public var now: Instant
    /// Whether it was narrowed to removals, so that no request is made whatever the manifests say.
    package private(set) var isOnlyRemovals = false
    /// Orphans that are left because nothing asked for their removal.
    public var orphansLeft: Int
    /// Resources that `--only` or `--skip` left out.
    public var skipped = 0
    /// How many files of each owner the index knows; a limit on removals refers to this number.
    public var owned: [String: Int] = [:]
    /// Rows of orphans whose files are gone, or are those of other targets: the file system folds case.
    public var forgotten: [Target] = []
    /// Who owns a target from now on, where that is not only the manifest of its step, and its reason
    /// does not say so.
    public var owners: [Target: Owners] = [:]
    /// The remaining owners of files that manifests of the run have released.
    public var released: [Target: Owners] = [:]
    /// Parts of wanted targets that no step continues, by target: file names in `tmp/`.
    public var supersededParts: [Target: [String]] = [:]

    /// Files that this plan leaves out of Caches or tmp and that the index does not remember as such.
    public var newlyEvicted: [EvictedFile] = []
    /// Files that were left out before and that this plan brings.
    public var readmitted: [Target] = []
    /// How many files of mirror's are in the areas that were looked at for room.
    public var evictableFiles = 0
    /// Parts that no manifest wants and that are older than parts are kept: file names in `tmp/`.
    public var abandonedParts: [String] = []

    /// The bytes of orphans that steps take over although no digest pins them, by the orphans' targets.
    package var orphanBytes: [Target: Digest] = [:]

    /// The device and the inode of the root's folder; nil where there was no folder yet.
    package var rootFolder: (device: UInt64, inode: UInt64)?
    /// When the first file was looked at; nil for a plan that was put together in code.
    package var looked: ContinuousClock.Instant?

    /// The rows that the steps have; nil where they may change before the plan is carried out.
    package var rowsMark: Int?

    /// Takes the parts of a plan.
    public init(
        root: String, manifests: [Manifest], steps: some Sequence<Step>, now: Instant,
        orphansLeft: Int
    ) {
        self.root = root
        self.manifests = manifests
        self.steps = (steps as? StepList) ?? StepList(steps)
        self.now = now
        self.orphansLeft = orphansLeft
    }

    /// The resource of a step; nil for a target that is no longer wanted.
    public func resource(of step: Step) -> Resource? {
        guard let resource = step.resource else { return nil }
        return manifests[step.manifest].resources[resource]
    }

    /// Whether a run without servers begins a step's transfer: offline only if all sources are files. A set
    /// begins as a whole, or not at all, and offline it does not.
    package func beginsOffline(_ position: Int, _ sets: AtomicSets) -> Bool {
        guard let resource = resource(of: steps[position]),
            sets.set(of: position, in: self) == nil
        else { return false }
        return resource.sources.allSatisfy { $0.url.scheme == .file }
    }

    /// The owners of a step's target once the step is done.
    package func owners(of step: Step) -> Owners {
        if case .ownedTogether(let owners) = step.reason { return owners }
        return owners[step.target] ?? Owners(manifests[step.manifest].owner)
    }

    /// Whether a step's file is to be executable.
    package func isExecutable(_ step: Step) -> Bool {
        guard let resource = step.resource else { return false }
        return manifests[step.manifest].resources.isExecutable(at: resource)
    }

    /// Whether the server may name a step's file.
    package func isNamedByServer(_ step: Step) -> Bool {
        guard let resource = step.resource else { return false }
        return manifests[step.manifest].resources.isNamedByServer(at: resource)
    }

    /// Whether the file at a target stays as it is, and nothing is to be said about it.
    func keeps(_ target: Target) -> Bool {
        guard let position = steps.position(of: target) else { return false }
        return steps[position].isKept
    }

    /// When the turn of each transfer comes: its priority, and the host that is asked first.
    func turns(
        of positions: [Int]
    ) -> some Sequence<(position: Int, priority: Int32, host: Host)> {
        positions.lazy.map { [self] position in
            guard let (manifest, resource) = steps.resource(at: position) else {
                return (position, 0, .none)
            }
            let turn = manifests[manifest].resources.turn(at: resource)
            return (position, turn.priority, turn.host)
        }
    }

    /// How many steps there are for targets that are wanted.
    public var wantedSteps: Int {
        steps.plainKeeps + steps.notable.count { steps.resource(at: $0) != nil }
    }

    /// The part of the plan that removes orphans, and nothing else.
    public var removalsOnly: Plan {
        var plan = self
        plan.steps = steps.removals
        plan.isOnlyRemovals = true
        plan.skipped = 0
        return plan
    }

    /// Whether there is nothing to do: no change, no request, and no obstacle.
    public var isEmpty: Bool {
        steps.notable.allSatisfy { position in
            let step = steps[position]
            return step.means == .nothing && step.kind != .conflict
        }
    }
}

/// A plan in numbers.
public struct PlanTotals: Sendable, Hashable {
    /// How many steps of each kind there are.
    public var steps: [Step.Kind: Int] = [:]
    /// Bytes to fetch, as far as sizes are known.
    public var bytesToFetch: Int64 = 0
    /// How many transfers are of unknown size.
    public var unknownSizes = 0
    /// Bytes of parts that need not be fetched again.
    public var bytesReused: Int64 = 0
    /// Bytes that are copied within the tree.
    public var bytesToCopy: Int64 = 0
    /// Requests at least.
    public var requests = 0
    /// Orphans that are left.
    public var orphans = 0
    /// The entries of lists that were not taken.
    public var leftOut: [LeftOutEntry] = []

    /// The totals of a plan's steps.
    public init(of plan: Plan) {
        orphans = plan.orphansLeft
        leftOut = plan.manifests.flatMap(\.leftOut)
        if plan.steps.plainKeeps > 0 { steps[.keep] = plan.steps.plainKeeps }
        var plainFetches = 0
        for position in plan.steps.notable {
            if plan.steps.plainFetch(at: position) != nil {
                plainFetches += 1
                add(plan.steps.expectedBytes(at: position))
                continue
            }
            let step = plan.steps[position]
            steps[step.kind, default: 0] += 1
            switch step.means {
            case .transfer:
                requests += 1
                bytesReused = bytesReused.addingSaturated(step.reusableBytes)
                add(step.expectedBytes)
            case .copy: bytesToCopy = bytesToCopy.addingSaturated(step.size ?? 0)
            case .nothing, .adoption, .move, .removal: break
            }
        }
        requests += plainFetches
        if plainFetches > 0 { steps[.fetch, default: 0] += plainFetches }
    }

    private mutating func add(_ expected: Int64?) {
        if let expected {
            bytesToFetch = bytesToFetch.addingSaturated(expected)
        } else {
            unknownSizes += 1
        }
    }
}

extension Plan {
    /// Writes the plan as one JSON document, passing its bytes on in chunks of about 64 KiB.
    ///
    /// - Parameter permission: whether its transfers may run now, where that depends on something.
    public func write(
        _ permission: PermissionStatus? = nil, to sink: ([UInt8]) throws -> Void
    ) rethrows {
        var json = JSONWriter()
        json.beginObject()
        json.member("v", 1)
        json.member("root", root)
        json.key("steps")
        json.beginArray()
        for step in steps {
            json.object { write(step, to: &$0) }
            if json.bytes.count > 64 << 10 { try sink(json.take()) }
        }
        json.endArray()
        json.key("totals")
        json.object { PlanTotals(of: self).writeMembers(to: &$0) }
        let sets = AtomicSets(self).entries
        if !sets.isEmpty {
            json.key("sets")
            json.array { json in
                for set in sets {
                    json.object { json in
                        json.member("manifests", set.owners)
                        json.member("folder", set.folder)
                    }
                }
            }
        }
        if let permission {
            json.key("permission")
            json.object { permission.writeMembers(to: &$0) }
        }
        json.endObject()
        json.newline()
        try sink(json.take())
    }

    private func write(_ step: Step, to json: inout JSONWriter) {
        json.member("path", step.target.path)
        json.member("step", step.kind.rawValue)
        json.member("reason", step.reason.code)
        json.member("because", step.reason.because)
        json.member("source", source(of: step))
        json.member("size", step.size)
        json.member("offset", step.offset)
    }

    /// The origin of a step's bytes, for people: a URL without its query, or a target.
    public func source(of step: Step) -> String? {
        switch step.means {
        case .transfer: resource(of: step)?.primary.url.description
        case .copy(let target), .move(let target): target.path
        case .nothing, .adoption, .removal: nil
        }
    }
}

extension PlanTotals {
    /// Writes the totals as members of an object.
    public func writeMembers(to json: inout JSONWriter) {
        json.key("steps")
        json.object { json in
            for kind in Step.Kind.allCases {
                json.key(named: kind.rawValue)
                json.number(steps[kind, default: 0])
            }
        }
        json.member("bytesToFetch", bytesToFetch)
        json.member("unknownSizes", unknownSizes)
        json.member("bytesReused", bytesReused)
        json.member("bytesToCopy", bytesToCopy)
        json.member("requests", requests)
        json.member("orphans", orphans)
        json.key("leftOut")
        json.array { json in
            for entry in leftOut { entry.write(to: &json) }
        }
    }
}

/// The action on one target, and its reason.
public struct Step: Sendable, Hashable {
    /// The target.
    public var target: Target
    /// The manifest, as a position in the plan's list.
    public var manifest: Int
    /// The resource, as a position in the manifest; nil for a target that is no longer wanted.
    public var resource: Int?
    /// The action, its reason, and the bytes for it.
    public var decision: Decision
    /// The size of the whole file in bytes, where known.
    public var size: Int64?

    /// Takes the parts of a step.
    public init(
        target: Target, manifest: Int, resource: Int?, kind: Kind, reason: Reason, means: Means,
        existing: ExistingFile, size: Int64?
    ) {
        self.init(
            target: target, manifest: manifest, resource: resource,
            decision: Decision(kind, reason, means: means, existing: existing), size: size)
    }

    /// Applies a decision to a target.
    package init(
        target: Target, manifest: Int, resource: Int?, decision: Decision, size: Int64?
    ) {
        self.target = target
        self.manifest = manifest
        self.resource = resource
        self.decision = decision
        self.size = size
    }

    /// The action.
    public var kind: Kind {
        get { decision.kind }
        set { decision = decision.with(kind: newValue) }
    }

    /// Why.
    public var reason: Reason {
        get { decision.reason }
        set { decision = decision.with(reason: newValue) }
    }

    /// Where the bytes come from.
    public var means: Means {
        get { decision.means }
        set { decision = decision.with(means: newValue) }
    }

    /// The existing file, as far as the step relies on it.
    public var existing: ExistingFile {
        get { decision.existing }
        set { decision = decision.with(existing: newValue) }
    }

    /// The decision, by the name that the plan prints.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case conflict, edited, update, repair, revalidate, keep, move, copy, resume, evicted, fetch
        case remove
    }

    /// Where the bytes of a step come from.
    public enum Means: Sendable, Hashable {
        /// Nothing is to be brought.
        case nothing
        /// The file that is there gets a row, or its row a new stamp.
        case adoption(sha256: Digest)
        /// The network: from where a part ends, and only if the source has another version.
        indirect case transfer(part: PartRecord?, ifChangedSince: LocalVersion?)
        /// Bytes elsewhere in the tree.
        case copy(of: Target)
        /// An orphan, which is renamed.
        case move(of: Target)
        /// The target is removed.
        case removal
    }

    /// The file at a target when its step is decided.
    public enum ExistingFile: Sendable, Hashable {
        /// Nothing.
        case nothing
        /// The version that mirror put there; its stamp as seen now.
        case ours(FileStamp, sha256: Digest)
        /// That version, and everything else about it as it was recorded; the step relies on no more.
        case recorded(sha256: Digest)
        /// Bytes that mirror did not put there, which are not to be lost; no digest if they cannot be
        /// read.
        case foreign(FileStamp, sha256: Digest?)
        /// Bytes that mirror did not put there, in an area where drift is mended: replaced.
        case drifted(FileStamp)
        /// Something that cannot be replaced.
        case obstacle(FileKind)
    }

    /// The offset in bytes at which a transfer continues; 0 when it begins at the start.
    public var offset: Int64 {
        if let part { return part.loggedLength }
        return 0
    }

    /// Bytes of a part that need not be fetched; at least `offset`.
    public var reusableBytes: Int64 {
        if let part { return part.loggedBytes }
        return 0
    }

    /// Whose row in the index the step depends on: that of the file it copies or moves, or its own.
    package var rowTarget: Target {
        switch means {
        case .copy(let source), .move(let source): source
        case .nothing, .adoption, .transfer, .removal: target
        }
    }

    /// The stamp that the file at the target had when the step was decided; nil where that is its row's,
    /// or where no file was there.
    package var seen: FileStamp? {
        switch existing {
        case .ours(let stamp, _), .foreign(let stamp, _), .drifted(let stamp): stamp
        case .nothing, .recorded, .obstacle: nil
        }
    }

    /// Whether the file stays as it is, and nothing is to be said about it.
    package var isKept: Bool { kind == .keep && means == .nothing }

    /// Whether a request is made.
    public var needsNetwork: Bool {
        if case .transfer = means { return true }
        return false
    }
}
