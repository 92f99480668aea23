/// The list of steps that would make the tree match the manifests; `sync` executes a plan.
public struct Plan: Sendable {
    /// The root's path.
    public internal(set) var root: String
    /// The manifests, in the order in which the caller gave them.
    public internal(set) var manifests: [Manifest]
    /// One step for each target, in the order of the targets' bytes.
    public internal(set) var steps: StepList
    /// When the plan was made.
    public internal(set) var now: Instant
    /// Whether the plan was narrowed to removals, so that it makes no request.
    package private(set) var isOnlyRemovals = false
    /// How many orphans stay, because the caller did not ask for their removal.
    public internal(set) var orphansLeft: Int
    /// How many resources `--only` or `--skip` left out.
    public internal(set) var skipped = 0
    /// How many files of each owner the index knows. Limits on removals refer to this number.
    public internal(set) var owned: [String: Int] = [:]
    /// Orphans whose rows the run removes without removing a file.
    ///
    /// Their files are gone, or belong to other targets because the file system folds case.
    public internal(set) var forgotten: [Target] = []
    /// The owners of targets from now on, by target.
    ///
    /// A target is missing here if only its step's manifest owns it. It is missing too if the
    /// step's reason names its owners.
    var owners: [Target: Owners] = [:]
    /// The owners that remain, of files that manifests of the run have released.
    var released: [Target: Owners] = [:]
    /// Parts of wanted targets that no step continues, by target: file names in `tmp/`.
    public internal(set) var supersededParts: [Target: [String]] = [:]

    /// Files that this plan leaves out for lack of room, and that are not listed as evicted yet.
    var newlyEvicted: [EvictedFile] = []
    /// Files that the index lists as evicted, and that this plan does not leave out.
    public internal(set) var readmitted: [Target] = []
    /// How many files of mirror's are in the areas that have a quota or a limit of idle time.
    public internal(set) var evictableFiles = 0
    /// What the quota of Caches has left for files of unknown size. `nil` means no quota.
    var quotaRoom: QuotaRoom?
    /// What is missing for the files that did not fit on the disk when the plan was made.
    ///
    /// By the positions of their steps. The run finds out again which files fit.
    var withoutRoom: [Int: SpaceShortage] = [:]
    /// Targets whose sizes the index has from earlier answers.
    var learned: Set<Target> = []
    /// Parts that no manifest wants and that are too old to keep, as file names in `tmp/`.
    public internal(set) var abandonedParts: [String] = []

    /// The sha256 of orphans that steps copy or move although no digest pins them, by target.
    var orphanBytes: [Target: Digest] = [:]

    /// The device and the inode of the root's folder. `nil` means that there was no folder yet.
    var rootFolder: (device: UInt64, inode: UInt64)?
    /// When the scan looked at its first file. `nil` means that code made the plan without a scan.
    var looked: ContinuousClock.Instant?

    /// The index's state when the scan read the rows that the steps have.
    ///
    /// `nil` means that a run could change rows during the scan, so that they are read again.
    var rowsMark: Int?

    /// The part of all targets that the plan is about, such as `3/8`. `nil` means all of them.
    package var shard: String?
    /// What folder stores have of the files that the steps fetch, in the stores' order.
    var stores: [StoreContents] = []
    /// Facts for people that keep the plan from nothing, such as a store that cannot be read.
    public internal(set) var warnings: [String] = []

    /// Takes the parts of a plan.
    package init(
        root: String, manifests: [Manifest], steps: some Sequence<Step>, now: Instant,
        orphansLeft: Int
    ) {
        self.root = root
        self.manifests = manifests
        self.steps = (steps as? StepList) ?? StepList(steps)
        self.now = now
        self.orphansLeft = orphansLeft
    }

    /// Returns the resource of a step. Returns nil if the target is no longer wanted.
    public func resource(of step: Step) -> Resource? {
        guard let resource = step.resource else { return nil }
        return manifests[step.manifest].resources[resource]
    }

