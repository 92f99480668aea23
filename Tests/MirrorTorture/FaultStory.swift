internal import Glibc
internal import MirrorTestSupport

/// One sync with everything in it that touches the disk: many small files, large ones, an update, a
/// conflict in Documents, a copy, a move, a removal, and a part to be continued.
struct FaultStory {
    /// What the root holds before the run.
    enum Scene: String, CaseIterable {
        /// Nothing.
        case fresh
        /// The tree of an earlier manifest, an edited file, and an interrupted part.
        case change
        /// A part of one large file, which several connections fetch.
        case segments
    }

    /// What a run in a scene is given, and comes to.
    struct Telling {
        /// The manifest that each run makes the tree match.
        var manifest: String
        /// The tree that it wants, by path.
        var wanted: [String: [UInt8]]
        /// The tree before the run, the edit included.
        var before: [String: [UInt8]] = [:]
        /// Options besides those of every run.
        var options: [String] = []
    }

    let ground: Playground
    private let tellings: [Scene: Telling]
    let server: OriginServer
    let origin: ShelfOrigin

    static let edited = "Documents/edited.txt"
    static let interrupted = "Caches/interrupted"
    static let divided = "Caches/divided"
    /// Short waits, so that a failing network does not take minutes.
    static let options = ["--prune", "--retries", "1", "--max-wait", "1s", "--min-free", "0"]

    /// Makes the tree that `.change` begins with, once.
    ///
    /// - Parameter isPinned: whether every resource has a declared digest; else only those that are
    ///   copied and moved by it.
    init(program: String, seed: UInt64, isPinned: Bool) throws {
        let ground = try Playground(program: program)
        let first = FaultTree.first(seed)
        let second = FaultTree.second(first, seed)
        let shelf = MemoryShelf()
        for (name, bytes) in first { shelf.put("/" + name, bytes) }
        let slow = try OriginServer(responder: ShelfOrigin(shelf, bytesPerSecond: 3_000_000))
        func manifest(_ tree: [String: [UInt8]], of owner: String) throws -> String {
            try ground.write(
                manifest: FaultTree.manifest(
                    tree, base: slow.url, isPinned: isPinned, owner: owner),
                as: "\(owner)-\(tree.count).json")
        }
        let result = try ground.sync(try manifest(first, of: "faults")).wait()
        guard result.ending == .exited(0) else {
            throw SystemFailure("sync", result.errors, errno: EINVAL)
        }
        for (name, bytes) in second { shelf.put("/" + name, bytes) }
        let partly = second.filter { $0.key == FaultStory.interrupted }
        let part = try ground.sync(
            try manifest(partly, of: "partly"), ["--max-transfer", "700000"]
        ).wait()
        guard ground.parts().count == 1 else {
            throw SystemFailure("sync --max-transfer", part.errors + part.output, errno: EINVAL)
        }
        let large = [FaultStory.divided: TestBytes.make(4_500_000, seed: seed &+ 2)]
        for (name, bytes) in large { shelf.put("/" + name, bytes) }
        let divided = Telling(
            manifest: try manifest(large, of: "divided"), wanted: large,
            options: ["--segments", "3"])
        let other = ground.with(root: Folder(ground.folder.full("divided")))
        try ground.folder.makeFolders(above: "divided/.")
        let begun = try other.sync(
            divided.manifest, divided.options + ["--max-transfer", "2000000"]
        ).wait()
        guard other.parts().count == 1 else {
            throw SystemFailure("sync --segments", begun.errors + begun.output, errno: EINVAL)
        }
        slow.stop()
        let origin = ShelfOrigin(shelf)
        try ground.root.write(FaultStory.edited, Array("an edit".utf8))
        try FaultStory.copy(ground.root.path, to: ground.folder.full("template"))
        self.ground = ground
        var change = Telling(manifest: try manifest(second, of: "faults"), wanted: second)
        let fresh = change
        change.before = ground.tree()
        tellings = [.fresh: fresh, .change: change, .segments: divided]
        self.origin = origin
        server = try OriginServer(port: slow.port, responder: origin)
    }

