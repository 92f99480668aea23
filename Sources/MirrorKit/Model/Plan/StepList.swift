/// The steps of a plan in the order of their targets' bytes, most of them in eight bytes.
///
/// Most of a million files stay as they are, and most of the others are simply fetched. Such a step
/// follows from the resource of its manifest. So the list keeps only the resource's position, and
/// builds the step on demand. An adopted file also keeps its stamp, and a file kept without a pin
/// keeps its row's facts. A removed file keeps its position among the orphans. The list stores
/// every other step whole.
public struct StepList: Sendable {
    private var tables: [ResourceTable]
    private var owners: [String]
    private var orphans = OrphanTable()
    private var entries = BlockArray<StepSlot>()
    private var adoptions = BlockArray<Adoption>()
    private var unpinned = BlockArray<UnpinnedKeep>()
    private var others = BlockArray<Step>()
    /// The owners that the reasons of adoptions name, each with a number.
    private var formerOwners = InternTable<String>()
    /// How many steps leave a file as it is and follow from their resource alone.
    public private(set) var plainKeeps = 0

    /// Makes an empty list that builds steps from the resources of `manifests`.
    package init(of manifests: [Manifest] = []) {
        tables = manifests.map(\.resources)
        owners = manifests.map(\.owner)
    }

    /// Makes a list that stores steps whole.
    init(_ steps: some Sequence<Step>) {
        self.init()
        for step in steps { append(step) }
    }

    /// Adds a step at the end, in its shortest form.
    mutating func append(_ step: Step) {
        guard let resource = step.resource, tables.indices.contains(step.manifest),
            tables[step.manifest].indices.contains(resource)
        else { return appendWhole(step) }
        if keep(manifest: step.manifest, resource: resource) == step {
            return appendPlainKeep(manifest: step.manifest, resource: resource)
        }
        let adoption = Adoption(step, of: resource) { formerOwners.number(of: $0) }
        if let adoption, self.step(adoption) == step {
            entries.append(StepSlot(.adoption, adoptions.count))
            return adoptions.append(adoption)
        }
        if let keep = UnpinnedKeep(step, of: resource), self.step(keep) == step {
            entries.append(StepSlot(.unpinned, unpinned.count))
            return unpinned.append(keep)
        }
        appendWhole(step)
    }

    /// Adds a step in its whole form.
    mutating func appendWhole(_ step: Step) {
        entries.append(StepSlot(.other, others.count))
        others.append(step)
    }

    /// Adds the step for a file that stays as it is.
    ///
    /// The resource must be pinned by one sha256 and have a size.
    mutating func appendPlainKeep(manifest: Int, resource: Int) {
        entries.append(StepSlot(.keep, resource, manifest: manifest))
        plainKeeps += 1
    }

    /// Adds the step that fetches a resource whole, because no file, row or part is there.
    mutating func appendPlainFetch(manifest: Int, resource: Int) {
        entries.append(StepSlot(.fetch, resource, manifest: manifest))
    }

    /// Sets the orphans that `appendRemoval` names by position. There must be none before.
    mutating func take(_ orphans: OrphanTable) { self.orphans = orphans }

    /// Adds the step that removes an orphan.
    mutating func appendRemoval(ofOrphan position: Int) {
        entries.append(StepSlot(.removal, position))
    }

    /// Adds the steps of a list over the same manifests, and frees that list's storage on the way.
    mutating func append(contentsOf list: consuming StepList) {
        if isEmpty, orphans.isEmpty { return self = list }
        // Together the lists may have more owners than numbers, and orphans have their own
        // positions.
        if formerOwners.values.count + list.formerOwners.values.count > Adoption.mostOwners
            || !list.orphans.isEmpty
        {
            for step in list { append(step) }
            return
        }
        let (adopted, kept, whole) = (adoptions.count, unpinned.count, others.count)
        plainKeeps += list.plainKeeps
        let (next, adoptions, unpinned) = (list.entries, list.adoptions, list.unpinned)
        let (others, former) = (list.others, list.formerOwners)
        list = StepList()
        entries.append(contentsOf: consume next) { entry in
            var entry = entry
            switch entry.kind {
            case .keep, .fetch, .removal: break
            case .adoption: entry.position += UInt32(adopted)
            case .unpinned: entry.position += UInt32(kept)
            case .other: entry.position += UInt32(whole)
            }
            return entry
        }
        self.adoptions.append(contentsOf: consume adoptions) { adoption in
            adoption.renumbered { self.formerOwners.number(of: former.values[$0]) }
        }
        self.unpinned.append(contentsOf: consume unpinned)
        self.others.append(contentsOf: consume others)
    }

