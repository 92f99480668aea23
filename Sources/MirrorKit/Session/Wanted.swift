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

    /// The manifests' owners as bytes, and their resources.
    private let owners: [[UInt8]]
    private let tables: [ResourceTable]

    /// Selects and sorts. Throws `manifestInvalid` when the targets of two manifests cannot stand
    /// beside each other.
    init(_ manifests: [Manifest], options: PlanOptions, index: Index?) throws {
        self.manifests = manifests
        owners = manifests.map { Array($0.owner.utf8) }
        tables = manifests.map(\.resources)
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
        if manifests.count == 1, selectsAll, remembered.isEmpty {
            entries = manifests[0].resources.sortedOrder.map {
                Entry(manifest: 0, resource: Int32($0))
            }
        } else {
            sort()
        }
        // The targets of one manifest were held against each other when it was read.
        let isOneDecoded = manifests.count == 1 && manifests[0].whereabouts != .code
        if !isOneDecoded || !remembered.isEmpty { try refuseEqualTargets() }
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

    /// Compares an entry's target with a path, by bytes: negative, zero or positive.
    func compare(_ entry: Entry, with path: UnsafeBufferPointer<UInt8>) -> Int {
        withPath(of: entry) { ByteOrder.compare($0, path) }
    }

    /// Whether the version that a row speaks of is all that an entry asks for.
    func isPlainlySatisfied(_ entry: Entry, by row: BriefRow) -> Bool {
        let owner = owners[Int(entry.manifest)]
        return owner.withUnsafeBufferPointer { ByteOrder.compare($0, row.owner) == 0 }
            && tables[Int(entry.manifest)].isPlainlySatisfied(
                at: Int(entry.resource), bySize: row.stamp.size, sha256: row.sha256,
                isExecutable: row.isExecutable)
    }

    /// Whether a server may name an entry's file.
    func isNamedByServer(_ entry: Entry) -> Bool {
        tables[Int(entry.manifest)].isNamedByServer(at: Int(entry.resource))
    }

    private static func key(_ entry: Entry) -> Int64 {
        Int64(entry.manifest) << 32 | Int64(entry.resource)
    }

    private static func selects(_ resource: Resource, _ options: PlanOptions) -> Bool {
        if resource.tags.contains(where: options.skip.contains) { return false }
        return options.only.isEmpty || resource.tags.contains(where: options.only.contains)
    }

    private mutating func sort() {
        let isSorted = zip(entries, entries.dropFirst()).allSatisfy { compare($0, $1) < 0 }
        guard !isSorted else { return }
        let sorted = entries.sorted { compare($0, $1) < 0 }
        entries = sorted
    }

    private func compare(_ first: Entry, _ second: Entry) -> Int {
        withPath(of: second) { compare(first, with: $0) }
    }

    private func withPath<Result>(
        of entry: Entry, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        if !remembered.isEmpty, let name = remembered[Wanted.key(entry)] {
            var path = name.path
            return path.withUTF8(body)
        }
        return tables[Int(entry.manifest)].withPath(at: Int(entry.resource), body)
    }

    private func refuseEqualTargets() throws {
        for (left, right) in zip(entries, entries.dropFirst())
        where compare(left, right) == 0 {
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
        for flaw in collisions().sorted(by: { $0.position < $1.position }) {
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

extension Wanted: PathList {
    /// The entries are sorted.
    var sortedOrder: [Int] { Array(entries.indices) }

    func withPath<Result>(
        at position: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        withPath(of: entries[position], body)
    }
}
