internal import Glibc
internal import Synchronization

/// A responder that knows in advance which requests will come, and answers each with its own bytes.
///
/// Requests to one path are matched in the order of their exchanges. A request that none expects is
/// answered with 500 and written down as a complaint.
public final class ScriptedOrigin: Responder {
    fileprivate struct State {
        var waiting: [Exchange]
        var requests: [ReceivedRequest] = []
        var complaints: [String] = []
    }

    private let state: Mutex<State>
    private let signal: @Sendable (Int32) -> Void

    /// Takes the exchanges and a way to send a signal to the process under test.
    public init(_ exchanges: [Exchange], signal: @escaping @Sendable (Int32) -> Void = { _ in }) {
        state = Mutex(State(waiting: exchanges))
        self.signal = signal
    }

    /// The requests that came, in order.
    public var requests: [ReceivedRequest] { state.withLock { $0.requests } }

    /// What was not as expected: wrong requests, and those that never came.
    public var complaints: [String] {
        state.withLock { state in
            state.complaints
                + state.waiting.filter { $0.occurrence == .once }.map {
                    "line \($0.line): \($0.method) \($0.path) never came"
                }
        }
    }

    /// Replaces what is expected, and forgets what came.
    public func expect(_ exchanges: [Exchange]) {
        state.withLock { $0 = State(waiting: exchanges) }
    }

    /// Answers with the reply of the first exchange that the request fits.
    public func respond(to request: ReceivedRequest, on connection: Connection) -> Bool {
        guard let reply = state.withLock({ $0.reply(to: request) }) else {
            return connection.send(
                Array("HTTP/1.1 500 Unexpected request\r\nContent-Length: 0\r\n\r\n".utf8))
        }
        return reply.allSatisfy { carryOut($0, for: request, on: connection) }
    }

    /// Does one step; false ends the connection.
    private func carryOut(
        _ step: ReplyStep, for request: ReceivedRequest, on connection: Connection
    ) -> Bool {
        switch step {
        case .send(let bytes): return connection.send(bytes)
        case .sendAsked(let head, let bytes):
            guard
                let range = request.value(of: "Range").flatMap({ RangeHeader($0, of: bytes.count) })
            else { return false }
            let lines = head + range.headers
            return connection.send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
                && connection.send(bytes[range.bytes])
        case .trickle(let bytes, let count, let milliseconds):
            return stride(from: 0, to: bytes.count, by: count).allSatisfy {
                connection.send(Array(bytes[$0..<min($0 + count, bytes.count)]))
                    && connection.pause(milliseconds: milliseconds)
            }
        case .endless(let bytes):
            while connection.send(bytes) {}
            return false
        case .pause(let milliseconds): return connection.pause(milliseconds: milliseconds)
        case .hold:
            _ = connection.pause(milliseconds: 60_000)
            return false
        case .waitForRequests(let count):
            for _ in 0..<10_000 where state.withLock({ $0.requests.count }) < count {
                guard connection.pause(milliseconds: 2) else { return false }
            }
            return true
        case .signal(let number):
            signal(number)
            return true
        case .finish: return false
        case .reset:
            connection.reset()
            return false
        }
    }
}

extension ScriptedOrigin.State {
    fileprivate mutating func reply(to request: ReceivedRequest) -> [ReplyStep]? {
        requests.append(request)
        guard
            let index = waiting.firstIndex(where: {
                $0.method == request.method && $0.path == request.path
                    && $0.conditions.allSatisfy { $0.complaint(about: request) == nil }
            })
        else {
            complaints.append(
                "unexpected request: \(String(decoding: request.head, as: UTF8.self).trimmed)")
            return nil
        }
        let exchange = waiting[index]
        if exchange.occurrence != .always { waiting.remove(at: index) }
        complaints += exchange.needs.compactMap { $0.complaint(about: request) }.map {
            "line \(exchange.line): \(request.method) \(request.path): \($0)"
        }
        return exchange.reply
    }
}