    /// Adds one step of a list over the same manifests.
    mutating func append(stepAt position: Int, of list: StepList) {
        let entry = list.entries[position]
        switch entry.kind {
        case .keep: plainKeeps += 1
        case .fetch: break
        case .adoption, .removal: return append(list[position])
        case .unpinned:
            entries.append(StepSlot(.unpinned, unpinned.count))
            return unpinned.append(list.unpinned[Int(entry.position)])
        case .other: return appendWhole(list.others[Int(entry.position)])
        }
        entries.append(entry)
    }

    /// Replaces the step at a position.
    mutating func replace(at position: Int, with step: Step) {
        let old = entries[position]
        switch old.kind {
        case .other: return others[Int(old.position)] = step
        case .keep: plainKeeps -= 1
        case .fetch, .adoption, .unpinned, .removal: break
        }
        entries[position] = StepSlot(.other, others.count)
        others.append(step)
    }

    /// Whether the step at a position leaves a file as it is and follows from its resource alone.
    public func isPlainKeep(at position: Int) -> Bool { entries[position].kind == .keep }

    /// Whether the step at a position removes a file.
    func isRemoval(at position: Int) -> Bool {
        let entry = entries[position]
        return entry.kind == .removal
            || entry.kind == .other && others[Int(entry.position)].means == .removal
    }

    /// Whether the step at a position removes a file for lack of room.
    func isEviction(at position: Int) -> Bool {
        let entry = entries[position]
        guard entry.kind == .other else { return false }
        let step = others[Int(entry.position)]
        return step.kind == .evicted && step.means == .removal
    }

    /// The steps that remove files, and no others.
    var removals: StepList {
        var list = StepList()
        (list.tables, list.owners, list.orphans) = (tables, owners, orphans)
        for position in indices where isRemoval(at: position) {
            let entry = entries[position]
            if entry.kind == .removal {
                list.entries.append(entry)
            } else {
                list.appendWhole(others[Int(entry.position)])
            }
        }
        return list
    }

    /// Returns the resource that a step fetches whole because nothing is there, and its size.
    ///
    /// Returns nil for other steps. Most steps of a first run have this form, and this call builds
    /// none of these steps. The size is the declared one, in bytes.
    func plainFetch(at position: Int) -> (manifest: Int, resource: Int, size: Int64?)? {
        let entry = entries[position]
        guard entry.kind == .fetch else { return nil }
        let resource = Int(entry.position)
        return (entry.manifest, resource, tables[entry.manifest].expectedSize(at: resource))
    }

    /// Returns the row of a step's target when the plan was made. A plain fetch has no row.
    ///
    /// Returns nil if the plan does not know the row.
    func plannedRow(at position: Int, of step: Step) -> IndexRecord?? {
        if entries[position].kind == .fetch { return .some(nil) }
        return step.decision.row.map { .some($0) }
    }

    /// Returns the area of a resource's target without building the target.
    func area(ofResource resource: Int, in manifest: Int) -> Area {
        tables[manifest].withPath(at: resource) {
            Target.area(ofPathBeginningWith: $0.first)
        }
    }

    /// The positions of all steps except the plain keeps.
    public var notable: some Sequence<Int> { indices.lazy.filter { !isPlainKeep(at: $0) } }

    /// Returns the target of a step without building the step.
    public func target(at position: Int) -> Target {
        let entry = entries[position]
        switch entry.kind {
        case .keep, .fetch: return tables[entry.manifest].target(at: Int(entry.position))
        case .adoption:
            let adoption = adoptions[Int(entry.position)]
            return tables[adoption.manifest].target(at: Int(adoption.resource))
        case .unpinned:
            let keep = unpinned[Int(entry.position)]
            return tables[Int(keep.manifest)].target(at: Int(keep.resource))
        case .removal: return orphans.target(at: Int(entry.position))
        case .other: return others[Int(entry.position)].target
        }
    }

    /// Returns the manifest and resource of a step. Returns nil if the target is no longer wanted.
    func resource(at position: Int) -> (manifest: Int, resource: Int)? {
        let entry = entries[position]
        switch entry.kind {
        case .keep, .fetch: return (entry.manifest, Int(entry.position))
        case .adoption:
            let adoption = adoptions[Int(entry.position)]
            return (adoption.manifest, Int(adoption.resource))
        case .unpinned:
            let keep = unpinned[Int(entry.position)]
            return (Int(keep.manifest), Int(keep.resource))
        case .removal: return nil
        case .other:
            let step = others[Int(entry.position)]
            return step.resource.map { (step.manifest, $0) }
        }
    }

