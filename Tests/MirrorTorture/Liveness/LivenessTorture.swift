import Glibc
internal import MirrorTestSupport
import Synchronization

/// Sources that keep a run waiting: each run ends in the time that its limits allow, and brings the file
/// where there is one to be had.
enum LivenessTorture: TortureClass {
    static let name = "R20"
    static let title = "liveness: failures × mirrors × pins × parts × connections"
    static let trials = 816
    /// Runs at once: nearly all of them wait.
    private static let lanes = 8

    static func run(program: String, trials: Int, seed: UInt64) throws -> Tally {
        let hasProxy = access(Nghttpx.program, X_OK) == 0
        let cases = LivenessCase.all(http2: hasProxy).spread(trials)
        let results = Mutex<[(LivenessCase, LivenessResult)]>([])
        Workers.run(cases.count, atOnce: lanes) { number in
            let result: LivenessResult
            do {
                result = try LivenessStage(program: program, cases[number]).run()
            } catch {
                result = LivenessResult(complaints: ["\(error)"])
            }
            results.withLock { $0.append((cases[number], result)) }
        }
        // A sample runs beside other tests: there, how long it takes says nothing.
        let isTimed = trials >= 200
        var tally = Tally()
        var longest = 0.0
        for (liveness, result) in results.withLock({ $0 }) {
            var wrong = result.complaints
            longest = max(longest, result.seconds / liveness.seconds)
            if isTimed, result.seconds > liveness.seconds * 1.1 {
                wrong.append("\(Int(result.seconds * 1000)) ms of \(liveness.seconds) s")
            }
            tally.count(liveness.title, wrong)
        }
        tally.notes.append("at most \(Int(longest * 100)) % of what the limits allow")
        if !hasProxy { tally.notes.append("HTTP/1.1 only: there is no nghttpx here") }
        return tally
    }
}

/// What came of one run.
private struct LivenessResult: Sendable {
    var complaints: [String] = []
    var seconds = 0.0
}

/// A run against a sick source, and a healthy one where there is a mirror.
private struct LivenessStage {
    private static let file = TestBytes.make(3_000_000, seed: 20)
    private let liveness: LivenessCase
    private let origin: SickOrigin
    private let server: OriginServer
    private let mirror: OriginServer
    private let proxy: Nghttpx?
    private let ground: Playground

    init(program: String, _ liveness: LivenessCase) throws {
        self.liveness = liveness
        origin = SickOrigin(LivenessStage.file)
        server = try OriginServer(responder: origin)
        mirror = try OriginServer(responder: SickOrigin(LivenessStage.file))
        proxy = liveness.isHTTP2 ? try Nghttpx(before: server.port) : nil
        ground = try Playground(program: program, in: Folder.memory)
    }

    func run() throws -> LivenessResult {
        defer {
            proxy?.stop()
            server.stop()
            mirror.stop()
            ground.remove()
        }
        let manifest = try ground.write(manifest: manifest)
        if liveness.hasPart {
            // It ends amid the file, and leaves what it has.
            _ = try ground.sync(manifest, options + ["--max-transfer", "1000000"])
                .wait(seconds: 60)
        }
        origin.sicken(liveness.sickness)
        if liveness.sickness == .refused { server.stop() }
        let began = Milliseconds.now
        let run = try ground.sync(manifest, options).wait(seconds: 120)
        var result = LivenessResult(seconds: Double(Milliseconds.now - began) / 1000)
        result.complaints = complaints(of: run)
        return result
    }

    private func complaints(of run: Command.Result) -> [String] {
        let found = ground.tree()["Caches/a.bin"]
        var wrong: [String] = []
        if let found, found != LivenessStage.file { wrong.append("other bytes at the final name") }
        switch run.ending {
        case .exited(0): if found == nil { wrong.append("exit 0 without the file") }
        case .exited(1), .exited(69):
            if found != nil { wrong.append("\(run.ending) with the file") }
        default: wrong.append("\(run.ending): \(run.errors.suffix(300))")
        }
        if let comes = liveness.comesThrough, comes != (found != nil) {
            let failure = run.events.last { $0["event"] == .string("failed") }
            wrong.append(
                comes
                    ? "the file is not there: \(failure?["message"]?.word ?? run.errors)"
                    : "the file is there")
        }
        return wrong
    }

    private var options: [String] {
        [
            "--stall-timeout", "1s", "--retries", "\(LivenessCase.retries)", "--max-wait", "1s",
            "--segments", "\(liveness.segments)",
        ] + (proxy.map { ["--cacert", $0.certificate] } ?? [])
    }

    private var manifest: String {
        let base = proxy?.url ?? server.url
        let file = LivenessStage.file
        let pin =
            liveness.isPinned
            ? ",\"size\":\(file.count),\"sha256\":\"\(Checksum.sha256(file))\"" : ""
        let mirrors =
            switch liveness.mirror {
            case .none: ""
            case .sameHost: ",\"mirrors\":[\"\(base)/b.bin\"]"
            case .otherHost: ",\"mirrors\":[\"\(mirror.url)/b.bin\"]"
            }
        return "{\"name\":\"l\",\"resources\":[{\"path\":\"Caches/a.bin\","
            + "\"url\":\"\(base)/a.bin\"\(pin)\(mirrors)}]}"
    }
}

/// Serves a file; under one name of two as a sickness has it.
private final class SickOrigin: Responder {
    private let file: [UInt8]
    private let state = Mutex((sickness: Sickness.healthy, count: 0))

    init(_ file: [UInt8]) { self.file = file }

    func sicken(_ sickness: Sickness) { state.withLock { $0 = (sickness, 0) } }

    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        let isSick = request.path.hasPrefix("/a")
        let (sickness, count) = state.withLock { state in
            if isSick { state.count += 1 }
            return (state.sickness, state.count - 1)
        }
        return (isSick ? sickness : .healthy)
            .answer(request, file, count: count, on: connection)
    }
}
