/// The resources of all manifests of a run in the order of their targets' bytes.
///
/// The rows of the index and the files have the same order, so one pass merges all three. An entry
/// takes eight bytes; the resource itself stays in its manifest's table.
struct Wanted: Sendable {
    /// A resource, by the position of its manifest in `manifests` and its own position in that
    /// manifest.
    struct Reference: Sendable {
        var manifest: Int32
        var resource: Int32
    }

    let manifests: [Manifest]
    private let shard: Shard
    /// The selected resources of the shard, sorted.
    private(set) var entries: [Reference] = []
    /// The number of resources that the selections left out.
    private(set) var skipped = 0
    /// The resources that their manifests' selections leave out, sorted: their files are no
    /// orphans.
    private var unselected: [Reference] = []
    /// Targets that a server named in an earlier run, for the entries whose name a server chooses.
    private var remembered: [Int64: Target] = [:]

    /// Targets for which two manifests want different files. The entry is the first manifest's.
    private(set) var disputes: [TargetDispute] = []
    /// The other manifests that want an entry's target, by the entry's key.
    private var sharers: [Int64: [Int32]] = [:]

    /// The name of each manifest as bytes, and the resources of each, by the positions in
    /// `manifests`.
    private let owners: [[UInt8]]
    private let tables: [ResourceTable]

    /// Selects and sorts the resources.
    ///
    /// Throws `manifestInvalid` for a manifest made in code that breaks a rule, and for targets of
    /// two manifests that cannot exist side by side. Throws `usage` for wrong options.
    ///
    /// - Parameter shard: the shard whose resources are selected. The others are as if they were
    ///   not in the manifests.
    init(
        _ manifests: [Manifest], options: PlanOptions, of shard: Shard, index: Index?
    ) throws {
        for manifest in manifests { try manifest.validate() }
        try options.validate()
        try shard.refuseSets(in: manifests)
        self.manifests = manifests
        self.shard = shard
        owners = manifests.map { Array(Owners($0.owner).text.utf8) }
        tables = manifests.map(\.resources)
        try Wanted.refuseEqualNames(manifests)
        for (position, manifest) in manifests.enumerated() {
            // A target that the caller asks for is wanted, whatever the root remembers.
            let selection = options.asked.isEmpty ? manifest.selection : Selection()
            let unselected = selection.leftOut(of: manifest.resources)
            let narrowed = options.selection.leftOut(of: manifest.resources)
            let selectsAll = unselected.isEmpty && narrowed.isEmpty
            for number in manifest.resources.indices {
                let entry = Reference(manifest: Int32(position), resource: Int32(number))
                if !shard.isWhole, !manifest.resources.isOf(shard, at: number) { continue }
                if selectsAll && !manifest.resources.isNamedByServer(at: number) {
                    entries.append(entry)
                    continue
                }
                if unselected.contains(number) {
                    skipped += 1
                    self.unselected.append(entry)
                } else if narrowed.contains(number) {
                    skipped += 1
                    continue
                } else {
                    entries.append(entry)
                }
                if manifest.resources.isNamedByServer(at: number),
                    let name = try index?.serverName(
                        of: manifest.serverNameKey(of: manifest.resources[number]))
                {
                    remembered[Wanted.key(entry)] = name
                }
            }
        }
        if !options.asked.isEmpty {
            let selected = entries.filter { options.asked.contains(target(of: $0)) }
            entries = selected
        }
        if manifests.count == 1, skipped == 0, options.asked.isEmpty, remembered.isEmpty,
            shard.isWhole
        {
            entries = manifests[0].resources.sortedOrder.map {
                Reference(manifest: 0, resource: Int32($0))
            }
        } else {
            entries = sorted(entries)
        }
        unselected = sorted(unselected)
        // Validation has already compared the targets of each manifest with each other.
        if manifests.count > 1 || !remembered.isEmpty { try mergeEqualTargets() }
        if manifests.count > 1 { try refuseCollisions() }
    }

    /// The target of an entry; for a name that the server chooses, the remembered target if there
    /// is one.
    func target(of entry: Reference) -> Target {
        if !remembered.isEmpty, let name = remembered[Wanted.key(entry)] { return name }
        return manifests[Int(entry.manifest)].resources.target(at: Int(entry.resource))
    }

