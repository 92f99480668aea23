internal import MirrorTestSupport

/// A run that is interrupted, what was done before it, and the run that follows.
struct CrashStory: Sendable {
    /// What it is called in reports.
    let name: String
    /// Whether it needs the right to mount.
    var mounts = false
    /// Whether it is told on the file system of `/tmp`, not in memory.
    var isOnDisk = false
    /// Whether all that the manifest wants is there in the end.
    var isWholeInTheEnd = true
    /// Publishes versions, runs what comes first, edits files; gives the words of the run that is
    /// interrupted, and made again after it.
    let begin: @Sendable (CrashGround) throws -> [String]
}

extension CrashStory {
    private static let names = [
        "Caches/deep/data.bin", "Caches/note.txt", "Documents/guide.bin", "tmp/large.bin",
    ]

    private static func publishAll(_ ground: CrashGround) {
        ground.publish("Caches/deep/data.bin", 300_000)
        ground.publish("Caches/note.txt", 2_000)
        ground.publish("Documents/guide.bin", 90_000)
        ground.publish("tmp/large.bin", 150_000)
    }

    private static func sync(_ manifest: String, _ options: String...) -> [String] {
        ["sync", manifest, "--json"] + options
    }

    /// Publishes everything, and has it all in the tree; gives the manifest's path.
    @discardableResult
    private static func synced(_ ground: CrashGround) throws -> String {
        publishAll(ground)
        let manifest = try ground.manifest(names, pinned: ["Caches/deep/data.bin"])
        try settled(ground.run(sync(manifest)))
        return manifest
    }

    private static func settled(_ result: Command.Result, _ status: Int32 = 0) throws {
        guard result.ending == .exited(status) else {
            throw StoryFailure("\(result.ending): \(result.errors.suffix(300))")
        }
    }

    /// Every story.
    static let all =
        [
            fresh, resumed, update, conflict, prune, copy, repair, evict, pin, many, remote,
            damaged,
            recovery, crossing, segments, segmentsResumed,
        ] + sets

    static let fresh = CrashStory(name: "fresh") { ground in
        publishAll(ground)
        return sync(try ground.manifest(names, pinned: ["Caches/deep/data.bin"]))
    }

    static let resumed = CrashStory(name: "resume") { ground in
        publishAll(ground)
        let manifest = try ground.manifest(names, pinned: ["Caches/deep/data.bin"])
        ground.cutsBodies = true
        try settled(ground.run(sync(manifest, "--retries", "0")), 69)
        ground.cutsBodies = false
        return sync(manifest)
    }

    static let update = CrashStory(name: "update") { ground in
        try synced(ground)
        publishAll(ground)
        return sync(try ground.manifest(names, pinned: ["Caches/deep/data.bin"]))
    }

    static let conflict = CrashStory(name: "conflict in Documents") { ground in
        try synced(ground)
        publishAll(ground)
        try ground.edit("Documents/guide.bin")
        ground.publish("Documents/more/stranger.bin", 70_000)
        try ground.edit("Documents/more/stranger.bin", 6000)
        ground.publish("Caches/stranger.txt", 1000)
        try ground.edit("Caches/stranger.txt", 7000)
        return sync(
            try ground.manifest(names + ["Documents/more/stranger.bin", "Caches/stranger.txt"]))
    }

    static let prune = CrashStory(name: "prune and move") { ground in
        ground.publish("Caches/old/gone.bin", 40_000)
        ground.publish("Documents/before.bin", 80_000)
        ground.publish("Caches/stays.txt", 3000)
        let first = try ground.manifest(
            ["Caches/old/gone.bin", "Documents/before.bin", "Caches/stays.txt"],
            pinned: ["Documents/before.bin"])
        try settled(ground.run(sync(first)))
        ground.serve("Documents/after.bin", ground.newest("Documents/before.bin"))
        ground.expected["Caches/old/gone.bin"] = nil
        ground.expected["Documents/before.bin"] = nil
        let second = try ground.manifest(
            ["Documents/after.bin", "Caches/stays.txt"], pinned: ["Documents/after.bin"])
        return sync(second, "--prune", "--max-delete", "9")
    }

