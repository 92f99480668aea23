internal import Glibc
internal import MirrorTestSupport

/// Large files that arrive as fast as they can, and runs that are killed far into them: what the
/// next run asks for again.
///
/// Counted is what the killed process had read from its sockets and the next run fetches again: the
/// process is stopped, so that it reads no more; what its origin had handed to the kernel, less what
/// lies in the queues of the two sockets, is what it had; then it is killed.
struct RefetchStory {
    /// The most that an interrupted file may cost again, in bytes.
    static let limit = 16 << 20

    private let ground: Playground
    private let server: OriginServer
    private let origin: CountingOrigin
    private let manifest: String
    private let files: [String: [UInt8]]
    private var random: SplitMix64
    private var worst = 0
    private var kills = 0

    /// Kills so many runs, one in four of them on the file system of `/tmp`.
    static func run(program: String, trials: Int, seed: UInt64, into tally: inout Tally) throws {
        var worst = 0
        for (parent, share) in [(Folder.memory, trials - trials / 4), ("/tmp", trials / 4)] {
            var story = try RefetchStory(program: program, in: parent, seed: seed)
            defer { story.end() }
            var attempt = 0
            while story.kills < share, attempt < share * 3 {
                let before = story.kills
                let wrong = try story.round()
                if story.kills > before || !wrong.isEmpty {
                    tally.count("seed \(seed), large files in \(parent), round \(attempt)", wrong)
                }
                attempt += 1
            }
            worst = max(worst, story.worst)
        }
        tally.notes.append(
            "of an interrupted file at most \((Double(worst) / 104857.6).rounded() / 10) MiB "
                + "were fetched again")
    }

    private init(program: String, in parent: String, seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        let shelf = MemoryShelf()
        files = [
            "Caches/far.bin": TestBytes.make(64 << 20, seed: seed),
            "Documents/near.bin": TestBytes.make(40 << 20, seed: seed + 1),
        ]
        for (name, bytes) in files { shelf.put("/" + name, bytes) }
        origin = CountingOrigin(shelf)
        ground = try Playground(program: program, in: parent)
        server = try OriginServer(responder: origin)
        let pin = Checksum.sha256(files["Documents/near.bin"] ?? [])
        manifest = try ground.write(
            manifest: """
                {"name": "far", "base": "\(server.url)/", "resources": [
                  {"path": "Caches/far.bin", "url": "Caches/far.bin"},
                  {"path": "Documents/near.bin", "url": "Documents/near.bin", "sha256": "\(pin)"}]}
                """)
    }

    private func end() {
        server.stop()
        ground.remove()
    }

    /// One to three killed runs in a row, and one that is not.
    private mutating func round() throws -> [String] {
        ground.root.remove()
        try ground.folder.makeFolders(above: "root/.")
        var wrong: [String] = []
        var held: [String: Int] = [:]
        repeat {
            _ = origin.takeAnswers()
            let had = try interrupt()
            wrong += count(held)
            guard let had else { break }
            kills += 1
            held.merge(had) { max($0, $1) }
        } while Int.random(in: 0..<3, using: &random) == 0
        _ = origin.takeAnswers()
        let result = try ground.sync(manifest).wait()
        wrong += count(held)
        if result.ending != .exited(0) {
            wrong.append("the rerun: \(result.ending) \(result.errors.suffix(300))")
        }
        for (name, bytes) in files where !ground.root.holds(name, bytes) {
            wrong.append("\(name) is not what was served")
        }
        if !ground.parts().isEmpty { wrong.append("parts are left: \(ground.parts())") }
        return wrong
    }

    /// Holds what a run asked for against what the ones before it had.
    private mutating func count(_ held: [String: Int]) -> [String] {
        var wrong: [String] = []
        for (path, answer) in origin.soFar {
            let again = max(0, (held[path] ?? 0) - answer.start)
            worst = max(worst, again)
            if again > RefetchStory.limit {
                wrong.append("\(path): \(again) of \(held[path] ?? 0) bytes were fetched again")
            }
        }
        return wrong
    }

    /// Kills a run when so many bytes were sent; how far each file had come in it. Nil when it ended
    /// before that.
    private mutating func interrupt() throws -> [String: Int]? {
        let run = try ground.sync(manifest)
        let goal = Int.random(in: 0..<(104 << 20), using: &random)
        while !run.hasEnded, origin.soFar.values.reduce(0, { $0 + $1.start + $1.sent }) < goal {
            usleep(200)
        }
        run.signal(SIGSTOP)
        var last: [String: Int] = [:]
        repeat {
            last = received()
            usleep(20_000)
        } while last != received()
        run.signal(SIGKILL)
        return run.wait().ending == .signalled(SIGKILL) ? last : nil
    }

    private func received() -> [String: Int] {
        origin.soFar.mapValues { answer in
            let queued = SocketQueues.between(sender: server.port, receiver: answer.receiver)
            return answer.start + max(0, answer.sent - queued)
        }
    }
}

extension Folder {
    /// Whether a file has exactly these bytes.
    func holds(_ name: String, _ bytes: [UInt8]) -> Bool {
        guard let there = read(name), there.count == bytes.count else { return false }
        return memcmp(there, bytes, bytes.count) == 0
    }
}
