/// The steps of a plan in the order of their targets' bytes: eight bytes for one that says nothing new.
///
/// Most of a million files stay as they are, and most of the others are simply fetched. Such a step
/// says nothing that its manifest's resource does not, so the list keeps only the resource's position
/// and builds the step on demand. An adopted file also keeps its stamp, a file kept without a pin keeps
/// its row's facts, and a removed file keeps its position among the orphans. The list stores every
/// other step whole.
public struct StepList: Sendable {
    private var tables: [ResourceTable]
    private var owners: [String]
    private var orphans = OrphanTable()
    private var entries = BlockArray<StepSlot>()
    private var adoptions = BlockArray<Adoption>()
    private var unpinned = BlockArray<UnpinnedKeep>()
    private var others = BlockArray<Step>()
    /// The owners that adopted files were of before.
    private var formerOwners = InternTable<String>()
    /// How many steps leave a file as it is and say nothing that its resource does not.
    public private(set) var plainKeeps = 0

    /// A list that puts steps together from the resources of manifests.
    public init(of manifests: [Manifest] = []) {
        tables = manifests.map(\.resources)
        owners = manifests.map(\.owner)
    }

    /// A list of steps as they are.
    public init(_ steps: some Sequence<Step>) {
        self.init()
        for step in steps { append(step) }
    }

