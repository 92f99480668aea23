internal import Glibc
internal import MirrorTestSupport
internal import Synchronization

/// Disks of a hundred sizes on which a run does not, or just, fit.
enum FullDiskTorture: TortureClass {
    static let name = "R12"
    static let title = "a full disk, at sizes from none to enough"
    static let trials = 150

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        guard SmallFileSystem.isPossible else { return Tally(notRun: "mount(2) is not permitted") }
        var tally = Tally()
        var story = try FullDiskStory(program: program, seed: seed)
        defer { story.end() }
        // A third of them fetch one large file over several connections.
        for divides in [false, true] {
            let share = divides ? trials / 3 : trials - trials / 3
            for trial in 0..<share {
                let size = FullDiskStory.greatest * (trial + 1) / share
                let place = divides ? "segments, trial \(trial)" : "trial \(trial)"
                tally.count(
                    "seed \(seed), \(place), \(size) bytes",
                    try story.round(trial, size, divides: divides))
            }
        }
        tally.notes.append(
            "\(story.full) runs met a full disk, \(story.refused) were refused at a head")
        tally.notes.append("\(story.continued) reruns continued a part")
        tally.notes.append("\(story.late) requests were on their way when the disk was full")
        return tally
    }
}

/// A tree that is fetched, or updated, where it has no room, and again where it has.
private struct FullDiskStory {
    /// What all files take, and a little more.
    static let greatest = 3 << 20
    private static let large = "Documents/large"
    private static let jobs = 2

    private let ground: Playground
    private let origins: [Bool: PacedOrigin]
    private let servers: [Bool: OriginServer]
    private let small: [[String: [UInt8]]]
    private let divided: [[String: [UInt8]]]
    private(set) var full = 0
    private(set) var refused = 0
    private(set) var continued = 0
    private(set) var late = 0

    init(program: String, seed: UInt64) throws {
        ground = try Playground(program: program, in: Folder.memory)
        var sizes = [FullDiskStory.large: 700_000]
        for number in 0..<40 {
            let area = number % 2 == 0 ? "Caches" : "Documents"
            sizes["\(area)/\(number)"] = 20_000 + number * 1500
        }
        func versions(_ sizes: [String: Int]) -> [[String: [UInt8]]] {
            [0, 1].map { version in
                sizes.mapValues { TestBytes.make($0, seed: seed &+ UInt64($0 * 2 + version)) }
            }
        }
        small = versions(sizes)
        divided = versions([FullDiskStory.large: 2_700_000])
        // One tells how long its bodies are, the other does not.
        origins = [true: PacedOrigin(tellsLengths: true), false: PacedOrigin(tellsLengths: false)]
        servers = try origins.mapValues { try OriginServer(responder: $0) }
    }

    func end() {
        for server in servers.values { server.stop() }
        ground.remove()
    }

    private func manifest(_ names: some Collection<String>, _ tellsLengths: Bool) throws -> String {
        let base = servers[tellsLengths]?.url ?? ""
        let resources = names.sorted().map { "{\"path\":\"\($0)\",\"url\":\"\($0)\"}" }
        return try ground.write(
            manifest: "{\"name\":\"f\",\"base\":\"\(base)/\",\"resources\":["
                + resources.joined(separator: ",") + "]}",
            as: "\(tellsLengths).json")
    }

