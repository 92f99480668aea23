import Glibc
import MirrorTestSupport
import Testing

/// SIGKILL at any instant: a final name holds exactly one version that was served, before and after.
@Suite(.timeLimit(.minutes(15)))
struct KillTests {
    /// A seed from `KILL_SEED`, or another one each time; a failure prints it.
    static let seed =
        getenv("KILL_SEED").flatMap { UInt64(String(cString: $0)) }
        ?? UInt64.random(in: 0...UInt64(UInt32.max))

    @Test(arguments: [("sync", 100), ("watch", 40)])
    func killAtAnyInstantLeavesNoWrongFile(verb: String, rounds: Int) async throws {
        try await DetachedThread.run {
            var story = try KillStory(verb, seed: KillTests.seed)
            defer { story.end() }
            for round in 1...rounds {
                let flaws = try story.round()
                #expect(flaws.isEmpty, "seed \(KillTests.seed), round \(round): \(flaws)")
                guard flaws.isEmpty else { return }
            }
            #expect(story.kills > 0)
            let result = try story.finish()
            #expect(result.ending == .exited(0), "seed \(KillTests.seed): \(result)")
            #expect(story.flaws(isFinished: true).isEmpty, "seed \(KillTests.seed)")
            #expect(story.ground.parts().isEmpty)
            let again = try story.finish()
            #expect(again.summary("revalidated") == String(story.names.count), "\(again)")
        }
    }
}

/// A tree of a few files, an origin that changes them, and a run that is killed again and again.
private struct KillStory {
    let ground: Playground
    let names: [String]
    private let verb: String
    private let shelf = MemoryShelf()
    private let server: OriginServer
    private let manifest: String
    private var random: SplitMix64
    private var versions: [String: [[UInt8]]] = [:]
    /// How many runs were killed before they ended.
    private(set) var kills = 0

    /// Sizes on both sides of what stays in memory until it is complete.
    private static let sizes = [
        "Caches/small": 3000, "Caches/deep/under": 60_000, "Documents/over": 90_000,
        "Documents/middle": 500_000, "tmp/large": 1_500_000,
    ]

    init(_ verb: String, seed: UInt64) throws {
        self.verb = verb
        random = SplitMix64(seed: seed)
        names = KillStory.sizes.keys.sorted()
        ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        server = try OriginServer(responder: ShelfOrigin(shelf, bytesPerSecond: 4_000_000))
        let resources = names.map { "{\"path\":\"\($0)\",\"url\":\"\($0)\"}" }
        manifest = try ground.write(
            manifest: "{\"name\":\"k\",\"base\":\"\(server.url)/\",\"resources\":["
                + resources.joined(separator: ",") + "]}")
        for name in names { publish(name) }
    }

    func end() {
        server.stop()
        ground.remove()
    }

    /// Puts a new version of a file on the shelf.
    private mutating func publish(_ name: String) {
        let bytes = TestBytes.make(KillStory.sizes[name] ?? 0, seed: random.next())
        versions[name, default: []].append(bytes)
        shelf.put("/" + name, bytes)
    }

    /// Changes something, runs, kills at a random instant, and says what is wrong afterwards.
    mutating func round() throws -> [String] {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3: publish(names[Int.random(in: 0..<names.count, using: &random)])
        case 3: for name in names { publish(name) }
        case 4:
            for name in names where Bool.random(using: &random) { unlink(ground.root.full(name)) }
        case 5: ground.root.remove()
        default: break
        }
        try ground.folder.makeFolders(above: "root/.")
        let run = try ground.start([verb, manifest])
        Pause.milliseconds(Int.random(in: 0..<600, using: &random))
        run.signal(SIGKILL)
        let result = run.wait()
        kills += result.ending == .signalled(SIGKILL) ? 1 : 0
        let isClean = result.ending == .signalled(SIGKILL) || result.ending == .exited(0)
        return flaws(isFinished: false) + (isClean ? [] : ["\(result)"])
    }

    func finish() throws -> Command.Result { try ground.sync(manifest).wait() }

    /// Every name that holds anything but one version whole; when finished, anything but the last.
    func flaws(isFinished: Bool) -> [String] {
        let tree = ground.tree()
        let strangers = tree.keys.filter { !names.contains($0) }.map { "\($0) was not expected" }
        return strangers
            + names.compactMap { name in
                let all = versions[name] ?? []
                guard let bytes = tree[name] else { return isFinished ? "\(name) is absent" : nil }
                if isFinished { return bytes == all.last ? nil : "\(name) is not the last version" }
                return all.contains(bytes) ? nil : "\(name) is no version: \(bytes.count) bytes"
            }
    }
}