    /// The resource of an entry, with the target that `target(of:)` returns.
    func resource(of entry: Reference) -> Resource {
        var resource = manifests[Int(entry.manifest)].resources[Int(entry.resource)]
        if !remembered.isEmpty, let name = remembered[Wanted.key(entry)] { resource.target = name }
        return resource
    }

    /// Compares the bytes of an entry's target with a path.
    ///
    /// Returns a number below zero, zero or above, if the target is before, at or after the path.
    func compare(_ entry: Reference, with path: UnsafeBufferPointer<UInt8>) -> Int {
        guard remembered.isEmpty else {
            return withPath(of: entry) { ByteOrder.compare($0, path) }
        }
        return tables[Int(entry.manifest)].comparePath(at: Int(entry.resource), with: path)
    }

    /// Whether the file in a row meets all demands of an entry. Owners are not compared.
    func isSatisfied(_ entry: Reference, by row: RowProjection) -> Bool {
        tables[Int(entry.manifest)].isSatisfied(
            at: Int(entry.resource), bySize: row.stamp.size, sha256: row.sha256,
            isExecutable: row.isExecutable)
    }

    /// Whether a row has one owner, and that owner is the only manifest that wants the entry.
    func isOnlyOwner(of entry: Reference, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard sharers.isEmpty || sharers[Wanted.key(entry)] == nil else { return false }
        return owners[Int(entry.manifest)].withUnsafeBufferPointer {
            ByteOrder.compare($0, text) == 0
        }
    }

    /// Whether only one manifest wants an entry, and that manifest names its file.
    func arrivesPlainly(_ entry: Reference) -> Bool {
        (sharers.isEmpty || sharers[Wanted.key(entry)] == nil) && !isNamedByServer(entry)
    }

    /// The names of all manifests that want an entry's target, that of the entry's manifest first.
    func owners(of entry: Reference) -> [String] {
        let first = manifests[Int(entry.manifest)].owner
        guard !sharers.isEmpty, let others = sharers[Wanted.key(entry)] else { return [first] }
        return [first] + others.map { manifests[Int($0)].owner }
    }

    /// Where an entry is declared.
    func claim(of entry: Reference) -> TargetDispute.Claim {
        manifests[Int(entry.manifest)].claim(at: Int(entry.resource))
    }

