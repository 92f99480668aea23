internal import Synchronization

/// A responder that serves a shelf as an honest server does: strong entity tags, ranges, conditions.
public final class ShelfOrigin: Responder {
    private let shelf: any Shelf
    private let bytesPerSecond: Int?
    private let hold: Mutex<Int?>
    private let log = Mutex<[String]>([])

    /// Takes what it serves.
    ///
    /// - Parameters:
    ///   - bytesPerSecond: how fast each connection gets bytes; nil is as fast as it can.
    ///   - holdingAfter: after how many bytes each body waits for `release()`; nil is never.
    public init(_ shelf: any Shelf, bytesPerSecond: Int? = nil, holdingAfter: Int? = nil) {
        self.shelf = shelf
        self.bytesPerSecond = bytesPerSecond
        hold = Mutex(holdingAfter)
    }

    /// Lets all bodies go on, those that wait and those that come.
    public func release() { hold.withLock { $0 = nil } }

    /// A line a request in the order of their answers, e.g. `GET /a.bin bytes=10- 206`.
    public var requests: [String] { log.withLock { $0 } }

    /// Forgets the requests so far.
    public func forgetRequests() { log.withLock { $0 = [] } }

    /// Answers with the item, a part of it, or a status that says why not.
    public func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        let path = String(request.path.split(separator: "?", maxSplits: 1).first ?? "/")
        guard request.method == "GET" || request.method == "HEAD" else {
            return answer(request, 405, ["Allow: GET, HEAD"], [], connection)
        }
        guard let item = shelf.item(at: path) else {
            return answer(request, 404, [], [], connection)
        }
        let tag = "ETag: \(item.entityTag)"
        if let condition = request.value(of: "If-None-Match"), condition == item.entityTag {
            return answer(request, 304, [tag], nil, connection)
        }
        guard let range = request.value(of: "Range"), rangeHolds(request, item) else {
            return answer(request, 200, [tag, "Accept-Ranges: bytes"], item.bytes[...], connection)
        }
        let whole = item.bytes.count
        guard let wanted = RangeHeader(range, of: whole) else {
            return answer(request, 416, ["Content-Range: bytes */\(whole)"], [], connection)
        }
        return answer(
            request, 206, [tag] + wanted.headers.dropLast(), item.bytes[wanted.bytes], connection)
    }

    /// Whether If-Range lets the range count (RFC 9110 §13.1.5).
    private func rangeHolds(_ request: ReceivedRequest, _ item: ShelfItem) -> Bool {
        guard let condition = request.value(of: "If-Range") else { return true }
        return condition == item.entityTag && !condition.hasPrefix("W/")
    }

    /// Sends a head and, but for a HEAD request, the body; nil is an answer that never has one.
    private func answer(
        _ request: ReceivedRequest, _ status: Int, _ headers: [String], _ body: ArraySlice<UInt8>?,
        _ connection: Connection
    ) -> Bool {
        let range = request.value(of: "Range").map { " \($0)" } ?? ""
        log.withLock { $0.append("\(request.method) \(request.path)\(range) \(status)") }
        let length = body.map { ["Content-Length: \($0.count)"] } ?? []
        let lines = ["HTTP/1.1 \(status) \(ShelfOrigin.phrase(status))"] + headers + length
        guard connection.send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)) else {
            return false
        }
        guard let body, request.method != "HEAD" else { return true }
        return send(body, connection)
    }

    private func send(_ body: ArraySlice<UInt8>, _ connection: Connection) -> Bool {
        guard let bytesPerSecond else { return sendHeld(body, connection) }
        let slice = max(1, bytesPerSecond / 50)
        return stride(from: body.startIndex, to: body.endIndex, by: slice).allSatisfy {
            connection.send(body[$0..<min($0 + slice, body.endIndex)])
                && connection.pause(milliseconds: 20)
        }
    }

    private func sendHeld(_ body: ArraySlice<UInt8>, _ connection: Connection) -> Bool {
        let first = body.prefix(hold.withLock { $0 } ?? body.count)
        guard connection.send(first) else { return false }
        while first.count < body.count, hold.withLock({ $0 }) != nil {
            guard connection.pause(milliseconds: 5) else { return false }
        }
        return connection.send(body.dropFirst(first.count))
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 206: "Partial Content"
        case 304: "Not Modified"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        default: "Range Not Satisfiable"
        }
    }
}
