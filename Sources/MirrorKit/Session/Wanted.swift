internal import MirrorModel

/// The resources of all manifests of a run in the order of their targets' bytes.
///
/// Index and tree come in the same order, so that the three are merged in one pass. An entry is eight
/// bytes; the resource itself stays in its manifest's table.
struct Wanted: Sendable {
    /// A resource: a position in the list of manifests, and one in that manifest.
    struct Entry: Sendable {
        var manifest: Int32
        var resource: Int32
    }

    let manifests: [Manifest]
    /// The selected resources, sorted.
    private(set) var entries: [Entry] = []
    /// How many resources `--only` and `--skip` left out.
    private(set) var skipped = 0
    /// Targets that a server named in an earlier run, where the manifest leaves the name to it.
    private var remembered: [Int64: Target] = [:]

    /// Selects and sorts. Throws `manifestInvalid` when the targets of two manifests cannot stand
    /// beside each other.
    init(_ manifests: [Manifest], options: PlanOptions, index: Index?) throws {
        self.manifests = manifests
        let selectsAll = options.only.isEmpty && options.skip.isEmpty
        for (position, manifest) in manifests.enumerated() {
            for number in manifest.resources.indices {
                let entry = Entry(manifest: Int32(position), resource: Int32(number))
                if selectsAll && !manifest.resources.isNamedByServer(at: number) {
                    entries.append(entry)
                    continue
                }
                let resource = manifest.resources[number]
                guard Wanted.selects(resource, options) else {
                    skipped += 1
                    continue
                }
                entries.append(entry)
                if resource.isNamedByServer,
                    let name = try index?.serverName(
                        owner: manifest.owner, folder: resource.target.folder,
                        source: SourceKey(resource.primary.url))
                {
                    remembered[Wanted.key(entry)] = name
                }
            }
        }
        sort()
        try refuseEqualTargets()
        if manifests.count > 1 { try refuseCollisions() }
    }

    /// The target of an entry, as it is known now.
    func target(of entry: Entry) -> Target {
        if !remembered.isEmpty, let name = remembered[Wanted.key(entry)] { return name }
        return manifests[Int(entry.manifest)].resources.target(at: Int(entry.resource))
    }

    /// The resource of an entry, with its target as it is known now.
    func resource(of entry: Entry) -> Resource {
        var resource = manifests[Int(entry.manifest)].resources[Int(entry.resource)]
        if !remembered.isEmpty, let name = remembered[Wanted.key(entry)] { resource.target = name }
        return resource
    }

    private static func key(_ entry: Entry) -> Int64 {
        Int64(entry.manifest) << 32 | Int64(entry.resource)
    }

    private static func selects(_ resource: Resource, _ options: PlanOptions) -> Bool {
        if resource.tags.contains(where: options.skip.contains) { return false }
        return options.only.isEmpty || resource.tags.contains(where: options.only.contains)
    }

    private mutating func sort() {
        let isSorted = zip(entries, entries.dropFirst()).allSatisfy {
            target(of: $0) < target(of: $1)
        }
        guard !isSorted else { return }
        let sorted = entries.sorted { target(of: $0) < target(of: $1) }
        entries = sorted
    }

    private func refuseEqualTargets() throws {
        for (left, right) in zip(entries, entries.dropFirst())
        where target(of: left) == target(of: right) {
            let owners = [left, right].map { manifests[Int($0.manifest)].owner }
            let target = target(of: left)
            throw MirrorError(
                .manifestInvalid,
                owners[0] == owners[1]
                    ? "\(target): two resources of \(owners[0]) have this target. Give one a path."
                    : "\(target): wanted by \(owners[0]) and by \(owners[1]). Name it in one of them.",
                target: target)
        }
    }

    /// A manifest's own collisions were refused when it was read; these are between manifests.
    private func refuseCollisions() throws {
        let all = Manifest(
            name: nil, owner: "", resources: ResourceTable(entries.lazy.map(resource(of:))))
        for flaw in all.flaws() {
            if case .twoDigests = flaw { continue }
            let pair = [flaw.otherPosition, flaw.position].map { entries[$0] }
            guard pair[0].manifest != pair[1].manifest else { continue }
            let names = pair.map {
                "\(target(of: $0)) (wanted by \(manifests[Int($0.manifest)].owner))"
            }
            let why =
                if case .targetIsFolder = flaw {
                    "one would be a file and the folder of the other"
                } else { "they differ only in case or in how accents are written" }
            throw MirrorError(
                .manifestInvalid,
                "\(names[0]) and \(names[1]) cannot stand beside each other: \(why). Rename one.",
                target: target(of: pair[1]))
        }
    }
}
