/// The steps of a plan in the order of their targets' bytes: eight bytes for one that says nothing new.
///
/// Of a million files most stay as they are, and most of those that do not are simply fetched. What
/// such a step says is in its manifest's resource already, so only the resource's place is kept, and
/// the step is put together when it is asked for. Every other step is kept as it is.
public struct StepList: Sendable {
    private var tables: [ResourceTable]
    private var entries = BlockArray<Entry>()
    private var others = BlockArray<Step>()
    /// How many steps leave a file as it is and say nothing that its resource does not.
    public private(set) var plainKeeps = 0

    private struct Entry {
        /// The position of the resource in its manifest, or of the step among the others.
        var position: UInt32
        /// `other`, or the manifest's number doubled, and 1 more for a fetch.
        var form: UInt32

        static let other = UInt32.max

        var manifest: Int { Int(form >> 1) }
        var isFetch: Bool { form & 1 == 1 }
    }

    /// A list that puts steps together from the resources of manifests.
    public init(of manifests: [Manifest] = []) {
        tables = manifests.map(\.resources)
    }

    /// A list of steps as they are.
    public init(_ steps: some Sequence<Step>) {
        self.init()
        for step in steps { append(step) }
    }

    /// Adds a step at the end.
    public mutating func append(_ step: Step) {
        entries.append(Entry(position: UInt32(others.count), form: Entry.other))
        others.append(step)
    }

    /// Adds the step for a file that stays as it is; its resource must be pinned by one sha256 and
    /// have a size.
    package mutating func appendPlainKeep(manifest: Int, resource: Int) {
        entries.append(Entry(position: UInt32(resource), form: UInt32(manifest) << 1))
        plainKeeps += 1
    }

    /// Adds the step that fetches a resource whole, because nothing is there.
    package mutating func appendPlainFetch(manifest: Int, resource: Int) {
        entries.append(Entry(position: UInt32(resource), form: UInt32(manifest) << 1 | 1))
    }

    /// Adds the steps of a list over the same manifests.
    package mutating func append(contentsOf list: StepList) {
        if isEmpty { return self = list }
        for position in list.indices { append(stepAt: position, of: list) }
    }

    /// Adds one step of a list over the same manifests.
    package mutating func append(stepAt position: Int, of list: StepList) {
        let entry = list.entries[position]
        if entry.form == Entry.other { return append(list.others[Int(entry.position)]) }
        entries.append(entry)
        if !entry.isFetch { plainKeeps += 1 }
    }

    /// Puts another step in the place of one.
    package mutating func replace(at position: Int, with step: Step) {
        let old = entries[position]
        if old.form == Entry.other {
            others[Int(old.position)] = step
            return
        }
        if !old.isFetch { plainKeeps -= 1 }
        entries[position] = Entry(position: UInt32(others.count), form: Entry.other)
        others.append(step)
    }

    /// Whether the step at a position leaves a file as it is and says nothing that its resource
    /// does not.
    public func isPlainKeep(at position: Int) -> Bool {
        let form = entries[position].form
        return form != Entry.other && form & 1 == 0
    }

    /// The positions of all steps but the plain keeps.
    public var notable: some Sequence<Int> { indices.lazy.filter { !isPlainKeep(at: $0) } }

    /// The target of one step, without the rest of it.
    public func target(at position: Int) -> Target {
        let entry = entries[position]
        if entry.form == Entry.other { return others[Int(entry.position)].target }
        return tables[entry.manifest].target(at: Int(entry.position))
    }

    /// The position of the step for a target; nil when there is none.
    public func position(of target: Target) -> Int? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self.target(at: middle) < target { low = middle + 1 } else { high = middle }
        }
        return low < count && self.target(at: low) == target ? low : nil
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
        if entry.form == Entry.other { return others[Int(entry.position)] }
        let table = tables[entry.manifest]
        let resource = Int(entry.position)
        let size = table.size(at: resource)
        let target = table.target(at: resource)
        if entry.isFetch {
            return Step(
                target: target, manifest: entry.manifest, resource: resource, kind: .fetch,
                reason: .missing, means: .transfer(part: nil, ifChangedSince: nil),
                occupant: .nothing, size: size)
        }
        guard let sha256 = table.onlyDigest(at: resource) else {
            preconditionFailure("a plain keep without a digest")
        }
        return Step(
            target: target, manifest: entry.manifest, resource: resource, kind: .keep,
            reason: .intact, means: .nothing, occupant: .recorded(sha256: sha256), size: size)
    }
}
