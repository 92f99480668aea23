internal import Synchronization
internal import MirrorTestSupport

/// A server that answers as a script says, and writes down what it was asked.
final class AnswerOrigin: Responder {
    struct State {
        var script = AnswerScript("honest") { _ in }
        /// The version that it has now.
        var version = 0
        /// How much of the file it sends before it breaks off, and whether it tells the length.
        var cut: (count: Int, tellsLength: Bool)?
        var requests: [ReceivedRequest] = []
        var wholeBodies = 0
    }

    static let size = 90_000
    private let state = Mutex(State())
    private let versions: [[UInt8]]

    init(versions: [[UInt8]]) { self.versions = versions }

    /// Begins a new script or phase; what was asked so far is forgotten.
    func play(
        _ script: AnswerScript, version: Int, cut: (count: Int, tellsLength: Bool)? = nil
    ) {
        state.withLock { $0 = State(script: script, version: version, cut: cut) }
    }

    /// What was asked since `play`, and how many whole bodies were sent.
    var asked: (requests: [ReceivedRequest], wholeBodies: Int) {
        state.withLock { ($0.requests, $0.wholeBodies) }
    }

    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        let (state, number) = state.withLock { state in
            state.requests.append(request)
            return (state, state.requests.count)
        }
        let answer = answer(to: request, number: number, state)
        guard connection.send(answer.bytes) else { return false }
        if answer.isWhole { self.state.withLock { $0.wholeBodies += 1 } }
        switch answer.ending {
        case .open: return true
        case .finish: return false
        case .reset:
            connection.reset()
            return false
        }
    }

    private func answer(
        to request: ReceivedRequest, number: Int, _ state: State
    ) -> WireAnswer {
        let script = state.script
        let path = request.path.split(separator: "?").first.map(String.init) ?? ""
        if let hops = Int(path.dropFirst(5)), path.hasPrefix("/hop/") {
            return redirect(to: hops > 0 ? "/hop/\(hops - 1)" : "/b.bin")
        }
        let tag = script.changesTags ? 100 + number : state.version
        let bytes = versions[state.version]
        let range = request.value(of: "Range").flatMap { RangeHeader($0, of: bytes.count) }
        let served = Served(
            bytes: bytes, stamp: script.stamp.fields(of: tag), offset: range?.bytes.lowerBound ?? 0,
            older: versions[max(0, state.version - 1)])
        if script.isElsewhere, path == "/a.bin" { return redirect(to: "/c.bin") }
        if let cut = state.cut {
            var answer = served.whole
            if !cut.tellsLength { answer.framing = .chunkedWithoutEnd }
            answer.cut(at: cut.count, .reset)
            return answer
        }
        guard path != "/b.bin" else { return served.whole }
        return answer(to: request, served, script, tag)
    }

    private func answer(
        to request: ReceivedRequest, _ served: Served, _ script: AnswerScript, _ version: Int
    ) -> WireAnswer {
        let tag = request.value(of: "If-None-Match")
        let date = request.value(of: "If-Modified-Since")
        if tag != nil || date != nil {
            if let confirmation = script.confirmation { return confirmation.make(served) }
            if script.stamp.confirms(version, tag: tag, date: date) {
                return WireAnswer(
                    status: "HTTP/1.1 304 Not Modified", fields: served.stamp, framing: .toTheEnd)
            }
        }
        guard let range = script.range, let asked = request.value(of: "Range") else {
            return script.whole.make(served)
        }
        let isHonest = range.name == RangeAnswers.honest.name
        let condition = request.value(of: "If-Range")
        if isHonest, let condition, condition != script.stamp.strong(version) {
            return script.whole.make(served)
        }
        guard RangeHeader(asked, of: served.bytes.count) == nil, !range.isBodiless else {
            return range.make(served)
        }
        return WireAnswer(
            status: "HTTP/1.1 416 Range Not Satisfiable",
            fields: ["Content-Range: bytes */\(served.bytes.count)"])
    }

    private func redirect(to place: String) -> WireAnswer {
        WireAnswer(status: "HTTP/1.1 302 Found", fields: ["Location: \(place)"])
    }
}
