internal import MirrorTestSupport

/// Updates of a set that is promoted as a whole, or not at all.
extension CrashStory {
    /// A set with a folder to itself.
    static let exchangedSet = set("set, exchanged", "Caches/set/", isExchanged: true)
    /// The same in Documents.
    static let exchangedSetInDocuments = set(
        "set in Documents, exchanged", "Documents/set/", isExchanged: true)
    /// A set in an area in which somebody keeps a file too, so that its files are renamed.
    static let renamedSet = set("set, renamed", "Caches/", isExchanged: false)
    /// The same in Documents, where each file is exchanged with the one that was there.
    static let renamedSetInDocuments = set(
        "set in Documents, renamed", "Documents/", isExchanged: false)

    /// The stories of sets.
    static let sets = [exchangedSet, exchangedSetInDocuments, renamedSet, renamedSetInDocuments]

    private static func set(_ name: String, _ folder: String, isExchanged: Bool) -> CrashStory {
        CrashStory(name: name) { ground in
            let old = ["changes.bin", "deep/changes.txt", "stays.txt", "goes.bin"].map {
                folder + $0
            }
            for (at, name) in old.enumerated() { ground.publish(name, 30_000 + 40_000 * (at % 2)) }
            let words = ["--json", "--atomic", "--prune", "--max-delete", "9"]
            let first = try ground.run(["sync", try ground.manifest(old)] + words)
            guard first.ending == .exited(0) else {
                throw StoryFailure("\(first.ending): \(first.errors.suffix(300))")
            }
            if !isExchanged { try ground.edit(folder + "mine.txt") }
            let before = ground.expected
            ground.publish(folder + "changes.bin", 40_000)
            ground.publish(folder + "deep/changes.txt", 2000)
            ground.publish(folder + "comes.bin", 90_000)
            ground.expected[folder + "goes.bin"] = nil
            ground.wholeSets = WholeSets(
                before: before, after: ground.expected, isExchanged: isExchanged)
            let new = ["changes.bin", "deep/changes.txt", "stays.txt", "comes.bin"].map {
                folder + $0
            }
            return ["sync", try ground.manifest(new)] + words
        }
    }
}

/// The old set and the new one, of which the tree holds one.
struct WholeSets {
    let before: [String: [UInt8]]
    let after: [String: [UInt8]]
    /// Whether a reader sees one of them at every instant, and not only after the next run.
    let isExchanged: Bool

    /// What is wrong where the tree holds neither.
    func flaws(of tree: [String: [UInt8]], _ moment: String) -> [String] {
        let names = Set(before.keys).union(after.keys)
        let held = tree.filter { names.contains($0.key) }
        if held == before || held == after { return [] }
        let words = names.sorted().map { name in
            let word =
                held[name].map { $0 == before[name] ? "old" : $0 == after[name] ? "new" : "other" }
            return "\(name) \(word ?? "absent")"
        }
        return ["\(moment) neither the old set nor the new one is there: \(words)"]
    }
}
