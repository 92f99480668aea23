internal import Glibc
internal import MirrorSystem
internal import Synchronization

/// Closes connections whose request takes too long to come.
///
/// The library closes a connection on which no byte moves. A client that sends a byte now and then
/// would keep its place for ever. So a request has a time of its own, which ends when it is answered:
/// a client that reads slowly has as long as it takes bytes.
final class RequestClock: Sendable {
    private struct Connection {
        let socket: Int32
        /// When its request has to be there; nil while it is answered.
        var end: ContinuousClock.Instant?
    }

    private let limit: Duration
    private let connections = Mutex<[UInt: Connection]>([:])
    private let isStopping = Mutex(false)
    private let signal: WakeSignal
    private let thread = Mutex<NativeThread?>(nil)

    /// Starts the thread that looks. Throws if the system refuses it.
    init(seconds: Int) throws(Errno) {
        limit = .seconds(seconds)
        signal = try WakeSignal()
        let clock = self
        // Four looks in the time, so that none gets more than a quarter longer.
        let pause = Int32(clamping: max(1, seconds * 250))
        let started = try NativeThread("server clock") {
            while !clock.isStopping.withLock({ $0 }) {
                clock.signal.wait(milliseconds: pause)
                clock.closeLate(now: .now)
            }
        }
        thread.withLock { $0 = started }
    }

    /// Notes a new connection, whose request is awaited from now on.
    func open(_ connection: OpaquePointer, _ socket: Int32) {
        let entry = Connection(socket: socket, end: .now + limit)
        let key = UInt(bitPattern: connection)
        connections.withLock { $0[key] = entry }
    }

    /// Awaits the next request of a connection.
    func begin(_ connection: OpaquePointer) {
        let end = ContinuousClock.now + limit
        let key = UInt(bitPattern: connection)
        connections.withLock { $0[key]?.end = end }
    }

    /// Notes that the request is there.
    func end(_ connection: OpaquePointer) {
        let key = UInt(bitPattern: connection)
        connections.withLock { $0[key]?.end = nil }
    }

    /// Forgets a connection. The library closes its socket afterwards.
    func close(_ connection: OpaquePointer) {
        let key = UInt(bitPattern: connection)
        connections.withLock { $0[key] = nil }
    }

    private func closeLate(now: ContinuousClock.Instant) {
        // Under the lock the sockets are open: each is forgotten before it is closed.
        connections.withLock { connections in
            for entry in connections.values where entry.end.map({ $0 <= now }) ?? false {
                shutdown(entry.socket, Int32(SHUT_RDWR))
            }
        }
    }

    /// Ends the thread; call it once.
    func stop() {
        isStopping.withLock { $0 = true }
        signal.raise()
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }
}
