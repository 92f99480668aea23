internal import Glibc
internal import MirrorTestSupport

/// Several runs in one root, and holders of its lock that are killed: one writer at a time, and a
/// lock that ends with its holder.
enum CrowdTorture: TortureClass {
    static let name = "R10"
    static let title = "2 to 8 runs or shards at once in one root; killed lock holders"
    static let trials = 300

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        var tally = Tally()
        var story = try CrowdStory(program: program, seed: seed)
        // A sample runs beside other tests: there, how long it takes says nothing.
        story.isTimed = trials >= Self.trials
        defer { story.end() }
        for round in 0..<max(1, trials / 3) {
            tally.count("seed \(seed), crowd \(round)", try story.crowd(round))
        }
        for round in 0..<max(1, trials / 3) {
            tally.count("seed \(seed), shards \(round)", try story.shards(round))
        }
        for round in 0..<max(1, trials / 3) {
            tally.count("seed \(seed), killed holder \(round)", try story.killedHolder(round))
        }
        tally.notes.append(
            "\(story.ran) runs did their work beside others, \(story.refused) found the root locked"
        )
        tally.notes.append("\(story.shardRuns) shards ran, \(story.killedShards) were killed")
        tally.notes.append(
            "\(story.killed) holders killed; the next had the lock after \(story.slowest) ms at most"
        )
        return tally
    }
}

/// Two manifests that share targets, and an origin that is slow enough for runs to meet.
private struct CrowdStory {
    private let ground: Playground
    private let server: OriginServer
    private let slowServer: OriginServer
    private var tree = ServedTree()
    private var random: SplitMix64
    private var seed: UInt64 = 1
    private(set) var ran = 0
    private(set) var refused = 0
    private(set) var killed = 0
    private(set) var slowest = 0
    private(set) var shardRuns = 0
    private(set) var killedShards = 0
    var isTimed = false

    private static let divided = "Caches/shared/a"
    private static let shared = [divided, "Documents/shared/b", "tmp/shared/c"]
    private static let own = ["Caches/one/d", "Documents/one/e"]
    private static let other = (0..<20).map { "Caches/two/\($0)" }
    private static let all = shared + own + other
    /// The least time that a run waits for the lock between two tries, and what a busy machine adds.
    private static let longestWait = 2000

    init(program: String, seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        ground = try Playground(program: program, in: Folder.memory)
        server = try OriginServer(
            responder: ShelfOrigin(tree.shelf, bytesPerSecond: 2_000_000))
        slowServer = try OriginServer(responder: ShelfOrigin(tree.shelf, bytesPerSecond: 50_000))
    }

    func end() {
        server.stop()
        slowServer.stop()
        ground.remove()
    }

    /// Serves new versions; `divides` makes one large enough for several connections.
    private mutating func publish(divides: Bool = false) {
        for target in CrowdStory.all {
            seed += 1
            let size =
                target == CrowdStory.divided && divides
                ? 2_200_000 : target.contains("two") ? 3000 : 120_000
            tree.publish(target, TestBytes.make(size + Int(seed % 977), seed: seed))
        }
    }

    private func manifests(at url: String) throws -> [String] {
        try [CrowdStory.shared + CrowdStory.own, CrowdStory.shared + CrowdStory.other].enumerated()
            .map { number, targets in
                try ground.write(
                    manifest: tree.manifest(named: "crowd\(number)", at: url, targets),
                    as: "crowd\(number).json")
            }
    }

    /// New versions, runs of the same and of different manifests at once, then one of each alone.
    mutating func crowd(_ round: Int) throws -> [String] {
        publish(divides: round % 5 == 4)
        let manifests = try manifests(at: server.url)
        let runs = try (0..<2 + round % 7).map { number in
            let waits = Bool.random(using: &random)
            let manifest = manifests[round % 3 == 0 ? 0 : number % 2]
            Pause.milliseconds(Int.random(in: 0..<8, using: &random))
            let options = ["--segments", "3", "--take-over"] + (waits ? ["--wait", "50s"] : [])
            return (waits, try ground.sync(manifest, options))
        }
        var wrong: [String] = []
        var succeeded = 0
        for (waits, run) in runs {
            let result = run.wait()
            switch result.ending {
            case .exited(0): succeeded += 1
            case .exited(75) where !waits: refused += 1
            default: wrong.append("\(result.ending): \(result.errors.suffix(300))")
            }
            if result.summary == nil { wrong.append("a run without a summary") }
        }
        if succeeded == 0 { wrong.append("no run succeeded") }
        ran += succeeded
        return try wrong + tree.foreign(in: ground.tree()) + settle(manifests)
    }

