internal import Synchronization
internal import MirrorTestSupport

/// An honest origin whose answers carry headers of the story's choice, and that can break off or refuse.
final class HeaderedOrigin: Responder {
    private struct State {
        var headers: [String] = []
        var cutsAfter: Int?
        var refuses: [String]?
        var inBody: (@Sendable () -> Void)?
        var requests: [String] = []
    }

    let shelf = MemoryShelf()
    private let state = Mutex(State())

    /// Header lines of every answer, e.g. `Date: …`.
    func setHeaders(_ lines: [String]) { state.withLock { $0.headers = lines } }

    /// Breaks the next body off after so many bytes.
    func cutNext(after count: Int) { state.withLock { $0.cutsAfter = count } }

    /// Answers the next request with 503 and headers.
    func refuseNext(_ lines: [String]) { state.withLock { $0.refuses = lines } }

    /// Does something in the middle of the next body.
    func inNextBody(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.inBody = body } }

    /// A line a request: method, path, range and status.
    var requests: [String] { state.withLock { $0.requests } }

    func forgetRequests() { state.withLock { $0.requests = [] } }

    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        if let lines = state.withLock({ $0.refuses.take() }) {
            return send(503, lines + ["Content-Length: 0"], [], request, connection)
        }
        guard let item = shelf.item(at: request.path) else {
            return send(404, ["Content-Length: 0"], [], request, connection)
        }
        let tag = "ETag: \(item.entityTag)"
        if request.value(of: "If-None-Match") == item.entityTag {
            return send(304, [tag], [], request, connection)
        }
        if let range = request.value(of: "Range"), request.value(of: "If-Range") == item.entityTag,
            let wanted = RangeHeader(range, of: item.bytes.count)
        {
            return send(
                206, [tag] + wanted.headers, Array(item.bytes[wanted.bytes]), request, connection)
        }
        return send(
            200, [tag, "Content-Length: \(item.bytes.count)"], item.bytes, request, connection)
    }

    private func send(
        _ status: Int, _ lines: [String], _ body: [UInt8], _ request: ReceivedRequest,
        _ connection: Connection
    ) -> Bool {
        let (headers, cut, inBody) = state.withLock { state in
            let range = request.value(of: "Range").map { " \($0)" } ?? ""
            state.requests.append("\(request.method) \(request.path)\(range) \(status)")
            return (
                state.headers, body.isEmpty ? nil : state.cutsAfter.take(),
                body.isEmpty ? nil : state.inBody.take()
            )
        }
        let head = ["HTTP/1.1 \(status) OK"] + headers + lines
        guard connection.send(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8)) else {
            return false
        }
        if let cut { return connection.send(body[..<cut]) && false }
        guard let inBody else { return connection.send(body) }
        guard connection.send(body[..<(body.count / 2)]) else { return false }
        inBody()
        return connection.send(body[(body.count / 2)...])
    }
}
