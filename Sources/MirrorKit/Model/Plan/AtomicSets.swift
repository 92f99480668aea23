/// The sets of a plan: steps whose targets are promoted together, or not at all.
///
/// A set is an atomic manifest. Atomic manifests that share a target are one set, because neither
/// could be complete without the other.
package struct AtomicSets: Sendable {
    /// A set of a plan.
    package struct Entry: Sendable, Hashable {
        /// The names of the set's manifests, in the order in which the caller gave them.
        package var owners: [String]
        /// The folder below an area that has all files of the set, and no other target.
        ///
        /// `nil` means that there is no such folder.
        package var folder: String?
    }

    /// The sets, in the order of their first manifests.
    package private(set) var entries: [Entry] = []
    /// Whether the bytes of all files that a set needs and must fetch are on this machine.
    private(set) var hasBytesHere: [Bool] = []
    /// The number of each manifest's set, by the manifest's position in the plan.
    private var byManifest: [Int: Int] = [:]
    /// The set of a step whose own manifest is in no set, by the step's position.
    private var byPosition: [Int: Int] = [:]

    /// Finds the sets of a plan. Without an atomic manifest it looks at the manifests only.
    package init(_ plan: Plan) {
        guard plan.manifests.contains(where: \.isAtomic) else { return }
        join(plan)
        for position in plan.steps.indices where set(of: position, in: plan) == nil {
            if let set = sharedSet(of: position, in: plan) { byPosition[position] = set }
        }
        findFolders(plan)
        findBytes(plan)
    }

    /// Whether the plan has no set.
    var isEmpty: Bool { entries.isEmpty }

    /// Returns the number of a step's set. Returns nil if the step belongs to no set.
    func set(of position: Int, in plan: Plan) -> Int? {
        // A step that evicts a file belongs to no set, whatever its manifest is.
        if entries.isEmpty || plan.steps.isEviction(at: position) { return nil }
        if let set = byPosition[position] { return set }
        return byManifest[plan.steps.manifest(at: position)]
    }

    /// Gives each atomic manifest a set. Manifests that share a target get the same set.
    private mutating func join(_ plan: Plan) {
        var first = Array(plan.manifests.indices)
        let byOwner = Dictionary(
            plan.manifests.enumerated().filter(\.element.isAtomic).map { ($1.owner, $0) },
            uniquingKeysWith: { old, _ in old })
        for position in plan.steps.indices {
            let sharing = Set(
                owners(of: position, in: plan).compactMap { byOwner[$0] }.map { first[$0] })
            guard sharing.count > 1, let least = sharing.min() else { continue }
            for manifest in first.indices where sharing.contains(first[manifest]) {
                first[manifest] = least
            }
        }
        var numbers: [Int: Int] = [:]
        for (position, manifest) in plan.manifests.enumerated() where manifest.isAtomic {
            let number = numbers[first[position]] ?? entries.count
            if number == entries.count {
                numbers[first[position]] = number
                entries.append(Entry(owners: [], folder: nil))
            }
            entries[number].owners.append(manifest.owner)
            byManifest[position] = number
        }
    }

    /// Returns the owners of a step's target if there are several, otherwise an empty list.
    private func owners(of position: Int, in plan: Plan) -> [String] {
        if plan.owners.isEmpty, plan.steps.isPlainKeep(at: position) { return [] }
        let target = plan.steps.target(at: position)
        if let owners = plan.owners[target] { return owners.isShared ? owners.names : [] }
        guard !plan.steps.isPlainKeep(at: position),
            case .ownedTogether(let owners) = plan.steps[position].reason
        else { return [] }
        return owners.names
    }

    private func sharedSet(of position: Int, in plan: Plan) -> Int? {
        let names = owners(of: position, in: plan)
        return entries.indices.first { !Set(entries[$0].owners).isDisjoint(with: names) }
    }

    private mutating func findBytes(_ plan: Plan) {
        hasBytesHere = entries.map { _ in true }
        for position in plan.steps.indices {
            guard let set = set(of: position, in: plan), hasBytesHere[set],
                plan.steps.request(at: position) != nil, !plan.hasBytesHere(position)
            else { continue }
            hasBytesHere[set] = plan.resource(of: plan.steps[position])?.isOptional == true
        }
    }

    private mutating func findFolders(_ plan: Plan) {
        var folders: [String?] = entries.map { _ in nil }
        var isAlone = entries.map { _ in true }
        for position in plan.steps.indices {
            guard let set = set(of: position, in: plan) else { continue }
            let folder = plan.steps.target(at: position).folder
            folders[set] = folders[set].map { PathText.commonFolder($0, folder) } ?? folder
            if owners(of: position, in: plan).count > 1 { isAlone[set] = false }
        }
        for (set, folder) in folders.enumerated() {
            // mirror does not exchange a whole area, because an area has files of all manifests.
            guard let folder, isAlone[set], folder.utf8.contains(UInt8(ascii: "/")) else {
                continue
            }
            entries[set].folder = folder
        }
        for position in plan.steps.indices {
            let target = plan.steps.target(at: position)
            let own = set(of: position, in: plan)
            for (set, entry) in entries.enumerated() where set != own {
                if let folder = entry.folder, target.path.utf8.starts(with: (folder + "/").utf8) {
                    entries[set].folder = nil
                }
            }
        }
    }
}

extension PathText {
    /// Returns the longest path of whole components that both paths begin with.
    static func commonFolder(_ left: String, _ right: String) -> String {
        let pairs = zip(left.parts(at: "/"), right.parts(at: "/"))
        let common = pairs.prefix { $0.utf8.elementsEqual($1.utf8) }.map { String($0.0) }
        return common.joined(separator: "/")
    }
}

extension StepList {
    /// Returns the position of the manifest that a step belongs to.
    func manifest(at position: Int) -> Int {
        resource(at: position)?.manifest ?? self[position].manifest
    }
}
