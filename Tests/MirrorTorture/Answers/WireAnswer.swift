internal import MirrorTestSupport

/// One answer as it goes over the wire, so plain that any part of it can be a lie.
struct WireAnswer: Sendable {
    /// How the end of the body is told.
    enum Framing: Sendable {
        /// A Content-Length that is true.
        case length
        /// These Content-Length lines.
        case lengths([String])
        /// Chunks of these sizes in turn, with the last chunk.
        case chunked([Int] = [20_000], suffix: String = "")
        /// Chunks, and then nothing.
        case chunkedWithoutEnd
        /// One proper chunk, and then this line for a size.
        case brokenChunk(String)
        /// Only by the end of the connection.
        case toTheEnd
    }

    /// What becomes of the connection.
    enum Ending: Sendable { case open, finish, reset }

    var status = "HTTP/1.1 200 OK"
    /// Whole heads that come before.
    var before = ""
    var fields: [String] = []
    var framing = Framing.length
    /// What chunks are called.
    var coding = "chunked"
    var trailers: [String] = []
    var body: [UInt8] = []
    /// How many bytes of the body are sent; nil is all.
    var sent: Int?
    /// Bytes after the body's end.
    var surplus: [UInt8] = []
    var ending = Ending.open
    var lineEnd = "\r\n"
    /// Sent in the place of everything else.
    var raw: [UInt8]?

    mutating func remove(_ name: String) {
        fields.removeAll { $0.lowercased().hasPrefix(name.lowercased() + ":") }
    }

    mutating func set(_ name: String, _ value: String) {
        remove(name)
        fields.append("\(name): \(value)")
    }

    /// Ends amid the body.
    mutating func cut(at count: Int, _ ending: Ending) {
        sent = count
        self.ending = ending
    }

    /// All bytes that are sent.
    var bytes: [UInt8] {
        if let raw { return raw }
        let lines = [status] + fields + framingLines
        return Array((before + lines.joined(separator: lineEnd) + lineEnd + lineEnd).utf8)
            + framedBody + surplus
    }

    /// Whether the whole body is sent, and its end with it.
    var isWhole: Bool { raw == nil && sent == nil && ending == .open && status.contains(" 200") }

    private var framingLines: [String] {
        switch framing {
        case .length: ["Content-Length: \(body.count)"]
        case .lengths(let values): values.map { "Content-Length: \($0)" }
        case .chunked, .chunkedWithoutEnd, .brokenChunk: ["Transfer-Encoding: \(coding)"]
        case .toTheEnd: []
        }
    }

    private var framedBody: [UInt8] {
        let part = body[..<min(sent ?? body.count, body.count)]
        switch framing {
        case .length, .lengths, .toTheEnd: return Array(part)
        case .chunked(let sizes, let suffix):
            let chunks = WireAnswer.chunks(part, sizes, suffix)
            guard sent == nil else { return chunks }
            return chunks + Array(("0\r\n" + trailers.map { $0 + "\r\n" }.joined() + "\r\n").utf8)
        case .chunkedWithoutEnd: return WireAnswer.chunks(part, [20_000], "")
        case .brokenChunk(let size):
            return WireAnswer.chunks(part.prefix(1000), [1000], "")
                + Array((size + "\r\n").utf8) + part.dropFirst(1000)
        }
    }

    private static func chunks(_ bytes: ArraySlice<UInt8>, _ sizes: [Int], _ suffix: String)
        -> [UInt8]
    {
        var rest = bytes
        var out: [UInt8] = []
        var turn = 0
        while !rest.isEmpty {
            let chunk = rest.prefix(sizes[turn % sizes.count])
            turn += 1
            rest = rest.dropFirst(chunk.count)
            out += Array((String(chunk.count, radix: 16) + suffix + "\r\n").utf8) + chunk
            out += [0x0D, 0x0A]
        }
        return out
    }
}