    /// Whether a run without servers begins a step's transfer: only if the bytes are here.
    ///
    /// A set begins as a whole or not at all.
    func beginsOffline(_ position: Int, _ sets: AtomicSets) -> Bool {
        guard hasBytesHere(position) else { return false }
        return sets.set(of: position, in: self).map { sets.hasBytesHere[$0] } ?? true
    }

    /// Whether a step's bytes are on this machine: all sources are files, or a folder store has
    /// them.
    func hasBytesHere(_ position: Int) -> Bool {
        if stores.contains(where: { $0.positions.contains(position) }) { return true }
        guard let resource = resource(of: steps[position]) else { return false }
        return resource.sources.allSatisfy { $0.url.scheme == .file }
    }

    /// Returns the owners of a step's target once the step is done.
    func owners(of step: Step) -> Owners {
        if case .ownedTogether(let owners) = step.reason { return owners }
        return owners[step.target] ?? Owners(manifests[step.manifest].owner)
    }

    /// Whether a step's file is to be executable.
    func isExecutable(_ step: Step) -> Bool {
        guard let resource = step.resource else { return false }
        return manifests[step.manifest].resources.isExecutable(at: resource)
    }

    /// Whether the server may name a step's file.
    func isNamedByServer(_ step: Step) -> Bool {
        guard let resource = step.resource else { return false }
        return manifests[step.manifest].resources.isNamedByServer(at: resource)
    }

    /// Whether the server is still to name a step's file. Stores know no name.
    func awaitsName(_ step: Step) -> Bool {
        guard isNamedByServer(step), resource(of: step)?.target == step.target else { return false }
        return switch step.existing {
        case .ours, .recorded: false
        case .nothing, .foreign, .drifted, .obstacle: true
        }
    }

    /// Whether the file at a target stays as it is, and its step does nothing.
    func keeps(_ target: Target) -> Bool {
        guard let position = steps.position(of: target) else { return false }
        return steps[position].isKept
    }

    /// Returns what decides the turn of each transfer: its priority, and the host asked first.
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

    /// How many steps are for targets that are wanted.
    public var wantedSteps: Int {
        steps.plainKeeps + steps.notable.count { steps.resource(at: $0) != nil }
    }

    /// The plan with its steps that remove files, and without all others.
    public var removalsOnly: Plan {
        var plan = self
        plan.steps = steps.removals
        plan.isOnlyRemovals = true
        plan.skipped = 0
        return plan
    }

    /// How many transfers a run would not begin, because their targets are paused.
    package func transfers(pausedBy paused: PausedTargets) -> Int {
        if paused.isEmpty { return 0 }
        return steps.notable.count { position in
            guard case .transfer = steps[position].means else { return false }
            return paused.contains(steps.target(at: position))
        }
    }

    /// Whether the plan has nothing to do: no change, no request, and no obstacle.
    public var isEmpty: Bool {
        steps.notable.allSatisfy { position in
            let step = steps[position]
            return step.means == .nothing && step.kind != .conflict
        }
    }

