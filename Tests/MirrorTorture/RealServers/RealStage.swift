internal import Glibc
internal import MirrorTestSupport

/// A server, where it is a proxy an nginx behind it, and a root.
struct RealStage {
    private let running: [RunningServer]
    private let ground: Playground
    private let environment: [String: String]
    private let program: String
    private static let size = 3 << 20
    /// A time long ago that no other story has: servers know a version by it, and by its size.
    private static func longAgo(_ seed: UInt64) -> Int {
        1_000_000_000 + Int(seed % 4_000_000) * 100
    }

    init(program: String, _ server: RealServer) throws {
        self.program = program
        var running = [try RunningServer(server)]
        do {
            if server.isProxy { running.append(try RunningServer(.nginx)) }
            ground = try Playground(program: program, in: Folder.memory)
        } catch {
            for server in running { server.stop() }
            throw error
        }
        self.running = running
        environment = server.isProxy ? ["http_proxy": running[0].url] : [:]
    }

    func end() {
        for server in running { server.stop() }
        ground.remove()
    }

    private var origin: RunningServer { running[running.count - 1] }
    private var isProxy: Bool { running.count > 1 }

    // MARK: runs

    private func start(_ resources: String, _ options: [String]) throws -> Command {
        let manifest = try ground.write(
            manifest: "{\"name\":\"r\",\"base\":\"\(origin.url)/\",\"resources\":[\(resources)]}")
        let words = ["sync", manifest, "--json", "--retries", "1", "--max-wait", "1s"]
        return try Command(
            program, words + options,
            environment: [
                "MIRROR_ROOT": ground.root.path, "HOME": ground.folder.path, "LANG": "C.UTF-8",
            ].merging(environment) { $1 })
    }

    private func sync(_ resources: String) throws -> Command.Result {
        try start(resources, []).wait()
    }

    /// A run that is killed when its part has a third of the file.
    private func killedSync(_ resources: String) throws -> [String] {
        let run = try start(resources, ["--limit-rate", "2MiB"])
        var isLong = false
        for _ in 0..<2000 where !isLong {
            isLong = ground.parts().contains {
                (ground.root.size($0) ?? 0) >= RealStage.size / 3
            }
            if !isLong { Pause.milliseconds(5) }
        }
        // The milestone of what is there is logged within a second.
        Pause.milliseconds(600)
        run.signal(SIGKILL)
        let ending = run.wait().ending
        return isLong && ending == .signalled(SIGKILL) ? [] : ["the killed run: \(ending)"]
    }

    private func file(_ name: String = "a.bin") -> [UInt8]? { ground.root.read("Caches/" + name) }

    private func bytes(_ seed: UInt64, _ count: Int = size) -> [UInt8] {
        TestBytes.make(count, seed: seed)
    }

    private static let plain = "{\"path\":\"Caches/a.bin\",\"url\":\"a.bin\"}"
    private static let moved = "{\"path\":\"Caches/a.bin\",\"url\":\"moved/a.bin\"}"
    private static func pinned(_ bytes: [UInt8]) -> String {
        "{\"path\":\"Caches/a.bin\",\"url\":\"a.bin\",\"sha256\":\"\(Checksum.sha256(bytes))\"}"
    }

    // MARK: stories

    func wrong(in story: RealStory, seed: UInt64) throws -> [String] {
        ground.root.remove()
        try ground.folder.makeFolders(above: "root/.")
        switch story {
        case .confirmed: return try confirmed(seed)
        case .resumed: return try resumed(RealStage.plain, seed)
        case .resumedBehindRedirect: return try resumed(RealStage.moved, seed)
        case .resumedByPin: return try resumed(RealStage.pinned(bytes(seed)), seed)
        case .changed: return try changed(RealStage.plain, seed)
        case .changedBehindRedirect: return try changed(RealStage.moved, seed)
        case .changedUnderPin: return try changed(RealStage.pinned(bytes(seed &+ 1)), seed)
        case .changedInSecond: return try changedInSecond(seed)
        case .shrunk: return try changed(RealStage.plain, seed, to: 100_000)
        case .updated: return try updated(seed)
        case .absent: return try refused("none.bin", seed)
        case .folder: return try refused("d", seed)
        case .names: return try names(seed)
        case .identity: return try identity(seed)
        case .partAltered: return try partAltered(seed)
        }
    }

    private func confirmed(_ seed: UInt64) throws -> [String] {
        let sizes = [0, 1, 4096, 65_536, 65_537, 300_000]
        for size in sizes {
            try origin.put("f\(size)", bytes(seed, size), modified: RealStage.longAgo(seed))
        }
        let resources = sizes.map { "{\"path\":\"Caches/f\($0)\",\"url\":\"f\($0)\"}" }
            .joined(separator: ",")
        let first = try sync(resources)
        let second = try sync(resources)
        var wrong = first.unless(0, "the first run") + second.unless(0, "the second run")
        // squid confirms its own copy with the origin, and then sends it whole all the same.
        let kinds = isProxy ? ["revalidated", "unchanged"] : ["revalidated"]
        let confirmed = kinds.compactMap { second.summary($0).flatMap { Int($0) } }.reduce(0, +)
        if confirmed != sizes.count { wrong.append("\(confirmed) were confirmed") }
        return wrong
            + sizes.filter { file("f\($0)") != bytes(seed, $0) }.map { "f\($0) is wrong" }
    }