    /// Returns the manifest and resource of a step that sends a request, without building it.
    ///
    /// Returns nil if the step sends no request.
    func request(at position: Int) -> (manifest: Int, resource: Int)? {
        let entry = entries[position]
        let asks =
            entry.kind == .fetch
            || entry.kind == .other && others[Int(entry.position)].needsNetwork
        return asks ? resource(at: position) : nil
    }

    /// Returns the position of the step for a target. Returns nil if there is no such step.
    public func position(of target: Target) -> Int? {
        let position = indices.partitioningIndex(where: { self.target(at: $0) >= target })
        return position < count && self.target(at: position) == target ? position : nil
    }
}

extension StepList: RandomAccessCollection {
    /// The position of the first step: 0.
    public var startIndex: Int { 0 }
    /// How many steps there are.
    public var endIndex: Int { entries.count }

    /// The step at a position.
    public subscript(position: Int) -> Step {
        let entry = entries[position]
        switch entry.kind {
        case .other: return others[Int(entry.position)]
        case .removal: return removal(of: orphans[Int(entry.position)])
        case .fetch: return fetch(manifest: entry.manifest, resource: Int(entry.position))
        case .keep:
            if let step = keep(manifest: entry.manifest, resource: Int(entry.position)) {
                return step
            }
        case .adoption: if let step = step(adoptions[Int(entry.position)]) { return step }
        case .unpinned: if let step = step(unpinned[Int(entry.position)]) { return step }
        }
        // `append` uses these kinds only for resources that have a digest.
        preconditionFailure("a plain step without a digest")
    }

    private func fetch(manifest: Int, resource: Int) -> Step {
        Step(
            target: tables[manifest].target(at: resource), manifest: manifest, resource: resource,
            decision: .plainFetch, size: tables[manifest].expectedSize(at: resource))
    }

    private func removal(of orphan: OrphanTable.Element) -> Step {
        Step(
            target: orphan.target, manifest: orphan.manifest, resource: nil, kind: .remove,
            reason: .orphan(of: owners[orphan.manifest]), means: .removal,
            existing: .ours(orphan.stamp, sha256: orphan.sha256), size: orphan.stamp.size)
    }

    /// Returns the step that keeps a resource's file.
    ///
    /// Returns nil if the resource is not pinned by one sha256 alone.
    private func keep(manifest: Int, resource: Int) -> Step? {
        guard let sha256 = tables[manifest].onlyDigest(at: resource), sha256.algorithm == .sha256
        else { return nil }
        return Step(
            target: tables[manifest].target(at: resource), manifest: manifest, resource: resource,
            kind: .keep, reason: .intact, means: .nothing, existing: .recorded(sha256: sha256),
            size: tables[manifest].size(at: resource))
    }

    private func step(_ adoption: Adoption) -> Step? {
        guard var step = keep(manifest: adoption.manifest, resource: Int(adoption.resource)),
            case .recorded(let sha256) = step.existing, let size = step.size
        else { return nil }
        step.reason = adoption.reason { formerOwners.values[$0] }
        step.means = .adoption(sha256: sha256)
        step.existing = .ours(adoption.stamp(size: size), sha256: sha256)
        return step
    }

    private func step(_ keep: UnpinnedKeep) -> Step? {
        guard let sha256 = keep.digest else { return nil }
        return Step(
            target: tables[Int(keep.manifest)].target(at: Int(keep.resource)),
            manifest: Int(keep.manifest), resource: Int(keep.resource), kind: .keep,
            reason: keep.reason, means: .nothing, existing: .recorded(sha256: sha256),
            size: keep.size)
    }
}

/// A step in eight bytes: its form, and the position of what the form refers to.
struct StepSlot {
    /// The position of what the form refers to.
    ///
    /// For a keep or a fetch this is the resource in its manifest. Otherwise it is the step among
    /// the adoptions, the unpinned keeps, the orphans or the others.
    var position: UInt32
    /// One of the four greatest numbers for an adoption, unpinned keep, removal or other step.
    ///
    /// Otherwise the manifest's position doubled for a keep, and 1 more for a fetch.
    private var form: UInt32

    enum Form { case keep, fetch, adoption, unpinned, removal, other }

    init(_ form: Form, _ position: Int, manifest: Int = 0) {
        self.position = UInt32(position)
        self.form =
            switch form {
            case .keep: UInt32(manifest) << 1
            case .fetch: UInt32(manifest) << 1 | 1
            case .removal: .max - 3
            case .unpinned: .max - 2
            case .adoption: .max - 1
            case .other: .max
            }
    }

    var manifest: Int { Int(form >> 1) }

