internal import Synchronization
internal import MirrorTestSupport

/// One large file over several connections, of which only the first is answered honestly.
struct SegmentTrial: Sendable {
    /// Which of the further requests meet the lie.
    enum Place: String, CaseIterable, Sendable { case all, first, odd }

    let lie: SegmentLie
    let place: Place
    let knowledge: Knowledge
    let segments: Int

    var title: String {
        "\(segments) segments, \(lie.name) to \(place.rawValue); \(knowledge.rawValue) known"
    }

    /// Every trial that has an outcome: what nothing can tell is not asked.
    static let all: [SegmentTrial] = SegmentLie.all.flatMap { lie in
        Place.allCases.flatMap { place in
            Knowledge.allCases.filter { $0.isPinned || !lie.isBelievable }.flatMap { knowledge in
                [2, 4].map {
                    SegmentTrial(lie: lie, place: place, knowledge: knowledge, segments: $0)
                }
            }
        }
    }

    /// What is not as it should be: the file is right, or not there and the run says so, because what was
    /// missing in the end was lied about to the transfer's own connection too; and without lies the
    /// next run makes it right.
    func wrong(on stage: SegmentStage) throws -> [String] {
        try stage.ground.clear()
        stage.origin.play(self)
        let options = ["--segments", "\(segments)"]
        let run = try stage.sync(knowledge, options)
        let wholeBodies = stage.origin.wholeBodies
        let file = stage.ground.root.read(SegmentStage.target)
        var wrong: [String] = []
        switch run.ending {
        case .exited(0) where file == stage.bytes && stage.ground.parts().isEmpty: break
        case .exited(1) where file == nil, .exited(69) where file == nil: break
        default:
            wrong.append(
                "\(run.ending), \(file?.count ?? -1) bytes, parts \(stage.ground.parts()): "
                    + run.errors.suffix(300))
        }
        let restarts = run.events.filter { $0["event"] == .string("restart") }.count
        if restarts > 2 { wrong.append("\(restarts) restarts") }
        if wholeBodies > 2 { wrong.append("\(wholeBodies) whole bodies") }
        stage.origin.play(nil)
        let honest = try stage.sync(knowledge, options)
        if honest.ending != .exited(0) { wrong.append("the honest run: \(honest.ending)") }
        if stage.ground.root.read(SegmentStage.target) != stage.bytes {
            wrong.append("after the honest run the file is not what was served")
        }
        if !stage.ground.parts().isEmpty { wrong.append("the honest run left a part") }
        return wrong
    }
}

/// The root and the server that the trials share.
struct SegmentStage {
    static let target = "Caches/a.bin"
    let ground: Playground
    let origin: SegmentOrigin
    let bytes: [UInt8]
    private let server: OriginServer

    init(program: String, seed: UInt64) throws {
        bytes = TestBytes.make(3_500_000, seed: seed)
        origin = SegmentOrigin(bytes, other: TestBytes.make(3_500_000, seed: seed &+ 1))
        server = try OriginServer(responder: origin)
        ground = try Playground(program: program, in: Folder.memory)
    }

    func end() {
        server.stop()
        ground.remove()
    }

    func sync(_ knowledge: Knowledge, _ options: [String]) throws -> Command.Result {
        let manifest = try ground.write(
            manifest: "{\"name\":\"s\",\"resources\":[{\"path\":\"\(SegmentStage.target)\",\"url\":"
                + "\"\(server.url)/a.bin\"\(knowledge.keys(bytes))}]}")
        return try ground.sync(manifest, ["--retries", "0", "--max-wait", "1s"] + options).wait()
    }
}

/// Gives the whole file slowly and honestly, and ranges as a trial says.
final class SegmentOrigin: Responder {
    private struct State {
        var trial: SegmentTrial?
        var ranges = 0
        var whole = 0
    }

    private let state = Mutex(State())
    private let told = Atomic(0)
    private let bytes: [UInt8]
    private let other: [UInt8]

    init(_ bytes: [UInt8], other: [UInt8]) {
        self.bytes = bytes
        self.other = other
    }

    /// Begins a trial, or answers everything honestly; what was asked so far is forgotten.
    func play(_ trial: SegmentTrial?) { state.withLock { $0 = State(trial: trial) } }

    /// How many whole bodies were sent since `play`.
    var wholeBodies: Int { state.withLock { $0.whole } }
    /// How many lies were told in all.
    var lies: Int { told.load(ordering: .relaxed) }

    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        let range = request.value(of: "Range").flatMap { RangeHeader($0, of: bytes.count) }
        guard let range else { return sendWhole(on: connection) }
        let (trial, number) = state.withLock { state in
            defer { state.ranges += 1 }
            return (state.trial, state.ranges)
        }
        let asked = SegmentLie.Asked(range: range.bytes, bytes: bytes, other: other)
        let isLie =
            switch trial?.place {
            case .all: true
            case .first: number == 0
            case .odd: number % 2 == 0
            case nil: false
            }
        guard let trial, isLie else { return connection.send(asked.answer(range.bytes).bytes) }
        let answer = trial.lie.make(asked)
        told.add(1, ordering: .relaxed)
        guard connection.send(answer.bytes) else { return false }
        switch answer.ending {
        case .open: return true
        case .finish: return false
        case .reset:
            connection.reset()
            return false
        }
    }

    /// Slow enough that others fetch most of it.
    private func sendWhole(on connection: Connection) -> Bool {
        let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: \(bytes.count)\r\n\r\n"
        guard connection.send(Array(head.utf8)) else { return false }
        for start in stride(from: 0, to: bytes.count, by: 64 << 10) {
            let slice = bytes[start..<min(start + 64 << 10, bytes.count)]
            guard connection.send(slice), connection.pause(milliseconds: 2) else { return false }
        }
        state.withLock { $0.whole += 1 }
        return true
    }
}