    private func resumed(_ resource: String, _ seed: UInt64) throws -> [String] {
        try origin.put("a.bin", bytes(seed), modified: RealStage.longAgo(seed))
        var wrong = try killedSync(resource)
        let run = try sync(resource)
        wrong += run.unless(0, "the second run")
        if run.summary("resumed") != "1" { wrong.append("it was not continued") }
        if Int(run.summary("bytesReused") ?? "") ?? 0 < RealStage.size / 3 {
            wrong.append("\(run.summary("bytesReused") ?? "no") bytes reused")
        }
        if file() != bytes(seed) { wrong.append("the file is wrong") }
        if !ground.parts().isEmpty { wrong.append("a part is left") }
        return wrong
    }

    private func changed(
        _ resource: String, _ seed: UInt64, to count: Int = size
    ) throws -> [String] {
        try origin.put("a.bin", bytes(seed), modified: RealStage.longAgo(seed))
        var wrong = try killedSync(resource)
        try origin.put("a.bin", bytes(seed &+ 1, count), modified: RealStage.longAgo(seed) + 60)
        wrong += try sync(resource).unless(0, "the second run")
        if file() != bytes(seed &+ 1, count) { wrong.append("the file is not the new version") }
        return wrong
    }

    private func changedInSecond(_ seed: UInt64) throws -> [String] {
        // A date that is not over yet: whatever else is sent, nothing vouches for the bytes.
        let soon = time(nil) + 3600
        try origin.put("a.bin", bytes(seed), modified: soon)
        var wrong = try killedSync(RealStage.plain)
        try origin.put("a.bin", bytes(seed &+ 1), modified: soon)
        wrong += try sync(RealStage.plain).unless(0, "the second run")
        // What a cache holds under the same validators is one of the versions, but not the last.
        let versions = isProxy ? [bytes(seed), bytes(seed &+ 1)] : [bytes(seed &+ 1)]
        if !versions.contains(file() ?? []) { wrong.append("the file is not the new version") }
        return wrong
    }

    private func updated(_ seed: UInt64) throws -> [String] {
        try origin.put("a.bin", bytes(seed), modified: RealStage.longAgo(seed))
        var wrong = try sync(RealStage.plain).unless(0, "the first run")
        try origin.put("a.bin", bytes(seed &+ 1), modified: RealStage.longAgo(seed) + 60)
        wrong += try killedSync(RealStage.plain)
        if file() != bytes(seed) { wrong.append("the old version is gone") }
        let run = try sync(RealStage.plain)
        wrong += run.unless(0, "the last run")
        if run.summary("bytesReused") == "0" { wrong.append("the update was not continued") }
        if file() != bytes(seed &+ 1) { wrong.append("the file is not the new version") }
        return wrong
    }

    private func refused(_ name: String, _ seed: UInt64) throws -> [String] {
        try origin.put("d/x", bytes(seed, 10), modified: RealStage.longAgo(seed))
        let run = try sync("{\"path\":\"Caches/a.bin\",\"url\":\"\(name)\"}")
        return run.unless(1, "the run") + (file() == nil ? [] : ["a file was made"])
    }

    private func names(_ seed: UInt64) throws -> [String] {
        let names = ["a b.bin", "50%.bin", "é☃.bin", "a+b&c=d.bin", "q?.bin", "h#.bin", "'\".bin"]
        for name in names {
            try origin.put(name, bytes(seed, 1000), modified: RealStage.longAgo(seed))
        }
        let resources = names.map { name in
            let encoded = name.utf8.map { byte in
                let digits = String(byte, radix: 16)
                return "%" + (digits.count < 2 ? "0" : "") + digits
            }.joined()
            return "{\"path\":\(JSONText.quoted("Caches/" + name)),\"url\":\"\(encoded)\"}"
        }
        return try sync(resources.joined(separator: ",")).unless(0, "the run")
            + names.filter { file($0) != bytes(seed, 1000) }.map { "\($0) is wrong" }
    }

    private func identity(_ seed: UInt64) throws -> [String] {
        let text = [UInt8](repeating: 65, count: 200_000)
        try origin.put("a.txt", text, modified: RealStage.longAgo(seed))
        let run = try sync("{\"path\":\"Caches/a.txt\",\"url\":\"a.txt\"}")
        return run.unless(0, "the run") + (file("a.txt") == text ? [] : ["the file is wrong"])
    }

    private func partAltered(_ seed: UInt64) throws -> [String] {
        try origin.put("a.bin", bytes(seed), modified: RealStage.longAgo(seed))
        var wrong = try killedSync(RealStage.plain)
        for part in ground.parts() {
            let count = ground.root.size(part) ?? 0
            try ground.root.write(part, bytes(seed &+ 1, count))
        }
        wrong += try sync(RealStage.plain).unless(0, "the second run")
        if file() != bytes(seed) { wrong.append("the file is wrong") }
        return wrong
    }
}
