internal import MirrorTestSupport

/// What a source does instead of serving its file.
enum Sickness: String, CaseIterable, Sendable {
    case healthy = "nothing wrong"
    case silent = "no answer"
    case slowHead = "a head that drips"
    case slowBody = "a body that drips"
    case stalls = "half of it, then nothing"
    case byteARequest = "a byte a request"
    case cutEarly = "a few bytes, then a reset"
    case cutLate = "a good part, then a reset"
    case slow404 = "404 with a body that drips"
    case slow503 = "503 with a body that drips"
    case busy = "503 and Retry-After: 1"
    case busyOnce = "429 and Retry-After: 0, twice"
    case busyForAYear = "503 and Retry-After of a year"
    case failing = "500"
    case hangsUp = "the end of the connection"
    case refused = "a port that is closed"
    case loop = "a redirect to itself"

    /// Whether the file comes in the end without any mirror.
    var comesThrough: Bool {
        switch self {
        case .healthy, .cutLate, .busyOnce: true
        default: false
        }
    }

    /// The answer to a request; `count` requests came before it.
    func answer(
        _ request: ReceivedRequest, _ file: [UInt8], count: Int, on connection: Connection
    ) -> Bool {
        let range = request.value(of: "Range").flatMap { RangeHeader($0, of: file.count) }
        let asked = range?.bytes ?? 0..<file.count
        switch self {
        case .healthy: return whole(range, file, asked.count, connection)
        case .silent, .refused: return hold(connection)
        case .slowHead:
            return drip(
                Array("HTTP/1.1 200 OK\r\nX-Long: \(String(repeating: "x", count: 900))".utf8),
                connection)
        case .slowBody:
            return send(head(range, file), connection) && drip(Array(file[asked]), connection)
        case .stalls:
            return whole(range, file, asked.count / 2, connection) && hold(connection)
        case .byteARequest:
            guard let range else { return whole(nil, file, 1, connection) && false }
            let first = range.bytes.lowerBound
            // Some 400 requests a second, as from a server; more would take the processors from the runs
            // beside it, whose time is measured.
            guard connection.pause(milliseconds: 2) else { return false }
            return send(
                "HTTP/1.1 206 Partial Content\r\nETag: \"v1\"\r\nContent-Length: 1\r\n"
                    + "Content-Range: bytes \(first)-\(first)/\(file.count)\r\n\r\n", connection)
                && connection.send([file[first]])
        case .cutEarly: return whole(range, file, min(100, asked.count), connection) && false
        case .cutLate:
            let count = min(400_000, asked.count)
            return whole(range, file, count, connection) && count == asked.count
        case .slow404: return slowError("404 Not Found", connection)
        case .slow503: return slowError("503 Service Unavailable", connection)
        case .busy: return error("503 Busy", "Retry-After: 1\r\n", connection)
        case .busyOnce:
            return count < 2
                ? error("429 Too Many Requests", "Retry-After: 0\r\n", connection)
                : whole(range, file, asked.count, connection)
        case .busyForAYear: return error("503 Busy", "Retry-After: 31536000\r\n", connection)
        case .failing: return error("500 Internal Server Error", "", connection)
        case .hangsUp: return false
        case .loop: return error("302 Found", "Location: /a.bin\r\n", connection)
        }
    }

    private func head(_ range: RangeHeader?, _ file: [UInt8]) -> String {
        let lines = range?.headers ?? ["Content-Length: \(file.count)"]
        return
            (["HTTP/1.1 " + (range == nil ? "200 OK" : "206 Partial Content"), "ETag: \"v1\""]
            + lines).joined(separator: "\r\n") + "\r\n\r\n"
    }

    private func whole(
        _ range: RangeHeader?, _ file: [UInt8], _ count: Int, _ connection: Connection
    ) -> Bool {
        let start = range?.bytes.lowerBound ?? 0
        return send(head(range, file), connection)
            && connection.send(file[start..<start + count])
    }

    private func send(_ text: String, _ connection: Connection) -> Bool {
        connection.send(Array(text.utf8))
    }

    private func error(_ status: String, _ fields: String, _ connection: Connection) -> Bool {
        send("HTTP/1.1 \(status)\r\n\(fields)Content-Length: 0\r\n\r\n", connection)
    }

    private func slowError(_ status: String, _ connection: Connection) -> Bool {
        send("HTTP/1.1 \(status)\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n", connection)
            && drip([UInt8](repeating: 120, count: 0x4000), connection)
    }

    private func drip(_ bytes: [UInt8], _ connection: Connection) -> Bool {
        bytes.allSatisfy { connection.send([$0]) && connection.pause(milliseconds: 200) }
    }

    private func hold(_ connection: Connection) -> Bool {
        _ = connection.pause(milliseconds: 60_000)
        return false
    }
}
