internal import Glibc
internal import MirrorTestSupport

/// Folders of the tree swapped for symbolic links while mirror works in them: nothing outside changes.
enum SwapTorture: TortureClass {
    static let name = "R9"
    static let title = "folders swapped for symbolic links, 60 s"
    static let trials = 300
    private static let milliseconds = 60_000

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        var tally = Tally()
        var story = try SwapStory(program: program, seed: seed)
        defer { story.end() }
        guard try story.begin() else { throw SwapFailure() }
        let isWhole = trials >= Self.trials
        while tally.tried < trials || isWhole && story.swapped < milliseconds {
            let number = tally.tried
            tally.count("seed \(seed), run \(number)", try story.round(number))
        }
        tally.notes.append(
            "\(story.swapped / 1000) s, \(story.swaps) times a link in a folder's place")
        let endings = story.endings.sorted { $0.key < $1.key }.map { "\($0.value) × \($0.key)" }
        tally.notes.append("runs ended with " + endings.joined(separator: ", "))
        return tally
    }
}

private struct SwapFailure: Error, CustomStringConvertible {
    var description: String { "the first run, without swapping, did not succeed" }
}

/// A tree, an origin whose versions change, and a folder outside that looks like the tree.
private struct SwapStory {
    private let ground: Playground
    private let outside: Folder
    private let server: OriginServer
    private var tree = ServedTree()
    private var edits: [[UInt8]] = []
    private var random: SplitMix64
    private var seed: UInt64 = 0
    private var memory: FolderMemory
    private(set) var swapped = 0
    private(set) var swaps = 0
    private(set) var endings: [String: Int] = [:]

    private static let targets =
        (1...6).map { "Caches/a/\($0)" } + (1...3).map { "Caches/b/x/\($0)" }
        + (1...4).map { "Documents/x/\($0)" } + ["Documents/y", "Caches/z"]
        + (1...3).map { "tmp/t/\($0)" }
    private static let folders = [
        "Caches/a", "tmp", "Documents/x", ".mirror/manifests", ".mirror", "Caches/b/x", "Caches/b",
        "tmp/t", "Caches", "Documents",
    ]
    private static let ends: [Int32] = [0, 1, 66, 69, 73, 74, 77]

    init(program: String, seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        ground = try Playground(program: program, in: Folder.memory)
        outside = Folder(ground.folder.full("outside"))
        server = try OriginServer(responder: ShelfOrigin(tree.shelf, bytesPerSecond: 1_000_000))
        memory = FolderMemory(of: outside)
    }

    func end() {
        server.stop()
        ground.remove()
    }

    /// A run without swapping, and a folder outside with a file of other bytes for each that is there.
    mutating func begin() throws -> Bool {
        publish(SwapStory.targets)
        guard try sync().wait().ending == .exited(0) else { return false }
        try ground.folder.makeFolders(above: "outside/.")
        for entry in ground.root.entries() where !entry.isFolder {
            // The index is a good one: whoever opened it would be glad to write to it.
            let isIndex = entry.name.hasSuffix("index.sqlite")
            let bytes = isIndex ? ground.root.read(entry.name) : nil
            try outside.write(entry.name, bytes ?? Array("outside \(entry.name)".utf8))
        }
        memory = FolderMemory(of: outside)
        return true
    }

    private mutating func publish(_ targets: [String]) {
        for target in targets {
            seed += 1
            tree.publish(target, TestBytes.make(500 + Int(seed * 7919 % 50_000), seed: seed))
        }
    }

    /// A manifest that came by URL, so that a copy of it is kept, and one that is a file.
    private func sync(_ options: [String] = [], without left: Set<String> = []) throws -> Command {
        let wanted = SwapStory.targets.filter { !left.contains($0) }
        let far = wanted.filter { $0.hasPrefix("Caches/") }
        let near = wanted.filter { !$0.hasPrefix("Caches/") }
        let tree = tree
        let text = tree.manifest(named: "far", at: server.url, far) { target in
            // Some are pinned.
            guard target.contains("/b/"), let bytes = tree.versions[target]?.last else { return "" }
            return ",\"sha256\":\"\(Checksum.sha256(bytes))\""
        }
        tree.shelf.put("/far.json", Array(text.utf8))
        let path = try ground.write(
            manifest: tree.manifest(named: "near", at: server.url, near), as: "near.json")
        return try ground.start(
            ["sync", server.url + "/far.json", path, "--json", "--retries", "1"] + options)
    }