    static let copy = CrashStory(name: "copy") { ground in
        ground.publish("Caches/first.bin", 200_000)
        let first = try ground.manifest(["Caches/first.bin"], pinned: ["Caches/first.bin"])
        try settled(ground.run(sync(first)))
        ground.serve("Documents/second.bin", ground.newest("Caches/first.bin"))
        let names = ["Caches/first.bin", "Documents/second.bin"]
        return sync(try ground.manifest(names, pinned: names))
    }

    static let repair = CrashStory(name: "verify --repair") { ground in
        let manifest = try synced(ground)
        try ground.spoil("Caches/deep/data.bin")
        try ground.spoil("tmp/large.bin")
        try ground.edit("Documents/guide.bin")
        return ["verify", manifest, "--repair", "--json"]
    }

    static let evict = CrashStory(name: "evict", isWholeInTheEnd: false) { ground in
        try synced(ground)
        for name in names where name.hasPrefix("Caches/") { ground.expected[name] = nil }
        return ["evict", "--quota", "1KiB", "--json"]
    }

    static let pin = CrashStory(name: "pin") { ground in
        let manifest = try synced(ground)
        let old = ground.ground.folder.read("manifest.json") ?? []
        let copy = try ground.ground.write(
            manifest: String(decoding: old, as: UTF8.self), as: "pinned.json")
        try settled(ground.run(["pin", copy]))
        ground.beside["manifest.json"] = [old, ground.ground.folder.read("pinned.json") ?? []]
        return ["pin", manifest]
    }

    /// Enough files for a flush in common, on file systems that allow one.
    static let many = CrashStory(name: "many", isOnDisk: true) { ground in
        let names = (0..<24).map { "Caches/many/\($0 / 8)/\($0)" }
        for (at, name) in names.enumerated() { ground.publish(name, 500 + at * 40) }
        return sync(try ground.manifest(names))
    }

    static let remote = CrashStory(name: "manifest by URL") { ground in
        ground.publish("Caches/a.bin", 70_000)
        ground.offer("/all.json", Array(ground.manifestText(["Caches/a.bin"]).utf8))
        try settled(ground.run(sync(ground.url + "/all.json")))
        ground.publish("Caches/a.bin", 80_000)
        ground.publish("Documents/b.bin", 10_000)
        let names = ["Caches/a.bin", "Documents/b.bin"]
        ground.offer("/all.json", Array(ground.manifestText(names).utf8))
        return sync(ground.url + "/all.json")
    }

    static let damaged = CrashStory(name: "damaged index") { ground in
        let manifest = try synced(ground)
        try ground.ground.root.write(".mirror/index.sqlite", TestBytes.make(50_000, seed: 1))
        return sync(manifest)
    }

    /// The run that follows a crash is killed too.
    static let recovery = CrashStory(name: "recovery") { ground in
        let words = try conflict.begin(ground)
        let command = try ground.trace(words)
        // In turn at every place of the interesting half.
        let last = 150 + ground.draw(250)
        var count = 0
        while let call = command.next() {
            count += 1
            if count >= last { command.kill() } else { command.pass(call) }
        }
        _ = command.end()
        return words
    }

    static let crossing = CrashStory(name: "tmp on another file system", mounts: true) { ground in
        try synced(ground)
        publishAll(ground)
        try ground.edit("Documents/guide.bin")
        return sync(try ground.manifest(names))
    }
}

extension CrashStory {
    private static let large = "Caches/map.bin"

    static let segments = CrashStory(name: "segments") { ground in
        ground.publish(large, 2_600_000)
        return sync(try ground.manifest([large]), "--segments", "3")
    }

    static let segmentsResumed = CrashStory(name: "segments resumed") { ground in
        ground.publish(large, 3_600_000)
        let manifest = try ground.manifest([large], pinned: [large])
        // Where the first connection was the last to get bytes there is nothing to go on from.
        for _ in 1...20 where ground.ground.parts().isEmpty {
            try ground.run(sync(manifest, "--segments", "3", "--max-transfer", "1500000"))
        }
        guard ground.ground.parts().count == 1 else {
            throw StoryFailure("no part to go on from")
        }
        return sync(manifest, "--segments", "3")
    }
}
