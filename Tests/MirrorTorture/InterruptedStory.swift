internal import Glibc
internal import MirrorTestSupport

/// Runs that are interrupted at random instants, over a few large files, many small ones, one that
/// comes over several connections, or a set that is promoted as a whole.
struct InterruptedStory {
    private enum Mode: CaseIterable {
        case fresh, resume, update, small, segmented, whole

        var files: Files {
            switch self {
            case .fresh, .resume, .update: .large
            case .small: .small
            case .segmented: .wide
            case .whole: .set
            }
        }
    }

    private enum Files: String, CaseIterable {
        case large, small, wide, set

        var sizes: [String: Int] {
            switch self {
            case .large: InterruptedStory.large
            case .small: InterruptedStory.small
            case .wide: ["Caches/wide": 24_000_000, "Documents/wide": 9_000_000]
            case .set: InterruptedStory.set
            }
        }
    }

    private let ground: Playground
    private let shelf = MemoryShelf()
    private let server: OriginServer
    private let manifests: [Files: String]
    private var random: SplitMix64
    private var versions: [String: [[UInt8]]] = [:]
    private var interrupted = 0
    private var slowest = 0

    private static let large = [
        "Caches/small": 3000, "Documents/over": 90_000, "Documents/middle": 500_000,
        "tmp/large": 2_000_000,
    ]
    private static let small = Dictionary(
        uniqueKeysWithValues: (0..<500).map { ("Caches/many/\($0)", 100 + $0 * 37) })

    private static let set = Dictionary(
        uniqueKeysWithValues: (0..<40).map { ("Caches/set/\($0 % 5)/\($0)", 400 + $0 * 500) })

    /// Interrupts as many runs as there are trials, each followed by one that is not.
    static func run(
        program: String, trials: Int, seed: UInt64, signals: [Int32]
    ) throws -> Tally {
        var tally = Tally()
        var story = try InterruptedStory(program: program, seed: seed)
        defer { story.end() }
        var attempt = 0
        // A run that ended before its signal counts as no trial; there are at most as many again.
        while story.interrupted < trials, attempt < trials * 3 {
            let before = story.interrupted
            let signal = signals[attempt % signals.count]
            let wrong = try story.round(Mode.allCases[attempt % Mode.allCases.count], signal)
            if story.interrupted > before || !wrong.isEmpty {
                tally.count("seed \(seed), round \(attempt), signal \(signal)", wrong)
            }
            attempt += 1
        }
        tally.notes.append("\(attempt - story.interrupted) more runs ended before the signal")
        if !signals.contains(SIGKILL) {
            tally.notes.append("the slowest end took \(story.slowest) ms")
        }
        return tally
    }

    private init(program: String, seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        let ground = try Playground(program: program, in: Folder.memory)
        self.ground = ground
        let server = try OriginServer(responder: ShelfOrigin(shelf, bytesPerSecond: 8_000_000))
        self.server = server
        var manifests: [Files: String] = [:]
        for files in Files.allCases {
            let resources = files.sizes.keys.sorted().map {
                "{\"path\":\"\($0)\",\"url\":\"\($0)\"}"
            }
            manifests[files] = try ground.write(
                manifest:
                    "{\"name\":\"\(files)\",\"atomic\":\(files == .set),\"base\":\"\(server.url)/\",\"resources\":["
                    + resources.joined(separator: ",") + "]}",
                as: "\(files).json")
        }
        self.manifests = manifests
        for files in Files.allCases { publish(files.sizes) }
    }

    private func end() {
        server.stop()
        ground.remove()
    }

    private mutating func publish(_ sizes: [String: Int]) {
        for (name, size) in sizes.sorted(by: { $0.key < $1.key }) {
            let bytes = TestBytes.make(size, seed: random.next())
            versions[name] = (versions[name] ?? []).suffix(1) + [bytes]
            shelf.put("/" + name, bytes)
        }
    }

    /// One interrupted run (two when a part is to be continued), the look after it, and the rerun.
    private mutating func round(_ mode: Mode, _ signal: Int32) throws -> [String] {
        let sizes = mode.files.sizes
        let options = mode == .segmented ? ["--segments", "4"] : []
        switch mode {
        case .fresh, .small, .resume, .segmented:
            ground.root.remove()
            try ground.folder.makeFolders(above: "root/.")
        case .update: publish(sizes)
        case .whole: break
        }
        guard let manifest = manifests[mode.files] else { return ["no manifest"] }
        if mode == .whole {
            _ = try ground.sync(manifest).wait()
            publish(sizes)
        }
        if mode == .resume || mode == .segmented {
            let first = try ground.sync(manifest, options)
            let longest = mode == .segmented ? 700 : 250
            Pause.milliseconds(Int.random(in: 30..<longest, using: &random))
            first.signal(SIGKILL)
            _ = first.wait()
        }
        let run = try ground.sync(manifest, options)
        Pause.milliseconds(Int.random(in: 5..<400, using: &random))
        run.signal(signal)
        let began = Milliseconds.now
        let result = run.wait()
        var wrong: [String] = []
        switch (result.ending, signal) {
        case (.signalled(SIGKILL), SIGKILL): interrupted += 1
        case (.exited(130), SIGINT), (.exited(143), SIGTERM):
            interrupted += 1
            slowest = max(slowest, Milliseconds.now - began)
            if Milliseconds.now - began > 1000 { wrong.append("\(Milliseconds.now - began) ms") }
        // Before main: nothing is set up yet, and nothing has been touched: no lock was taken.
        case (.signalled(signal), _) where !ground.isLockNaming(run): break
        case (.exited(0), _): break
        default: wrong.append("\(result.ending): \(result.errors.suffix(300))")
        }
        let tree = ground.tree()
        for (name, bytes) in tree where !(versions[name] ?? []).contains(bytes) {
            wrong.append("\(name) is no version: \(bytes.count) bytes")
        }
        if mode == .whole { wrong += mixture(tree, sizes) }
        let again = try ground.sync(manifest, options).wait()
        if again.ending != .exited(0) {
            wrong.append("the rerun: \(again.ending) \(again.errors.suffix(300))")
        }
        for name in sizes.keys where ground.root.read(name) != versions[name]?.last {
            wrong.append("\(name) is not the last version after the rerun")
        }
        if !ground.parts().isEmpty { wrong.append("parts are left: \(ground.parts())") }
        return wrong
    }

    /// What is wrong where the tree holds neither the old set nor the new one.
    private func mixture(_ tree: [String: [UInt8]], _ sizes: [String: Int]) -> [String] {
        let isOld = sizes.keys.allSatisfy { tree[$0] == versions[$0]?.first }
        let isNew = sizes.keys.allSatisfy { tree[$0] == versions[$0]?.last }
        return isOld || isNew ? [] : ["the set is a mixture"]
    }
}
