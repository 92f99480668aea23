internal import Glibc
internal import MirrorTestSupport
internal import Synchronization

/// Servers that never end: each run ends in its time, and takes no more than it may.
enum EndlessTorture: TortureClass {
    static let name = "R14"
    static let title = "stalls, endless and compressed bodies, header floods, loops"
    static let trials = 1000
    private static let memoryLimit = 100 << 20
    /// Runs at once: most of them wait.
    private static let lanes = 6

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        let cases = EndlessAnswer.all.spread(trials)
        let results = Mutex<[(EndlessAnswer, EndlessResult)]>([])
        let next = Atomic(0)
        let running = Atomic(lanes)
        for _ in 0..<lanes {
            DetachedThread.start {
                while true {
                    let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
                    guard cases.indices.contains(number) else { break }
                    let answer = cases[number]
                    let result: EndlessResult
                    do {
                        result = try EndlessStage(program: program, answer: answer).run()
                    } catch {
                        result = EndlessResult(complaints: ["\(error)"])
                    }
                    results.withLock { $0.append((answer, result)) }
                }
                running.wrappingSubtract(1, ordering: .releasing)
            }
        }
        while running.load(ordering: .acquiring) > 0 { Pause.milliseconds(50) }
        return tally(of: results.withLock { $0 })
    }

    private static func tally(of results: [(EndlessAnswer, EndlessResult)]) -> Tally {
        var tally = Tally()
        var most = (memory: 0, over: 0.0, title: "")
        for (answer, result) in results {
            var wrong = result.complaints
            let over = result.seconds / answer.seconds - 1
            if over > most.over { (most.over, most.title) = (over, answer.title) }
            most.memory = max(most.memory, result.memory)
            if over > 0.1 {
                wrong.append("\(Int(result.seconds * 1000)) ms of \(answer.seconds) s")
            }
            // A child is charged with what its parent held: a test runner is larger than the limit.
            if result.memory >= memoryLimit, result.memory > ProcessMemory.peak {
                wrong.append("\(result.memory >> 20) MiB of memory")
            }
            tally.count(answer.title, wrong)
        }
        tally.notes.append(
            "most memory \(most.memory >> 20) MiB, at most \(Int(most.over * 100)) % over the limit"
        )
        return tally
    }
}

/// What came of one run.
struct EndlessResult: Sendable {
    var complaints: [String] = []
    /// From the first connection to the end.
    var seconds = 0.0
    var memory = 0
}

/// A run against one endless server.
private struct EndlessStage {
    private let answer: EndlessAnswer
    private let origin: EndlessOrigin
    private let server: OriginServer
    private let ground: Playground
    private let program: String

    init(program: String, answer: EndlessAnswer) throws {
        self.program = program
        self.answer = answer
        origin = EndlessOrigin(answer)
        server = try OriginServer(responder: origin)
        ground = try Playground(program: program, in: Folder.memory)
    }

    func run() throws -> EndlessResult {
        defer {
            server.stop()
            ground.remove()
        }
        let began = Milliseconds.now
        let run = try start().wait(seconds: 120)
        let ended = Milliseconds.now
        var result = EndlessResult(memory: run.peakMemory)
        result.seconds = Double(ended - (origin.firstContact ?? began)) / 1000
        switch run.ending {
        case .exited(1), .exited(66), .exited(69), .exited(77): break
        default: result.complaints.append("\(run.ending): \(run.errors.suffix(300))")
        }
        if origin.firstContact == nil { result.complaints.append("nothing was asked") }
        let files = ground.tree()
        if !files.isEmpty { result.complaints.append("made \(files.keys.sorted())") }
        return result
    }

    /// Starts it where no file can grow beyond the limit: a write beyond it would be seen as a
    /// failure of the disk (RLIMIT_FSIZE, setrlimit(2)).
    private func start() throws -> Command {
        let isManifest = answer.place == .manifest
        let manifest =
            isManifest
            ? server.url + "/m.json"
            : try ground.write(
                manifest: "{\"name\":\"e\",\"resources\":[{\"path\":\"Caches/a.bin\","
                    + "\"url\":\"\(url)\"\(answer.keys)}]}")
        var environment = [
            "MIRROR_ROOT": ground.root.path, "HOME": ground.folder.path, "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
        ]
        if answer.place == .proxy { environment["http_proxy"] = server.url }
        if answer.place == .tunnel { environment["https_proxy"] = server.url }
        let options =
            ["--json", "--stall-timeout", "6s"]
            + (answer.options.contains("--retries") ? [] : ["--retries", "0"]) + answer.options
        return try Command(
            "/bin/sh",
            ["-c", "ulimit -f \(answer.bytes / 512); exec \"$@\"", "sh", program, "sync", manifest]
                + options, environment: environment)
    }

    private var url: String {
        switch answer.place {
        case .source, .manifest: server.url + "/a.bin"
        case .tls: "https://\(server.authority)/a.bin"
        case .proxy: "http://origin.example/a.bin"
        case .tunnel: "https://origin.example/a.bin"
        }
    }
}

/// Does the same to every client.
private final class EndlessOrigin: Responder {
    private let answer: EndlessAnswer
    private let contact = Mutex<Int?>(nil)

    init(_ answer: EndlessAnswer) { self.answer = answer }

    /// When the first connection came, in milliseconds of the monotonic clock.
    var firstContact: Int? { contact.withLock { $0 } }

    func greet(on connection: Connection) -> Bool {
        contact.withLock { $0 = $0 ?? Milliseconds.now }
        return answer.greeting.allSatisfy { $0.carryOut(on: connection) }
    }

    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        answer.reply.allSatisfy { $0.carryOut(on: connection) }
    }
}

extension ReplyStep {
    /// Does a step that needs nothing but the connection; false ends that.
    fileprivate func carryOut(on connection: Connection) -> Bool {
        switch self {
        case .send(let bytes): return connection.send(bytes)
        case .trickle(let bytes, let count, let milliseconds):
            return stride(from: 0, to: bytes.count, by: count).allSatisfy {
                connection.send(Array(bytes[$0..<min($0 + count, bytes.count)]))
                    && connection.pause(milliseconds: milliseconds)
            }
        case .endless(let bytes):
            while connection.send(bytes) {}
            return false
        case .pause(let milliseconds): return connection.pause(milliseconds: milliseconds)
        case .hold:
            _ = connection.pause(milliseconds: 60_000)
            return false
        default: return false
        }
    }
}
