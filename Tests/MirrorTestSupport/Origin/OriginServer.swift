internal import CTestSupport
internal import Glibc
internal import Synchronization

/// Decides what a server sends.
public protocol Responder: Sendable {
    /// Answers one request; false ends the connection.
    func respond(to request: ReceivedRequest, on connection: Connection) -> Bool
    /// Speaks before anything was asked; false ends the connection.
    func greet(on connection: Connection) -> Bool
}

extension Responder {
    /// Says nothing, as servers of HTTP do.
    public func greet(on connection: Connection) -> Bool { true }
}

/// Why a server cannot listen.
public struct ListenFailure: Error, CustomStringConvertible {
    /// The call and what errno(3) says of it.
    public let description: String
}

/// An HTTP/1.1 server on the loopback address with a thread a connection.
///
/// It knows requests, and leaves every byte of an answer to its responder: a server that lies is a
/// responder that lies.
public final class OriginServer: Sendable {
    private struct State {
        var open: Set<Int32> = []
        var accepted = 0
        var isStopped = false
    }

    /// The port that it listens on.
    public let port: UInt16
    private let listener: Int32
    private let responder: any Responder
    private let state = Mutex(State())

    /// Listens on 127.0.0.1 and serves until `stop()`; port 0 takes any free one.
    public init(port: UInt16 = 0, responder: any Responder) throws(ListenFailure) {
        (listener, self.port) = try OriginServer.listen(on: port)
        self.responder = responder
        DetachedThread.start { [self] in accept() }
    }

    /// The host and the port.
    public var authority: String { "127.0.0.1:\(port)" }
    /// Where it serves, without a slash at the end.
    public var url: String { "http://\(authority)" }
    /// How many connections were accepted.
    public var connections: Int { state.withLock { $0.accepted } }

    /// Ends every connection and frees the port.
    public func stop() {
        state.withLock { state in
            guard !state.isStopped else { return }
            state.isStopped = true
            for socket in state.open { shutdown(socket, Int32(SHUT_RDWR)) }
            shutdown(listener, Int32(SHUT_RDWR))
        }
    }

    private func accept() {
        while true {
            let socket = test_accept(listener)
            guard socket >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                break
            }
            let number: Int? = state.withLock { state in
                guard !state.isStopped else { return nil }
                state.open.insert(socket)
                state.accepted += 1
                return state.accepted
            }
            guard let number else {
                close(socket)
                break
            }
            DetachedThread.start { [self] in serve(socket, number) }
        }
        close(listener)
    }

    private func serve(_ socket: Int32, _ number: Int) {
        var on: Int32 = 1
        setsockopt(
            socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        let connection = Connection(socket: socket, number: number)
        var goesOn = responder.greet(on: connection)
        while goesOn, let request = connection.nextRequest() {
            goesOn = responder.respond(to: request, on: connection)
            if request.value(of: "Connection")?.lowercased() == "close" { break }
        }
        // Closed under the lock: stop() must not shut down a descriptor that has been reused.
        state.withLock { state in
            state.open.remove(socket)
            close(socket)
        }
    }

    private static func listen(on port: UInt16) throws(ListenFailure) -> (Int32, UInt16) {
        let socket = Glibc.socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw failure("socket") }
        var on: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard let bound = LoopbackAddress.bind(socket, port: port) else { throw failure("bind") }
        guard Glibc.listen(socket, 128) == 0 else { throw failure("listen") }
        return (socket, bound)
    }

    private static func failure(_ call: String) -> ListenFailure {
        ListenFailure(description: "\(call)(2) on 127.0.0.1: errno \(errno)")
    }
}
