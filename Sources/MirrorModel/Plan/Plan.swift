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
    /// Who still owns files that manifests of the run have let go.
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
    package var rowsMark: RowsMark?

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

    /// Who owns a step's target once the step is done.
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

    private mutating func add(_ expected: ExpectedBytes) {
        switch expected {
        case .none: break
        case .known(let bytes): bytesToFetch = bytesToFetch.addingSaturated(bytes)
        case .unknown: unknownSizes += 1
        }
    }
}