    mutating func round(_ trial: Int, _ size: Int, divides: Bool) throws -> [String] {
        let (isUpdate, tellsLengths) = (trial % 2 == 1, divides || trial % 4 >= 2)
        guard let origin = origins[tellsLengths] else { return ["no server"] }
        let versions = divides ? divided : small
        let manifest = try manifest(versions[0].keys, tellsLengths)
        let disk = try SmallFileSystem(bytes: isUpdate ? 16 << 20 : size)
        let ground = ground.with(root: disk.folder)
        let options =
            ["--min-free", "0", "--retries", "0", "--jobs", "\(FullDiskStory.jobs)"]
            + (divides ? ["--segments", "\(FullDiskStory.jobs)"] : [])
        var before: [String: [UInt8]] = [:]
        if isUpdate {
            before = versions[0]
            origin.serve(before)
            let first = try ground.sync(manifest, ["--min-free", "0"]).wait()
            guard first.ending == .exited(0) else { return ["the first run: \(first)"] }
            try disk.resize(bytes: disk.usedBytes + size)
        }
        origin.serve(versions[1])
        let log = "full-\(divides)-\(trial)"
        let result = try ground.sync(
            manifest, options,
            adding: [
                "LD_PRELOAD": try LyingDisk.path(),
                "LYING_DISK_FULL": ground.folder.full(log),
            ]
        ).wait()
        var wrong = wrongFiles(in: ground, before, versions[1])
        let code: Int32 = if case .exited(let code) = result.ending { code } else { -1 }
        switch code {
        case 0: wrong += unfinished(in: ground, versions[1])
        case 74:
            full += 1
            if result.summary?["error"]?["code"] != .string("no-space"),
                !result.errors.contains("the disk is full")
            {
                wrong.append("74, and no word of a full disk: \(result.output.suffix(400))")
            }
        // What a head promises may not fit, and is refused there.
        case 77: refused += 1
        default: wrong.append("\(result.ending): \(result.output.suffix(400)) \(result.errors)")
        }
        let text = String(decoding: ground.folder.read(log) ?? [], as: UTF8.self)
        if let first = text.split(separator: "\n").compactMap({ Int($0) }).min() {
            let count = origin.requests(after: first)
            late += count
            // On a busy machine each place may make one more before the word has come round; a
            // sanitizer makes its way longer than that of a small body.
            // Files that are there are asked about all the same, and most of them need no room.
            if count > 2 * FullDiskStory.jobs, !isUpdate, !Sanitizers.areOn {
                wrong.append("\(count) requests after it was full")
            }
            if code == 0 { wrong.append("exit 0 with a full disk") }
        }
        let hasPart = ground.parts().contains { $0.hasPrefix("tmp/large.") }
        try disk.resize(bytes: 32 << 20)
        origin.serve(versions[1])
        let again = try ground.sync(manifest, options).wait()
        if again.ending != .exited(0) { wrong.append("the rerun: \(again.ending) \(again.errors)") }
        wrong += unfinished(in: ground, versions[1]).map { "after the rerun: \($0)" }
        if hasPart, again.summary("resumed") == "1" { continued += 1 }
        return wrong
    }

    private func wrongFiles(
        in ground: Playground, _ before: [String: [UInt8]], _ wanted: [String: [UInt8]]
    ) -> [String] {
        let tree = ground.tree()
        return tree.filter { $1 != before[$0] && $1 != wanted[$0] }.map {
            "\($0.key): \($0.value.count) bytes of no version"
        } + before.keys.filter { tree[$0] == nil }.map { "\($0) is gone" }
    }

    private func unfinished(in ground: Playground, _ wanted: [String: [UInt8]]) -> [String] {
        let tree = ground.tree()
        let parts = ground.parts()
        return wanted.filter { tree[$0.key] != $0.value }.map { "\($0.key) is not right" }
            + (parts.isEmpty ? [] : ["parts are left: \(parts)"])
    }
}

/// A server that takes its time, notes when it was asked, and may keep the lengths of its bodies to
/// itself.
private final class PacedOrigin: Responder {
    private struct State {
        var items: [String: [UInt8]] = [:]
        var times: [Int] = []
    }

    private let state = Mutex(State())
    private let tellsLengths: Bool

    init(tellsLengths: Bool) { self.tellsLengths = tellsLengths }

    /// Replaces what is served, and forgets who asked.
    func serve(_ items: [String: [UInt8]]) {
        state.withLock { $0 = State(items: items) }
    }

    /// How many requests came after a time of the wall clock, in nanoseconds.
    func requests(after time: Int) -> Int { state.withLock { $0.times.count { $0 > time } } }

    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        let item: [UInt8]? = state.withLock { state in
            state.times.append(now.tv_sec * 1_000_000_000 + now.tv_nsec)
            return state.items[String(request.path.dropFirst())]
        }
        guard let item else {
            return connection.send(
                Array("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".utf8))
        }
        let tag = "\"\(Checksum.sha256(item).prefix(16))\""
        if request.value(of: "If-None-Match") == tag {
            return connection.send(
                Array("HTTP/1.1 304 Not Modified\r\nETag: \(tag)\r\n\r\n".utf8))
        }
        var lines = ["HTTP/1.1 200 OK", "ETag: \(tag)"]
        var body = item[...]
        if request.value(of: "If-Range") == tag,
            let range = request.value(of: "Range").flatMap({ RangeHeader($0, of: item.count) })
        {
            lines = ["HTTP/1.1 206 Partial Content", "ETag: \(tag)", range.headers[0]]
            body = item[range.bytes]
        }
        lines.append(
            tellsLengths ? "Content-Length: \(body.count)" : "Transfer-Encoding: chunked")
        guard connection.send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)) else {
            return false
        }
        return send(body, on: connection)
    }

    private func send(_ body: ArraySlice<UInt8>, on connection: Connection) -> Bool {
        var rest = body
        while !rest.isEmpty {
            let slice = rest.prefix(32_768)
            rest = rest.dropFirst(slice.count)
            let frame =
                tellsLengths
                ? Array(slice)
                : Array("\(String(slice.count, radix: 16))\r\n".utf8) + slice + Array("\r\n".utf8)
            guard connection.send(frame), connection.pause(milliseconds: 4) else { return false }
        }
        return tellsLengths || connection.send(Array("0\r\n\r\n".utf8))
    }
}
