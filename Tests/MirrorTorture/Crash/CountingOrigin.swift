internal import Synchronization
internal import MirrorTestSupport

/// An honest origin that counts, for each path, what it has handed to the kernel of its last answer.
final class CountingOrigin: Responder {
    /// The last answer of a path that had a body.
    struct Answer: Sendable {
        /// Where in the file it began.
        let start: Int
        /// The port that it goes to.
        let receiver: UInt16
        /// How much of it was handed over, rounded up to a slice.
        var sent = 0
    }

    private let shelf: MemoryShelf
    private let answers = Mutex<[String: Answer]>([:])
    private static let slice = 64 << 10

    init(_ shelf: MemoryShelf) { self.shelf = shelf }

    /// The last answers since this was asked last; then it begins again.
    func takeAnswers() -> [String: Answer] {
        answers.withLock { answers in
            defer { answers = [:] }
            return answers
        }
    }

    /// The last answers so far.
    var soFar: [String: Answer] { answers.withLock { $0 } }

    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        guard let item = shelf.item(at: request.path) else {
            return connection.send(
                Array("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".utf8))
        }
        var head = ["HTTP/1.1 200 OK", "ETag: \(item.entityTag)"]
        var bytes = 0..<item.bytes.count
        if request.value(of: "If-None-Match") == item.entityTag {
            return connection.send(Array("HTTP/1.1 304 Not Modified\r\n\(head[1])\r\n\r\n".utf8))
        }
        let condition = request.value(of: "If-Range") ?? item.entityTag
        if condition == item.entityTag, let range = request.value(of: "Range"),
            let wanted = RangeHeader(range, of: item.bytes.count)
        {
            head[0] = "HTTP/1.1 206 Partial Content"
            head += wanted.headers
            bytes = wanted.bytes
        } else {
            head.append("Content-Length: \(bytes.count)")
        }
        let start = bytes.lowerBound
        answers.withLock {
            $0[request.path] = Answer(start: start, receiver: connection.peerPort)
        }
        guard connection.send(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8)) else {
            return false
        }
        for at in stride(from: start, to: bytes.upperBound, by: CountingOrigin.slice) {
            let end = min(at + CountingOrigin.slice, bytes.upperBound)
            answers.withLock { $0[request.path]?.sent = end - start }
            guard connection.send(item.bytes[at..<end]) else { return false }
        }
        return true
    }
}
