internal import Glibc
internal import MirrorTestSupport

/// What is there when a script is played.
enum PartState: String, CaseIterable {
    /// Nothing.
    case none
    /// A part of the version that is served.
    case good
    /// A part of the version before.
    case stale
    /// A part whose bytes someone changed to those of the version before.
    case altered
    /// A part with bytes behind its end, more than the whole file has.
    case oversize
    /// A part with all bytes, which nobody said were all.
    case complete
    /// The version before, whole.
    case older
    /// The version before, whole, and a part of the one that is served.
    case updating

    var hasPart: Bool { self != .none && self != .older }
    var hasOlderFile: Bool { self == .older || self == .updating }
}

/// One script, played to one state of the tree: three or four runs of the program.
struct AnswerTrial {
    let script: AnswerScript
    let state: PartState
    let knowledge: Knowledge

    var title: String { "\(script.name); \(state.rawValue) part; \(knowledge.rawValue) known" }

    static let partLength = 70_000
    private static let target = "Caches/a.bin"

    /// What is not as the contract says.
    func wrong(on stage: AnswerStage) throws -> [String] {
        let oracle = AnswerOracle(script: script, state: state, knowledge: knowledge)
        guard let verdict = oracle.verdict else { return [] }
        var wrong = try prepare(stage, oracle)
        stage.origin.play(script, version: 1)
        let run = try stage.sync(pin: 1, knowledge)
        let asked = stage.origin.asked
        let (ending, complaint) = ending(of: run, stage)
        if let complaint { wrong.append(complaint) }
        if let ending, !verdict.endings.contains(ending) {
            wrong.append("\(ending), not one of \(verdict.endings): \(run.errors.suffix(300))")
        }
        // A GET that dies on a used connection is sent once more by libcurl itself (RFC 9110 §9.2.2).
        let requests = max(asked.requests.count - 1, Int(run.summary("requests") ?? "") ?? 99)
        if requests > verdict.requests {
            wrong.append("\(requests) requests, not \(verdict.requests)")
        }
        let restarts = run.events.filter { $0["event"] == .string("restart") }.count
        if restarts > verdict.restarts {
            wrong.append("\(restarts) restarts, not \(verdict.restarts)")
        }
        if asked.wholeBodies > verdict.bodies { wrong.append("\(asked.wholeBodies) whole bodies") }
        if verdict.reuses, run.summary("bytesReused") != "\(AnswerTrial.partLength)" {
            wrong.append("\(run.summary("bytesReused") ?? "no") bytes reused")
        }
        for (number, request) in asked.requests.enumerated() {
            wrong += complaints(about: request, isFirst: number == 0, oracle)
        }
        return try wrong + heal(stage, after: ending)
    }

    /// Real runs, interrupted, leave what the state says.
    private func prepare(_ stage: AnswerStage, _ oracle: AnswerOracle) throws -> [String] {
        try stage.ground.clear()
        if state.hasOlderFile {
            stage.origin.play(honest, version: 0)
            let run = try stage.sync(pin: 0, knowledge)
            guard run.ending == .exited(0) else { return ["the older version: \(run.ending)"] }
        }
        guard state.hasPart else { return [] }
        let count = state == .complete ? AnswerOrigin.size : AnswerTrial.partLength
        stage.origin.play(
            honest, version: state == .stale ? 0 : 1,
            cut: (count, tellsLength: state != .complete))
        // Where size and digest say that the bytes are all there and right, no part would be left.
        let isRight = state == .complete && knowledge == .both
        let run = try stage.sync(pin: 1, isRight ? .digest : knowledge)
        guard run.ending == .exited(69) else { return ["the cut run: \(run.ending)"] }
        let parts = stage.ground.parts()
        guard let part = parts.first, parts.count == 1 else {
            let isKept = knowledge.isPinned || script.stamp.strong(0) != nil
            return isKept || !parts.isEmpty ? ["the cut run left parts \(parts)"] : []
        }
        switch state {
        case .altered: try stage.ground.root.write(part, Array(stage.versions[0][..<count]))
        case .oversize:
            try stage.ground.root.write(part, TestBytes.make(30_000, seed: 9), mode: "ae")
        default: break
        }
        return []
    }

    /// The same server without its lies.
    private var honest: AnswerScript {
        AnswerScript("honest") {
            $0.stamp = script.stamp
            $0.isElsewhere = script.isElsewhere
        }
    }

