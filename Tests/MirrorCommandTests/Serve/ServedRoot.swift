import Glibc
import MirrorTestSupport
import Testing

/// A synced root with `mirror serve` over it, on a port of its own.
struct ServedRoot {
    let stage: SyncedStage
    let serve: Command
    let url: String
    let port: UInt16

    /// Serves a root that is there already; `tool` starts the server.
    init(_ stage: SyncedStage, root: String? = nil, under tool: [String] = []) throws {
        self.stage = stage
        let place = root.map { ["--root", $0] } ?? []
        serve = try stage.ground.start(["serve", "--listen", "127.0.0.1:0"] + place, under: tool)
        var lines: [Substring] = []
        for _ in 0..<3000 {
            lines = serve.outputSoFar.split(separator: "\n", omittingEmptySubsequences: false)
            if lines.count > 1 || serve.hasEnded { break }
            Pause.milliseconds(10)
        }
        let first = String(lines.first ?? "")
        let number = first.split(separator: ":").last?.dropLast() ?? ""
        guard lines.count > 1, first.hasPrefix("http://127.0.0.1:"), let port = UInt16(number)
        else {
            serve.signal(SIGKILL)
            throw StoryFailure("serve: \(serve.wait())")
        }
        url = String(first.dropLast())
        self.port = port
    }

    /// Ends the server, and deletes everything.
    func end() {
        serve.signal(SIGTERM)
        _ = serve.wait()
        stage.end()
    }

    /// Sends a request with these lines behind its first one, and reads the answer.
    func answer(_ start: String, _ fields: String...) async throws -> ServedReply {
        let lines = [start + " HTTP/1.1", "Host: 127.0.0.1", "Connection: close"] + fields
        return try await raw(lines.joined(separator: "\r\n") + "\r\n\r\n")
    }

    /// Sends bytes as they are, and reads the answer.
    func raw(_ request: String) async throws -> ServedReply {
        let port = port
        let text = try await DetachedThread.run {
            LoopbackClient.exchange(request, port: port)
        }
        return ServedReply(try #require(text))
    }

    /// Waits for a line on the server's standard error.
    func waitForNote(_ text: String) -> Bool {
        for _ in 0..<3000 {
            if serve.errorsSoFar.contains(text) { return true }
            Pause.milliseconds(10)
        }
        return false
    }
}

/// An answer, taken apart.
struct ServedReply: CustomStringConvertible {
    let description: String
    let status: String
    let body: String
    private let lines: [Substring]

    init(_ text: String) {
        description = text
        let end = text.firstRange(of: "\r\n\r\n")
        body = end.map { String(text[$0.upperBound...]) } ?? ""
        lines = (end.map { text[..<$0.lowerBound] } ?? text[...]).split(separator: "\r\n")
        status = String(lines.first?.split(separator: " ").dropFirst().first ?? "")
    }

    /// The value of a field; nil without one.
    subscript(name: String) -> String? {
        for line in lines.dropFirst() {
            let halves = line.split(separator: ":", maxSplits: 1)
            if halves.count == 2, halves[0].lowercased() == name.lowercased() {
                return String(halves[1].drop { $0 == " " })
            }
        }
        return nil
    }
}