    /// One run with folders swapped under it, the look after it, and one run without.
    mutating func round(_ number: Int) throws -> [String] {
        publish(SwapStory.targets.filter { _ in Bool.random(using: &random) })
        let victim = "Documents/x/\(1 + number % 4)"
        if number % 3 == 0 {
            edits.append(TestBytes.make(700, seed: 1_000_000 + UInt64(number)))
            try ground.root.write(victim, edits.last ?? [])
        }
        if number % 7 == 0 { unlink(ground.root.full("Caches/z")) }
        let swapper = try Swapper(
            root: ground.root, folders: chosenFolders(number), outside: outside)
        swapper.start(pace())
        let began = Milliseconds.now
        let result = try command(number).wait(seconds: 60)
        swapped += Milliseconds.now - began
        swaps += swapper.stop()
        Folder(ground.root.full(".away")).remove()
        endings["\(result.ending)", default: 0] += 1
        var wrong: [String] = []
        if case .exited(let status) = result.ending, SwapStory.ends.contains(status) {
        } else {
            wrong.append("\(result.ending): \(result.errors.suffix(300))")
        }
        wrong += flaws()
        let again = try sync(["--prune", "--max-delete", "100%"]).wait()
        if again.ending != .exited(0) {
            wrong.append(
                "the run without swaps: \(again.ending) \(again.errors.suffix(300)) "
                    + "\(again.events.filter { $0["event"] == .string("failed") }.prefix(2))")
        }
        // What was edited in Documents stays while the origin has nothing new.
        let unedited = SwapStory.targets.filter { target in
            !target.hasPrefix("Documents/") || !edits.contains(ground.root.read(target) ?? [])
        }
        wrong += flaws() + tree.outdated(in: ground.root, unedited)
        if !ground.parts().isEmpty { wrong.append("parts are left: \(ground.parts())") }
        for name in ground.tree().keys where name.contains(".mirror-conflict-") {
            unlink(ground.root.full(name))
        }
        return wrong
    }

    /// One folder, another one each time; now and then several, also one in the other.
    private mutating func chosenFolders(_ number: Int) -> [String] {
        guard number % 4 == 3 else { return [SwapStory.folders[number % SwapStory.folders.count]] }
        return SwapStory.folders.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
    }

    private mutating func pace() -> Swapper.Pace {
        let pauses: [UInt32] = [0, 0, 50, 300, 2000]
        return Swapper.Pace(
            home: (pauses + [8000]).randomElement(using: &random) ?? 0,
            away: pauses.randomElement(using: &random) ?? 0)
    }

    /// Mostly sync, with and without orphans to remove; now and then another verb that changes things.
    private mutating func command(_ number: Int) throws -> Command {
        switch number % 8 {
        case 2: return try ground.start(["verify", "--repair", "--json"])
        case 4: return try ground.start(["evict", "--quota", "20KiB", "--json"])
        case 6:
            let left = Set(SwapStory.targets.filter { $0.hasSuffix("/2") })
            return try sync(["--prune", "--max-delete", "100%", "--verify"], without: left)
        default: return try sync(number % 2 == 0 ? ["--verify"] : [])
        }
    }

    /// What is not as it must be, outside and inside.
    private mutating func flaws() -> [String] {
        var wrong = memory.changes(in: outside)
        if !wrong.isEmpty { memory = FolderMemory(of: outside) }
        wrong += tree.foreign(in: ground.tree(), known: edits)
        let tops = Set(ground.root.entries().map { $0.name.split(separator: "/").first ?? "" })
        if !tops.isSubset(of: ["Documents", "Caches", "tmp", ".mirror"]) {
            wrong.append("in the root: \(tops)")
        }
        return wrong
    }
}