    /// Adds a step at the end, in the shortest form that says the same.
    public mutating func append(_ step: Step) {
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

    /// Adds a step that has no shorter form.
    package mutating func appendWhole(_ step: Step) {
        entries.append(StepSlot(.other, others.count))
        others.append(step)
    }

    /// Adds the step for a file that stays as it is; its resource must be pinned by one sha256 and
    /// have a size.
    package mutating func appendPlainKeep(manifest: Int, resource: Int) {
        entries.append(StepSlot(.keep, resource, manifest: manifest))
        plainKeeps += 1
    }

    /// Adds the step that fetches a resource whole, because nothing is there and nothing is known.
    package mutating func appendPlainFetch(manifest: Int, resource: Int) {
        entries.append(StepSlot(.fetch, resource, manifest: manifest))
    }

    /// Takes the orphans that `appendRemoval` names by their positions; there must be none before.
    package mutating func take(_ orphans: OrphanTable) { self.orphans = orphans }

    /// Adds the step that removes an orphan.
    package mutating func appendRemoval(ofOrphan position: Int) {
        entries.append(StepSlot(.removal, position))
    }

    /// Adds the steps of a list over the same manifests, and frees that list as it goes.
    package mutating func append(contentsOf list: consuming StepList) {
        if isEmpty, orphans.isEmpty { return self = list }
        // Together they might have more owners than there are numbers for, and orphans have theirs.
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
    package mutating func append(stepAt position: Int, of list: StepList) {
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

    /// Puts another step in the place of one.
    package mutating func replace(at position: Int, with step: Step) {
        let old = entries[position]
        switch old.kind {
        case .other: return others[Int(old.position)] = step
        case .keep: plainKeeps -= 1
        case .fetch, .adoption, .unpinned, .removal: break
        }
        entries[position] = StepSlot(.other, others.count)
        others.append(step)
    }

    /// Whether the step at a position leaves a file as it is and says nothing that its resource
    /// does not.
    public func isPlainKeep(at position: Int) -> Bool { entries[position].kind == .keep }

    /// Whether the step at a position removes a file.
    package func isRemoval(at position: Int) -> Bool {
        let entry = entries[position]
        return entry.kind == .removal
            || entry.kind == .other && others[Int(entry.position)].means == .removal
    }

    /// Whether the step at a position removes a file for room.
    package func isEviction(at position: Int) -> Bool {
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

    /// The resource that a step fetches whole because nothing is there; nil for other steps. Most
    /// steps of a first run are of this form, and this call builds none of them.
    ///
    /// The size is the declared one, in bytes.
    package func plainFetch(at position: Int) -> (manifest: Int, resource: Int, size: Int64?)? {
        let entry = entries[position]
        guard entry.kind == .fetch else { return nil }
        let resource = Int(entry.position)
        return (entry.manifest, resource, tables[entry.manifest].expectedSize(at: resource))
    }

    /// The row of a step, as far as it is known: a plain fetch is of a target without one.
    func plannedRow(at position: Int, of step: Step) -> PlannedRow {
        if entries[position].kind == .fetch { return .none }
        return step.decision.row.map { .row($0) } ?? .unread
    }

    /// The area of a resource's target; the target itself is not built.
    package func area(ofResource resource: Int, in manifest: Int) -> Area {
        tables[manifest].withPath(at: resource) {
            Target.area(ofPathBeginningWith: $0.first)
        }
    }

    /// The positions of all steps but the plain keeps.
    public var notable: some Sequence<Int> { indices.lazy.filter { !isPlainKeep(at: $0) } }

    /// The target of one step; the step itself is not built.
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

    /// Which resource of which manifest one step is for; nil for a target that is no longer wanted.
    package func resource(at position: Int) -> (manifest: Int, resource: Int)? {
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

    /// Which resource of which manifest a step asks a server for; nil for a step without a request. The
    /// step itself is not built.
    package func request(at position: Int) -> (manifest: Int, resource: Int)? {
        let entry = entries[position]
        let asks =
            entry.kind == .fetch
            || entry.kind == .other && others[Int(entry.position)].needsNetwork
        return asks ? resource(at: position) : nil
    }

    /// The position of the step for a target; nil when there is none.
    public func position(of target: Target) -> Int? {
        let position = indices.first(sortedWhere: { self.target(at: $0) >= target })
        return position < count && self.target(at: position) == target ? position : nil
    }
}

extension StepList: RandomAccessCollection {
    /// 0.
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
        // Only steps whose resource has a digest were put in under these kinds.
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

    /// The step that keeps what a resource is pinned by; nil where it has no digest, or several.
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

/// A step in eight bytes: its form, and where the rest of it is.
struct StepSlot {
    /// The position of the resource in its manifest, or of the step among the adoptions, the
    /// unpinned keeps, the orphans or the others.
    var position: UInt32
    /// One of the four greatest numbers for those, or the manifest's number doubled, and 1
    /// more for a fetch.
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

/// The step for a file whose bytes are the wanted ones, but not its row: 32 bytes. The size is the
/// resource's, and so is the digest.
struct Adoption: Sendable {
    private var manifestAndReason: UInt32
    let resource: UInt32
    private let modified: Int64
    private let changed: Int64
    private let inode: UInt64

    /// A reason is a number below 4,096: the first five stand for these reasons, the others for
    /// former owners.
    private static let reasons: [Reason] = [
        .touched, .unrecorded, .modeChanged(isExecutable: false), .modeChanged(isExecutable: true),
        .proven,
    ]

    /// How many owners have a number.
    static let mostOwners = (1 << 12) - reasons.count

    /// Nil for steps of other kinds, and where a number is too great; `number` numbers owners.
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

    /// Why the file is adopted; `owner` names an owner before by its number.
    func reason(owner: (Int) -> String) -> Reason {
        let former = reasonNumber - Adoption.reasons.count
        return former < 0 ? Adoption.reasons[reasonNumber] : Adoption.reason(owner(former))
    }

    /// The number of a reason that names owners; one bit tells former owners from present ones.
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

    /// The same, with another number for the owner before.
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

/// The step for a file that stays as it is though nothing pins it: 56 bytes. The digest and the size
/// are what the index knows.
struct UnpinnedKeep: Sendable {
    let manifest: UInt32
    let resource: UInt32
    let size: Int64
    /// Milliseconds since the epoch until which the file is fresh; `forEver` where no request will follow.
    private let freshUntil: Int64
    private let sha256: (UInt64, UInt64, UInt64, UInt64)

    private static let forEver = Int64.max

    /// Nil for steps of other kinds.
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
