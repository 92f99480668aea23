internal import Glibc
internal import MirrorTestSupport

/// A damaged index: a run ends with the right files, or says that it did not.
enum IndexTorture: TortureClass {
    static let name = "R11"
    static let title = "index with flipped bytes, cut, zeroed, foreign, newer"
    static let trials = 610

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        var tally = Tally()
        var random = SplitMix64(seed: seed)
        // A large index is not read as a whole when it is opened.
        var stories = [
            try IndexStory(program: program, bulk: 0), try IndexStory(program: program, bulk: 1500),
        ]
        defer { for story in stories { story.end() } }
        for (number, story) in stories.enumerated() {
            tally.count("a first run of story \(number)", try story.settle())
        }
        for trial in 0..<max(1, trials - stories.count) {
            let number = trial / 61 % stories.count
            let damage = IndexDamage.one(of: trial, stories[number].indexSize, &random)
            stories[number].disturb(trial)
            tally.count(
                "seed \(seed), trial \(trial) of story \(number), \(damage)",
                try stories[number].wrong(after: damage))
        }
        return tally
    }
}

/// One way to damage an index.
private enum IndexDamage: CustomStringConvertible {
    case flip(at: Int, bit: UInt8)
    case cut(to: Int)
    case zeroed(from: Int, count: Int)
    case random(seed: UInt64)
    /// A database of another application (bytes 68 to 71 of the header).
    case foreign
    case newer
    case absent

    /// Five flips to one cut, and now and then one of the others.
    static func one(
        of trial: Int, _ size: Int, _ random: inout SplitMix64
    ) -> IndexDamage {
        switch trial % 61 {
        case 60: .newer
        case 59: .absent
        case 58: .random(seed: random.next())
        case 55: .foreign
        case 57: .zeroed(from: 0, count: size)
        case 56: .zeroed(from: Int.random(in: 0..<size / 4096, using: &random) * 4096, count: 4096)
        case let kind where kind % 6 == 5: .cut(to: Int.random(in: 0..<size, using: &random))
        default:
            .flip(
                at: Int.random(in: 0..<size, using: &random),
                bit: 1 << UInt8.random(in: 0..<8, using: &random))
        }
    }

    func apply(to bytes: [UInt8]) -> [UInt8]? {
        var bytes = bytes
        switch self {
        case .flip(let at, let bit): bytes[at] ^= bit
        case .cut(let count): bytes.removeSubrange(count...)
        case .zeroed(let from, let count):
            for at in from..<min(from + count, bytes.count) { bytes[at] = 0 }
        case .random(let seed): bytes = TestBytes.make(bytes.count, seed: seed)
        case .foreign: bytes.replaceSubrange(68..<72, with: [1, 2, 3, 4])
        case .newer: bytes[63] = 99
        case .absent: return nil
        }
        return bytes
    }

    /// Whether the schema's version is other than it was (bytes 60 to 63 of the header).
    var isNewer: Bool {
        switch self {
        case .newer: true
        case .flip(let at, _): (60..<64).contains(at)
        default: false
        }
    }

    var description: String {
        switch self {
        case .flip(let at, let bit): "bit \(bit) of byte \(at)"
        case .cut(let count): "cut to \(count)"
        case .zeroed(let from, let count): "\(count) zeros at \(from)"
        case .random: "random bytes"
        case .foreign: "foreign"
        case .newer: "newer"
        case .absent: "absent"
        }
    }
}

/// A tree of pinned and unpinned files, an origin, and an index that is damaged between runs.
private struct IndexStory {
    private let ground: Playground
    private let shelf = MemoryShelf()
    private let server: OriginServer
    private var versions: [String: [UInt8]] = [:]
    private let index = ".mirror/index.sqlite"
    private let unpinned = ["Caches/a", "Caches/deep/b", "Documents/c", "tmp/d"]
    private let pinned = ["Caches/p", "Documents/q"]

    /// Further small files, most of them pinned, and the others never asked about again.
    private let bulk: [String]

