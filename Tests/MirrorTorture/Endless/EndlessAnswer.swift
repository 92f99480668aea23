internal import MirrorTestSupport

/// A server that keeps its client waiting, or never stops: what it does, and what bounds it.
struct EndlessAnswer: Sendable {
    /// Where the client meets it.
    enum Place: Sendable { case source, tls, proxy, tunnel, manifest }

    let title: String
    var place = Place.source
    /// What it does with each request.
    var reply: [ReplyStep] = []
    /// What it does before one.
    var greeting: [ReplyStep] = []
    /// More keys of the resource.
    var keys = ""
    var options: [String] = []
    /// Seconds from the first connection within which the run has to end, but for a tenth.
    var seconds = 6.0
    /// How many bytes a file may have, at most, while it runs.
    var bytes = 4 << 20

    init(_ title: String, _ change: (inout EndlessAnswer) -> Void) {
        self.title = title
        change(&self)
    }

    static let all =
        stalls + endlessBodies + bombs + floods + unwanted + loops + beforeHTTP + manifests

    static let declared = 1 << 20
    static let allowance = 64 << 10
    static let ok = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\n"
    static let chunk =
        Array("4000\r\n".utf8) + [UInt8](repeating: 120, count: 0x4000)
        + [13, 10]
    static let block = [UInt8](repeating: 120, count: 1 << 16)

    static func text(_ text: String) -> ReplyStep { .send(Array(text.utf8)) }
    static func drip(_ text: String, every milliseconds: Int = 1000) -> ReplyStep {
        .trickle(Array(text.utf8), count: 1, milliseconds: milliseconds)
    }

    func titled(_ title: String) -> EndlessAnswer {
        EndlessAnswer(title) { copy in
            copy.place = place
            copy.reply = reply
            copy.options = options
            copy.seconds = seconds
        }
    }

    static func lines(_ kibibytes: Int) -> [UInt8] {
        Array(
            (0..<kibibytes).map { "X-\($0): \(String(repeating: "x", count: 1014))\r\n" }.joined()
                .utf8)
    }
}

extension Array where Element == ReplyStep {
    /// The same steps with a pause after each.
    func spaced(by milliseconds: Int) -> [ReplyStep] {
        flatMap { [$0, .pause(milliseconds: milliseconds)] }
    }
}