    /// Whether a manifest names a target, and its selection leaves the target out.
    func leavesOut(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        var (low, high) = (0, unselected.count)
        while low < high {
            let middle = (low + high) / 2
            let order = compare(unselected[middle], with: path)
            if order == 0 { return true }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return false
    }

    /// The declared size of an entry's file, in bytes.
    func size(of entry: Reference) -> Int64? {
        tables[Int(entry.manifest)].size(at: Int(entry.resource))
    }

    /// Whether the server chooses the name of an entry's file.
    func isNamedByServer(_ entry: Reference) -> Bool {
        tables[Int(entry.manifest)].isNamedByServer(at: Int(entry.resource))
    }

    private static func key(_ entry: Reference) -> Int64 {
        Int64(entry.manifest) << 32 | Int64(entry.resource)
    }

    private func sorted(_ entries: [Reference]) -> [Reference] {
        let isSorted = zip(entries, entries.dropFirst()).allSatisfy { compare($0, $1) < 0 }
        return isSorted ? entries : entries.sorted { compare($0, $1) < 0 }
    }

    private func compare(_ first: Reference, _ second: Reference) -> Int {
        withPath(of: second) { compare(first, with: $0) }
    }

    /// Calls a closure with the bytes of an entry's target.
    func withPath<Result>(
        of entry: Reference, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        if !remembered.isEmpty, let name = remembered[Wanted.key(entry)] {
            var path = name.path
            return path.withUTF8(body)
        }
        return tables[Int(entry.manifest)].withPath(at: Int(entry.resource), body)
    }

    /// Merges the entries of each target into one.
    ///
    /// Records a dispute if the manifests do not want the same file.
    private mutating func mergeEqualTargets() throws {
        let hasEqual = zip(entries, entries.dropFirst()).contains { compare($0, $1) == 0 }
        guard hasEqual else { return }
        var merged: [Reference] = []
        for entry in entries {
            guard let last = merged.last, compare(last, entry) == 0 else {
                merged.append(entry)
                continue
            }
            // The transfer uses the sources of the manifest that was given first.
            let first = min(last.manifest, entry.manifest) == last.manifest ? last : entry
            let second = first.manifest == last.manifest ? entry : last
            try refuseTwins(first, second)
            merged[merged.count - 1] = first
            sharers[Wanted.key(first)] =
                (sharers.removeValue(forKey: Wanted.key(last)) ?? []) + [second.manifest]
            let difference = TargetDifference.between(
                resource(of: first), resource(of: second))
            guard let difference else { continue }
            disputes.append(
                TargetDispute(
                    target: target(of: first), given: claim(of: second), other: claim(of: first),
                    difference: difference, areBothGiven: true))
        }
        entries = merged
    }

    private func refuseTwins(_ first: Reference, _ second: Reference) throws {
        guard first.manifest == second.manifest else { return }
        let target = target(of: first)
        let chosen = [first, second].filter { remembered[Wanted.key($0)] != nil }
        let urls = chosen.map { "\(resource(of: $0).primary.url)" }
        let advice =
            chosen.isEmpty
            ? "give one a path."
            : "a server chose it for \(urls.joined(separator: " and for ")). Give that one a path, or the other another path."
        throw MirrorError(
            .manifestInvalid,
            "\(target): two resources of \(manifests[Int(first.manifest)].owner) have this target; \(advice)",
            target: target)
    }

    /// Throws for two manifests of one name, because the name says which files a manifest owns.
    private static func refuseEqualNames(_ manifests: [Manifest]) throws {
        var seen: [String: Manifest] = [:]
        for manifest in manifests {
            guard let other = seen.updateValue(manifest, forKey: manifest.owner) else { continue }
            let files = [other, manifest].map { $0.label ?? $0.owner }
            throw MirrorError(
                .manifestInvalid,
                files[0] == files[1]
                    ? "\(files[0]): this manifest is given twice. Name it once."
                    : "\(files[0]) and \(files[1]) are both called \(Quoted(manifest.owner)), and what a manifest owns is told by its name. Give one of them another name."
            )
        }
    }

    /// Throws for colliding targets of different manifests. Validation has checked each manifest
    /// alone.
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
    var sortedOrder: PathOrder { PathOrder(ofSorted: entries.count) }

    func withPath<Result>(
        at position: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        withPath(of: entries[position], body)
    }
}

extension Wanted {
    /// Throws `MirrorError` with `usage` for words and targets in options that no manifest has.
    func refuseUnknownNames(_ options: PlanOptions) throws(MirrorError) {
        try options.selection.refuseUnknownWords(in: manifests)
        for target in options.asked.sorted() where !wants(target) && isOfShard(target) {
            throw MirrorError(
                .usage,
                NearestName.sentence(
                    target: target, among: manifests.lazy.flatMap(\.resources).map(\.target)))
        }
        for target in options.refetch.sorted() where !wants(target) && isOfShard(target) {
            throw MirrorError(
                .usage,
                NearestName.sentence(
                    target: target, among: entries.lazy.map { self.target(of: $0) }))
        }
    }

    /// Whether only this shard can have a target, so that a name that no entry has is wrong.
    /// Names that servers choose are known to the first shard only.
    private func isOfShard(_ target: Target) -> Bool {
        shard.has(target.path.utf8)
            && (shard.number == 1 || !manifests.contains { $0.resources.hasNamesOfServers })
    }

    /// Whether an entry has a target.
    func wants(_ target: Target) -> Bool { position(of: target, in: sortedOrder) != nil }
}

extension ResourceTable {
    /// Whether servers choose names of resources.
    fileprivate var hasNamesOfServers: Bool { indices.contains { isNamedByServer(at: $0) } }

    /// Whether a resource is of a shard.
    fileprivate func isOf(_ shard: Shard, at position: Int) -> Bool {
        let isNamed = isNamedByServer(at: position)
        return withPath(at: position) { shard.has($0, isNamedByServer: isNamed) }
    }
}

extension Shard {
    /// Throws `MirrorError` with `usage` if a set would be torn apart.
    fileprivate func refuseSets(in manifests: [Manifest]) throws(MirrorError) {
        guard !isWhole, let set = manifests.first(where: \.isAtomic) else { return }
        throw MirrorError(
            .usage,
            "\(set.label ?? set.owner): an atomic manifest is put in place as one set, so it has no shards. Sync it without a shard, into a root of its own."
        )
    }
}