    var kind: Form {
        switch form {
        case .max: return .other
        case .max - 1: return .adoption
        case .max - 2: return .unpinned
        case .max - 3: return .removal
        default: return form & 1 == 1 ? .fetch : .keep
        }
    }
}

/// The step for a file that has the wanted bytes but not the right row, in 32 bytes.
///
/// The size and the digest are the resource's.
struct Adoption: Sendable {
    private var manifestAndReason: UInt32
    let resource: UInt32
    private let modified: Int64
    private let changed: Int64
    private let inode: UInt64

    /// The reasons with the numbers 0 to 4. Greater numbers, below 4,096, stand for owners.
    private static let reasons: [Reason] = [
        .touched, .unrecorded, .modeChanged(isExecutable: false), .modeChanged(isExecutable: true),
        .proven,
    ]

    /// How many owners have a number.
    static let mostOwners = (1 << 12) - reasons.count

    /// Makes the short form of a step; `number` numbers owners.
    ///
    /// Returns nil for steps of other kinds, and if a number is too great.
    init?(_ step: Step, of resource: Int, number: (String) -> Int) {
        guard case .adoption = step.means, case .ours(let stamp, _) = step.existing else {
            return nil
        }
        var reason = Adoption.reasons.firstIndex(of: step.reason)
        if let label = Adoption.label(of: step.reason) {
            reason = Adoption.reasons.count + number(label)
        }
        guard let reason, reason < 1 << 12, step.manifest < 1 << 20 else { return nil }
        manifestAndReason = UInt32(step.manifest) << 12 | UInt32(reason)
        self.resource = UInt32(resource)
        (modified, changed, inode) = (stamp.modified, stamp.changed, stamp.inode)
    }

    var manifest: Int { Int(manifestAndReason >> 12) }

    private var reasonNumber: Int { Int(manifestAndReason & 0xFFF) }

    /// Returns why the file is adopted; `owner` returns the owner of a number.
    func reason(owner: (Int) -> String) -> Reason {
        let former = reasonNumber - Adoption.reasons.count
        return former < 0 ? Adoption.reasons[reasonNumber] : Adoption.reason(owner(former))
    }

    /// Returns the text of a reason that names owners; U+001F at its start marks present owners.
    ///
    /// Returns nil for other reasons.
    private static func label(of reason: Reason) -> String? {
        switch reason {
        case .ownedBefore(let owner): owner
        case .ownedTogether(let owners): "\u{1F}" + owners.text
        default: nil
        }
    }

    private static func reason(_ label: String) -> Reason {
        label.utf8.first == 0x1F
            ? .ownedTogether(by: Owners(text: String(label.unicodeScalars.dropFirst())))
            : .ownedBefore(by: label)
    }

    /// Returns the same adoption with another number for the owner that its reason names.
    func renumbered(_ number: (Int) -> Int) -> Adoption {
        let former = reasonNumber - Adoption.reasons.count
        guard former >= 0 else { return self }
        var adoption = self
        adoption.manifestAndReason =
            manifestAndReason & ~0xFFF | UInt32(Adoption.reasons.count + number(former))
        return adoption
    }

    func stamp(size: Int64) -> FileStamp {
        FileStamp(size: size, modified: modified, changed: changed, inode: inode)
    }
}

/// The step for a file that stays as it is although no digest pins it, in 56 bytes.
///
/// The digest and the size are those that the index knows.
struct UnpinnedKeep: Sendable {
    let manifest: UInt32
    let resource: UInt32
    let size: Int64
    /// Milliseconds since the epoch until which the file is fresh; `forEver` without an end.
    private let freshUntil: Int64
    private let sha256: (UInt64, UInt64, UInt64, UInt64)

    private static let forEver = Int64.max

    /// Returns nil for steps of other kinds.
    init?(_ step: Step, of resource: Int) {
        guard step.kind == .keep, step.means == .nothing, let size = step.size,
            case .recorded(let digest) = step.existing, digest.algorithm == .sha256
        else { return nil }
        switch step.reason {
        case .intact: freshUntil = UnpinnedKeep.forEver
        case .fresh(let until): freshUntil = until.milliseconds
        default: return nil
        }
        manifest = UInt32(step.manifest)
        self.resource = UInt32(resource)
        self.size = size
        var sha256: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        withUnsafeMutableBytes(of: &sha256) { $0.copyBytes(from: digest.bytes) }
        self.sha256 = sha256
    }

    var reason: Reason {
        freshUntil == UnpinnedKeep.forEver
            ? .intact : .fresh(until: Instant(milliseconds: freshUntil))
    }

    var digest: Digest? {
        withUnsafeBytes(of: sha256) { Digest(.sha256, bytes: Array($0)) }
    }
}