    /// Whether the tree matches the manifests: no step asks a source, changes a file or is in
    /// conflict.
    ///
    /// An adoption only writes the file's row, unless the manifest wants another mode.
    package var treeMatches: Bool {
        steps.notable.allSatisfy { position in
            let step = steps[position]
            switch step.means {
            case .nothing: return step.kind != .conflict
            case .adoption: return !step.reason.isModeChange
            case .transfer, .copy, .move, .removal: return false
            }
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
    /// How many files are asked about that will most likely be as they are.
    public var asked = 0
    /// The bytes of these files, which come only if the files have changed.
    public var bytesIfChanged: Int64 = 0
    /// Bytes of parts that need not be fetched again.
    public var bytesReused: Int64 = 0
    /// Bytes that are copied within the tree.
    public var bytesToCopy: Int64 = 0
    /// How many requests are made at least.
    public var requests = 0
    /// How many orphans stay.
    public var orphans = 0
    /// How many files do not fit on the disk. They count nowhere else.
    public var withoutRoom = 0
    /// How many of the files to fetch are in stores that are folders.
    public var storedFiles = 0
    /// The bytes of these files.
    public var storedBytes: Int64 = 0
    /// The entries of lists that mirror did not take into the manifests.
    var leftOut: [LeftOutEntry] = []

    /// The totals of a plan's steps.
    public init(of plan: Plan) {
        orphans = plan.orphansLeft
        leftOut = plan.manifests.flatMap(\.leftOut)
        withoutRoom = plan.withoutRoom.count
        if plan.steps.plainKeeps > 0 { steps[.keep] = plan.steps.plainKeeps }
        var plainFetches = 0
        for position in plan.steps.notable where plan.withoutRoom[position] == nil {
            if plan.steps.plainFetch(at: position) != nil {
                plainFetches += 1
                let bytes = plan.steps.expectedBytes(at: position)
                add(bytes)
                countStored(bytes, at: position, plan)
                continue
            }
            let step = plan.steps[position]
            steps[step.kind, default: 0] += 1
            switch step.means {
            case .transfer:
                requests += 1
                bytesReused = bytesReused.addingSaturated(step.reusableBytes)
                if [.revalidate, .edited].contains(step.kind), step.local?.isConfirmable == true {
                    asked += 1
                    bytesIfChanged = bytesIfChanged.addingSaturated(
                        step.size ?? step.seen?.size ?? 0)
                } else {
                    add(step.expectedBytes)
                    countStored(step.expectedBytes, at: position, plan)
                }
            case .copy: bytesToCopy = bytesToCopy.addingSaturated(step.size ?? 0)
            case .nothing, .adoption, .move, .removal: break
            }
        }
        requests += plainFetches - storedFiles
        if plainFetches > 0 { steps[.fetch, default: 0] += plainFetches }
    }

    private mutating func countStored(_ bytes: Int64?, at position: Int, _ plan: Plan) {
        guard plan.stores.contains(where: { $0.positions.contains(position) }) else { return }
        storedFiles += 1
        storedBytes = storedBytes.addingSaturated(bytes ?? 0)
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
    /// Writes the plan as `plan --json` prints it, and gives it to `sink` in chunks of about 64 KiB.
    public func write(to sink: ([UInt8]) throws -> Void) rethrows { try write(nil, to: sink) }

    /// Writes the plan as one JSON document, and gives it to `sink` in chunks of about 64 KiB.
    ///
    /// - Parameter permission: whether transfers may run now. `nil` leaves this out.
    package func write(
        _ permission: PermissionStatus? = nil, to sink: ([UInt8]) throws -> Void
    ) rethrows {
        var json = JSONWriter()
        json.beginObject()
        json.member("v", 1)
        json.member("root", root)
        if let shard { json.member("shard", shard) }
        json.key("steps")
        json.beginArray()
        for position in steps.indices {
            json.object { write(shownStep(at: position), to: &$0) }
            if json.bytes.count > 64 << 10 { try sink(json.take()) }
        }
        json.endArray()
        json.object("totals") { PlanTotals(of: self).writeMembers(to: &$0) }
        if !warnings.isEmpty { json.member("warnings", warnings) }
        let sets = AtomicSets(self).entries
        if !sets.isEmpty {
            json.objects("sets", sets) { set, json in
                json.member("manifests", set.owners)
                json.member("folder", set.folder)
            }
        }
        if let permission {
            json.object("permission") { permission.writeMembers(to: &$0) }
        }
        json.endObject()
        json.newline()
        try sink(json.take())
    }

    /// Returns a step for people and scripts: a lack of room for its file counts as its reason.
    package func shownStep(at position: Int) -> Step {
        var step = steps[position]
        if let shortage = withoutRoom[position] { step.reason = .noRoom(shortage) }
        return step
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

    /// Returns the origin of a step's bytes, for people: a URL without its query, or a target.
    ///
    /// Returns nil if the step brings no bytes.
    public func source(of step: Step) -> String? {
        switch step.means {
        case .transfer:
            storedFiles(of: step).first?.url.description
                ?? resource(of: step)?.primary.url.description
        case .copy(let target), .move(let target): target.path
        case .nothing, .adoption, .removal: nil
        }
    }
}

extension PlanTotals {
    /// Writes the totals as members of an object.
    func writeMembers(to json: inout JSONWriter) {
        json.object("steps") { json in
            for kind in Step.Kind.allCases {
                json.key(named: kind.rawValue)
                json.number(steps[kind, default: 0])
            }
        }
        json.member("bytesToFetch", bytesToFetch)
        json.member("unknownSizes", unknownSizes)
        json.member("asked", asked)
        json.member("bytesIfChanged", bytesIfChanged)
        json.member("bytesReused", bytesReused)
        json.member("bytesToCopy", bytesToCopy)
        json.member("storedFiles", storedFiles)
        json.member("storedBytes", storedBytes)
        json.member("requests", requests)
        json.member("orphans", orphans)
        json.member("noRoom", withoutRoom)
        json.array("leftOut", leftOut) { entry, json in entry.write(to: &json) }
    }
}

/// The action on one target, and the reason for the action.
public struct Step: Sendable, Hashable {
    /// The target.
    public internal(set) var target: Target
    /// The manifest, as a position in the plan's list.
    public internal(set) var manifest: Int
    /// The resource, as a position in the manifest. `nil` means a target that is no longer wanted.
    public internal(set) var resource: Int?
    /// The action, its reason, and where its bytes come from.
    var decision: Decision
    /// The size of the whole file in bytes, where known.
    public internal(set) var size: Int64?

    /// Takes the parts of a step.
    init(
        target: Target, manifest: Int, resource: Int?, kind: Kind, reason: Reason, means: Means,
        existing: ExistingFile, size: Int64?
    ) {
        self.init(
            target: target, manifest: manifest, resource: resource,
            decision: Decision(kind, reason, means: means, existing: existing), size: size)
    }

    /// Applies a decision to a target.
    init(
        target: Target, manifest: Int, resource: Int?, decision: Decision, size: Int64?
    ) {
        self.target = target
        self.manifest = manifest
        self.resource = resource
        self.decision = decision
        self.size = size
    }

    /// What the step does.
    public var kind: Kind {
        get { decision.kind }
        set { decision = decision.with(kind: newValue) }
    }

    /// Why the step does this.
    package var reason: Reason {
        get { decision.reason }
        set { decision = decision.with(reason: newValue) }
    }

    /// The reason as a word that scripts may rely on.
    public var reasonCode: String { reason.code }

    /// The reason as a sentence, without its full stop.
    public var because: String { reason.because }

    /// Where the bytes come from.
    var means: Means {
        get { decision.means }
        set { decision = decision.with(means: newValue) }
    }

    /// Whether the step changes neither bytes nor rows.
    package var doesNothing: Bool { means == .nothing }

    /// The existing file, as far as the step relies on it.
    var existing: ExistingFile {
        get { decision.existing }
        set { decision = decision.with(existing: newValue) }
    }

    /// The action of a step, by the name that the plan prints.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case conflict, edited, update, repair, revalidate, keep, move, copy, resume, evicted, fetch
        case remove
    }

    /// Where the bytes of a step come from.
    enum Means: Sendable, Hashable {
        /// The step brings no bytes.
        case nothing
        /// The file that is there gets a row, or its row gets a new stamp.
        case adoption(sha256: Digest)
        /// A source gives the bytes after `part`, or confirms that it still has `ifChangedSince`.
        indirect case transfer(part: PartRecord?, ifChangedSince: LocalVersion?)
        /// The bytes are copied from another target in the tree.
        case copy(of: Target)
        /// An orphan is renamed to the target.
        case move(of: Target)
        /// The target is removed.
        case removal
    }

    /// The file at a target when its step is decided.
    enum ExistingFile: Sendable, Hashable {
        /// No file.
        case nothing
        /// The version that mirror put there, with the file's stamp as it is now.
        case ours(FileStamp, sha256: Digest)
        /// The version that mirror put there, with the stamp of its row. The step needs no more.
        case recorded(sha256: Digest)
        /// Bytes that mirror did not put there and must not lose.
        ///
        /// The digest is nil if the bytes were not read.
        case foreign(FileStamp, sha256: Digest?)
        /// Bytes that mirror did not put there, in an area where mirror replaces such bytes.
        case drifted(FileStamp)
        /// An entry that mirror does not replace.
        case obstacle(FileKind)
    }

    /// The offset in bytes at which a transfer continues; 0 if it begins at the start.
    public var offset: Int64 {
        if let part { return part.loggedLength }
        return 0
    }

    /// The bytes of a part that need not be fetched again; at least `offset`.
    public var reusableBytes: Int64 {
        if let part { return part.loggedBytes }
        return 0
    }

    /// The target whose row the step needs: the file that it copies or moves, or its own target.
    var rowTarget: Target {
        switch means {
        case .copy(let source), .move(let source): source
        case .nothing, .adoption, .transfer, .removal: target
        }
    }

    /// The stamp of the file at the target when the step was decided.
    ///
    /// `nil` means that the row has this stamp, or that no file was there.
    var seen: FileStamp? {
        switch existing {
        case .ours(let stamp, _), .foreign(let stamp, _), .drifted(let stamp): stamp
        case .nothing, .recorded, .obstacle: nil
        }
    }

    /// Whether the file stays as it is, and the step does nothing.
    var isKept: Bool { kind == .keep && means == .nothing }

    /// Whether the step is a transfer.
    public var needsNetwork: Bool {
        if case .transfer = means { return true }
        return false
    }
}

/// What a store that is a folder has of the files that a plan fetches.
struct StoreContents: Sendable {
    /// The store as the user named it.
    let place: String
    /// The absolute path of its folder.
    let folder: String
    /// The positions of the plan's steps whose bytes it has.
    var positions = PositionSet()
    /// The files of another root, below its folder, by the positions of the steps.
    ///
    /// All other files lie in `cas/`, under their digests.
    var paths: [Int: String] = [:]

    /// An empty store.
    init(place: String, folder: String) { (self.place, self.folder) = (place, folder) }

    /// The file that has a step's bytes. Returns nil if the store does not have them.
    func file(of sha256: Digest, at position: Int) -> SourceURL? {
        guard positions.contains(position) else { return nil }
        return SourceURL(file: folder + "/" + (paths[position] ?? Store.name(of: sha256)))
    }
}

extension Plan {
    /// The files of folder stores that have a step's bytes, in the order of the stores.
    func storedFiles(of step: Step) -> [(url: SourceURL, place: String)] {
        if stores.isEmpty { return [] }
        guard let position = steps.position(of: step.target), let sha256 = sha256(at: position)
        else { return [] }
        return stores.compactMap { store in
            store.file(of: sha256, at: position).map {
                ($0, store.place)
            }
        }
    }

    /// The folder store that has a step's bytes, for people. Returns nil if none has them.
    package func store(of step: Step) -> String? { storedFiles(of: step).first?.place }

    /// The sha256 by which a store may have the bytes of a step that sends a request. Returns nil
    /// if there is none.
    func sha256(at position: Int) -> Digest? {
        guard let (manifest, at) = steps.request(at: position) else { return nil }
        let resources = manifests[manifest].resources
        if resources.isPost(at: at) { return nil }
        if resources.isNamedByServer(at: at), awaitsName(steps[position]) { return nil }
        if let digest = resources.onlyDigest(at: at) {
            return digest.algorithm == .sha256 ? digest : nil
        }
        return resources.hasDigest(at: at)
            ? resources[at].digests.first { $0.algorithm == .sha256 } : nil
    }
}