    /// What a run in a scene is given, and comes to.
    func telling(_ scene: Scene) -> Telling {
        tellings[scene] ?? Telling(manifest: "", wanted: [:])
    }

    /// Starts a scene's run.
    func sync(_ scene: Scene, adding variables: [String: String] = [:]) throws -> Command {
        let telling = telling(scene)
        return try ground.sync(
            telling.manifest, FaultStory.options + telling.options, adding: variables)
    }

    func end() {
        server.stop()
        ground.remove()
    }

    /// Makes the root as it is before the run.
    func prepare(_ scene: Scene) throws {
        ground.root.remove()
        switch scene {
        case .fresh: try ground.folder.makeFolders(above: "root/.")
        case .change: try FaultStory.copy(ground.folder.full("template"), to: ground.root.path)
        case .segments: try FaultStory.copy(ground.folder.full("divided"), to: ground.root.path)
        }
    }

    private static func copy(_ from: String, to other: String) throws {
        let copied = try Command.run("/bin/cp", ["-a", from, other])
        guard copied.ending == .exited(0) else {
            throw SystemFailure("cp", copied.errors, errno: EIO)
        }
    }
}

/// The two trees of the story.
enum FaultTree {
    static func first(_ seed: UInt64) -> [String: [UInt8]] {
        var sizes = [
            "Documents/same": 5000, "Documents/changed.bin": 90_000, FaultStory.edited: 8000,
            "Caches/large": 700_000, "tmp/throw": 30_000, "Caches/donor": 70_000,
            "Caches/moved-from": 75_000, "Caches/orphan": 600, "Documents/gone/orphan": 700,
        ]
        for number in 0..<20 { sizes["Caches/many/\(number)"] = number * 97 + 50 }
        return make(sizes, seed)
    }

    static func second(_ first: [String: [UInt8]], _ seed: UInt64) -> [String: [UInt8]] {
        var sizes = [
            "Documents/changed.bin": 95_000, FaultStory.edited: 8000, "Caches/large": 750_000,
            "tmp/throw": 31_000, FaultStory.interrupted: 1_500_000, "Documents/new": 120_000,
            "Caches/deep/er/new": 400,
        ]
        for number in stride(from: 0, to: 20, by: 2) {
            sizes["Caches/many/\(number)"] = number * 101 + 60
        }
        var tree = first
        for name in ["Caches/moved-from", "Caches/orphan", "Documents/gone/orphan"] {
            tree[name] = nil
        }
        tree["Documents/copy"] = first["Caches/donor"]
        tree["Caches/moved-to"] = first["Caches/moved-from"]
        return tree.merging(make(sizes, seed &+ 1)) { $1 }
    }

    /// The manifest of a tree.
    static func manifest(
        _ tree: [String: [UInt8]], base: String, isPinned: Bool, owner: String
    ) -> String {
        let resources = tree.keys.sorted().map { name in
            let isDeclared =
                isPinned || name.contains("moved") || name.contains("donor")
                || name.contains("copy")
            let digest = isDeclared ? ",\"sha256\":\"\(Checksum.sha256(tree[name] ?? []))\"" : ""
            return "{\"path\":\"\(name)\",\"url\":\"\(name)\"\(digest)}"
        }
        return "{\"name\":\"\(owner)\",\"base\":\"\(base)/\",\"resources\":["
            + resources.joined(separator: ",") + "]}"
    }

    private static func make(_ sizes: [String: Int], _ seed: UInt64) -> [String: [UInt8]] {
        var random = SplitMix64(seed: seed)
        var tree: [String: [UInt8]] = [:]
        for name in sizes.keys.sorted() {
            tree[name] = TestBytes.make(sizes[name] ?? 0, seed: random.next())
        }
        return tree
    }
}