    /// Makes a tree of six files, and of as many small ones as `bulk` says.
    init(program: String, bulk count: Int) throws {
        bulk = (0..<count).map { "Documents/bulk/\($0 + 10_000).txt" }
        ground = try Playground(program: program, in: Folder.memory)
        server = try OriginServer(responder: ShelfOrigin(shelf))
        for (number, name) in (unpinned + pinned).enumerated() {
            publish(name, seed: UInt64(number))
        }
        for (number, name) in bulk.enumerated() {
            versions[name] = Array("\(number)".utf8)
            shelf.put("/" + name, Array("\(number)".utf8))
        }
    }

    func end() {
        server.stop()
        ground.remove()
    }

    var indexSize: Int { ground.root.size(index) ?? 0 }

    private mutating func publish(_ name: String, seed: UInt64) {
        let bytes = TestBytes.make(20_000, seed: seed)
        versions[name] = bytes
        shelf.put("/" + name, bytes)
    }

    /// Lets the world change too: a new version, a lost file, a cached file with other bytes.
    mutating func disturb(_ trial: Int) {
        let seed = UInt64(trial) + 100
        switch trial % 4 {
        case 0: publish(unpinned[trial / 4 % unpinned.count], seed: seed)
        case 1: publish(pinned[trial / 4 % pinned.count], seed: seed)
        case 2:
            let names = unpinned + pinned
            unlink(ground.root.full(names[trial / 4 % names.count]))
        default:
            let name = trial % 8 == 3 ? "Caches/a" : "Caches/p"
            try? ground.root.write(name, TestBytes.make(20_000, seed: seed))
        }
    }

    private func sync() throws -> Command.Result {
        let resources = (unpinned + pinned).map { name in
            let pin = pinned.contains(name) ? Checksum.sha256(versions[name] ?? []) : nil
            return "{\"path\":\"\(name)\",\"url\":\"\(name)\""
                + (pin.map { ",\"sha256\":\"\($0)\"" } ?? "") + "}"
        }
        let many = bulk.enumerated().map { number, name in
            let fact =
                number % 10 == 0
                ? "\"refresh\":\"never\""
                : "\"sha256\":\"\(Checksum.sha256(versions[name] ?? []))\""
            return "{\"path\":\"\(name)\",\"url\":\"\(name)\",\(fact)}"
        }
        let manifest = try ground.write(
            manifest: "{\"name\":\"i\",\"base\":\"\(server.url)/\",\"resources\":["
                + (resources + many).joined(separator: ",") + "]}")
        // What the index does not know any more must not pass for an orphan.
        return try ground.sync(manifest, ["--retries", "0", "--prune"]).wait()
    }

    /// What is not as it was served.
    private func flaws() -> [String] {
        versions.keys.sorted().filter { ground.root.read($0) != versions[$0] }.map {
            "\($0) is not what was served"
        }
    }

    /// Runs until nothing is to be done; what is wrong then.
    func settle() throws -> [String] {
        let result = try sync()
        for entry in ground.root.entries()
        where entry.name.contains(".mirror-conflict-") || entry.name.contains(".damaged") {
            unlink(ground.root.full(entry.name))
        }
        return result.ending == .exited(0)
            ? flaws() : ["the next run: \(result.ending) \(result.errors.suffix(300))"]
    }

    /// Damages the index, runs twice, and says what is wrong.
    func wrong(after damage: IndexDamage) throws -> [String] {
        guard let good = ground.root.read(index) else { return ["no index"] }
        let bad = damage.apply(to: good)
        unlink(ground.root.full(index))
        if let bad { try ground.root.write(index, bad) }
        let before = ground.tree()
        let result = try sync()
        var wrong: [String] = []
        switch result.ending {
        case .exited(0): wrong = flaws()
        case .exited(78) where damage.isNewer:
            if ground.root.read(index) != bad { wrong.append("a newer index was changed") }
            if ground.tree() != before { wrong.append("the tree was changed") }
            try ground.root.write(index, good)
        case .exited(74): break
        default: wrong.append("\(result.ending): \(result.errors.suffix(300))")
        }
        if case .newer = damage, result.ending != .exited(78) { wrong.append("\(result.ending)") }
        return wrong + (try settle())
    }
}