    /// How a run ended, and what must not be however it ended.
    private func ending(
        of run: Command.Result, _ stage: AnswerStage
    ) -> (AnswerOracle.Ending?, String?) {
        let file = stage.ground.root.read(AnswerTrial.target)
        let (older, served) = (stage.versions[0], stage.versions[1])
        switch run.ending {
        case .exited(0):
            if !stage.ground.parts().isEmpty { return (nil, "exit 0, and a part is left") }
            if file == served { return (.right, nil) }
            if file == older, state.hasOlderFile { return (.kept, nil) }
            let slices: [Range<Int>] = [0..<0, 0..<89_990, 0..<40_000, 70_000..<90_000]
            if let file, let slice = slices.first(where: { Array(served[$0]) == file }) {
                return (.slice(slice), nil)
            }
            return (nil, "exit 0, and the file is no version: \(file?.count ?? -1) bytes")
        case .exited(let status) where status == 1 || status == 69:
            guard file == (state.hasOlderFile ? older : nil) else {
                return (nil, "exit \(status), and the file is \(file?.count ?? -1) bytes")
            }
            return (status == 1 ? .lasting : .healing, nil)
        default: return (nil, "\(run.ending): \(run.errors.suffix(300))")
        }
    }

    /// What a request must not say.
    private func complaints(
        about request: ReceivedRequest, isFirst: Bool, _ oracle: AnswerOracle
    ) -> [String] {
        var wrong: [String] = []
        if request.values(of: "Accept-Encoding") != ["identity"] {
            wrong.append("Accept-Encoding \(request.values(of: "Accept-Encoding"))")
        }
        let (range, condition) = (request.value(of: "Range"), request.value(of: "If-Range"))
        let strong = script.stamp.strong(state == .stale ? 0 : 1)
        if isFirst, oracle.asksForRange != (range != nil) {
            wrong.append("the first request has \(range ?? "no range")")
        }
        if range == nil, condition != nil { wrong.append("If-Range without Range") }
        if let range {
            let isOpen = range.hasPrefix("bytes=") && range.hasSuffix("-")
            if !isOpen || (Int(range.dropFirst(6).dropLast()) ?? 0) < 1 {
                wrong.append("Range \(range)")
            }
            if isFirst, condition != strong { wrong.append("If-Range \(condition ?? "missing")") }
            if condition == nil, !knowledge.isPinned { wrong.append("a range under no condition") }
        }
        let isConditional = ["If-None-Match", "If-Modified-Since"].contains {
            request.value(of: $0) != nil
        }
        if isConditional, !state.hasOlderFile, state != .complete {
            wrong.append("a condition about nothing")
        }
        return wrong
    }

    /// Whatever was left, an honest server makes the tree match.
    private func heal(_ stage: AnswerStage, after ending: AnswerOracle.Ending?) throws -> [String] {
        var version = 1
        // What was taken for the whole of this version stays until there is another.
        if !knowledge.isPinned, ending == .right || isSlice(ending) { version = 2 }
        stage.origin.play(honest, version: version)
        let run = try stage.sync(pin: version, knowledge)
        var wrong: [String] = []
        if run.ending != .exited(0) {
            wrong.append("the honest run: \(run.ending) \(run.errors.suffix(300))")
        }
        if stage.ground.root.read(AnswerTrial.target) != stage.versions[version] {
            wrong.append("after the honest run the file is not what was served")
        }
        if !stage.ground.parts().isEmpty { wrong.append("the honest run left a part") }
        return wrong
    }

    private func isSlice(_ ending: AnswerOracle.Ending?) -> Bool {
        if case .slice = ending { true } else { false }
    }
}

/// The root, the server and its versions that trials share.
struct AnswerStage {
    let ground: Playground
    let origin: AnswerOrigin
    let versions: [[UInt8]]
    private let server: OriginServer

    init(program: String, seed: UInt64) throws {
        versions = (0..<3).map { TestBytes.make(AnswerOrigin.size, seed: seed &+ $0) }
        origin = AnswerOrigin(versions: versions)
        server = try OriginServer(responder: origin)
        ground = try Playground(program: program, in: Folder.memory)
    }

    func end() {
        server.stop()
        ground.remove()
    }

    /// Runs with a manifest that knows so much of a version.
    func sync(pin version: Int, _ knowledge: Knowledge) throws -> Command.Result {
        let manifest = try ground.write(
            manifest: "{\"name\":\"a\",\"resources\":[{\"path\":\"Caches/a.bin\",\"url\":"
                + "\"\(server.url)/a.bin\"\(knowledge.keys(versions[version]))}]}")
        return try ground.sync(manifest, ["--retries", "0", "--stall-timeout", "10s"]).wait()
    }
}