    /// New versions, then some shards at once, in numbers that change, of which some are killed.
    mutating func shards(_ round: Int) throws -> [String] {
        publish(divides: round % 5 == 4)
        let manifests = try manifests(at: server.url)
        var wrong: [String] = []
        for _ in 0..<Int.random(in: 2...4, using: &random) {
            let count = Int.random(in: 1...4, using: &random)
            let numbers = (1...count).filter { _ in count == 1 || random.next() % 3 > 0 }
            let runs = try numbers.map { number in
                let shard = count == 1 ? [] : ["--shard", "\(number)/\(count)"]
                let run = try ground.sync(
                    manifests[round % 2], ["--segments", "3", "--take-over", "--prune"] + shard)
                return (run, kills: random.next() % 3 == 0)
            }
            Pause.milliseconds(Int.random(in: 0..<150, using: &random))
            for (run, kills) in runs where kills { run.signal(SIGKILL) }
            for (run, kills) in runs {
                let result = run.wait()
                shardRuns += 1
                switch result.ending {
                case .signalled(SIGKILL) where kills: killedShards += 1
                case .exited(0):
                    if result.summary("removed") != "0" { wrong.append("a shard removed files") }
                default: wrong.append("\(result.ending): \(result.errors.suffix(300))")
                }
            }
            wrong += tree.foreign(in: ground.tree())
        }
        return try wrong + settle(manifests)
    }

    /// Kills a run that holds the lock; the next run, or one that waits in line, has it at once.
    mutating func killedHolder(_ round: Int) throws -> [String] {
        publish()
        let manifests = try manifests(at: slowServer.url)
        let holder = try ground.sync(manifests[round % 2], ["--take-over"])
        guard waitUntilLocked(by: holder) else { return ["the holder never had the lock"] }
        Pause.milliseconds(Int.random(in: 0..<60, using: &random))
        let quick = try self.manifests(at: server.url)[0]
        let inLine =
            round % 2 == 0 ? nil : try ground.sync(quick, ["--take-over", "--wait", "50s"])
        if inLine != nil { Pause.milliseconds(Int.random(in: 0..<60, using: &random)) }
        holder.signal(SIGKILL)
        guard holder.wait().ending == .signalled(SIGKILL) else { return ["the holder ended early"] }
        killed += 1
        let began = Milliseconds.now
        let next = try inLine ?? ground.sync(quick, ["--take-over"])
        let hasLock = waitUntilLocked(by: next)
        let waited = Milliseconds.now - began
        slowest = max(slowest, waited)
        let result = next.wait()
        var wrong: [String] = []
        if !hasLock || isTimed && waited > CrowdStory.longestWait {
            wrong.append("locked for \(waited) ms")
        }
        if result.ending != .exited(0) {
            wrong.append("the next run: \(result.ending) \(result.errors.suffix(300))")
        }
        return try wrong + tree.foreign(in: ground.tree()) + settle([quick, manifests[1]])
    }

    /// Whether the lock's file names a run within the time that one may take.
    private func waitUntilLocked(by run: Command) -> Bool {
        for _ in 0..<10_000 {
            if ground.isLockNaming(run) { return true }
            usleep(1000)
        }
        return false
    }

    /// One run of each manifest alone: everything is the last version, and nothing is left over.
    private func settle(_ manifests: [String]) throws -> [String] {
        var wrong: [String] = []
        for manifest in manifests {
            let result = try ground.sync(manifest, ["--take-over"]).wait()
            if result.ending != .exited(0) {
                wrong.append("the run alone: \(result.ending) \(result.errors.suffix(300))")
            }
        }
        wrong += tree.outdated(in: ground.root, CrowdStory.all)
        if !ground.parts().isEmpty { wrong.append("parts are left: \(ground.parts())") }
        let own = ground.root.entries(beneath: ".mirror")
            .map(\.name).filter { !LastingFiles.has($0) }
        if !own.isEmpty { wrong.append("left: \(own)") }
        let conflicts = ground.tree().keys.filter { $0.contains("mirror-conflict") }
        if !conflicts.isEmpty { wrong.append("conflicts: \(conflicts)") }
        return wrong
    }
}
