internal import Glibc
internal import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// Closes connections that the library would keep too long.
///
/// The library closes a connection on which no byte moves. A client that sends a byte now and then
/// would keep its place for ever. So a request has a time of its own, which ends when it is answered:
/// a client that reads slowly has as long as it takes bytes.
///
/// When a file becomes shorter while it is sent, sendfile(2) gives nothing more, and the client would
/// wait until the connection has been idle for long. When it is written to, the rest belongs to
/// another version. So the files being sent are looked at, and such a connection ends at once: the
/// client sees a body that is too short, and asks again.
final class ConnectionWatch: Sendable {
    private struct Connection {
        let socket: Int32
        /// When its request has to be there; nil while it is answered.
        var end: ContinuousClock.Instant?
        /// The file that it is sent a part of, the offset behind the last byte that is sent, and the
        /// file's modification time when it was opened, in nanoseconds.
        var sending: (file: Descriptor, end: Int64, modified: Int64)?
    }

    /// How often files that are being sent are looked at, in milliseconds.
    private static let pauseWhileSending: Int32 = 200

    private let limit: Duration
    private let connections = Mutex<[UInt: Connection]>([:])
    /// Whether files are being sent, as the thread or the last call of `send` knew it.
    private let isSending = Atomic(false)
    private let isStopping = Mutex(false)
    private let signal: WakeSignal
    private let thread = Mutex<NativeThread?>(nil)

    /// Starts the thread that looks. Throws if the system refuses it.
    init(requestSeconds: Int) throws(Errno) {
        limit = .seconds(requestSeconds)
        signal = try WakeSignal()
        let watch = self
        // Four looks in the time, so that none gets more than a quarter longer.
        let pause = Int32(clamping: max(1, requestSeconds * 250))
        let started = try NativeThread("server watch") {
            while !watch.isStopping.withLock({ $0 }) {
                let isSending = watch.isSending.load(ordering: .sequentiallyConsistent)
                watch.signal.wait(
                    milliseconds: isSending
                        ? min(pause, ConnectionWatch.pauseWhileSending) : pause)
                watch.signal.clear()
                watch.closeLate(now: .now)
                if isSending { watch.closeChanged() }
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
        connections.withLock {
            $0[key]?.end = end
            $0[key]?.sending = nil
        }
    }

    /// Notes that the request is there.
    func end(_ connection: OpaquePointer) {
        let key = UInt(bitPattern: connection)
        connections.withLock { $0[key]?.end = nil }
    }

    /// Looks at a file until the connection has been sent its bytes up to an offset.
    func send(_ file: Descriptor, upTo end: Int64, to connection: OpaquePointer) {
        guard let stamp = (try? file.status(path: ""))?.stamp else { return }
        let key = UInt(bitPattern: connection)
        connections.withLock { $0[key]?.sending = (file, end, stamp.modified) }
        // Many short files at once cost one look, not one each.
        if !isSending.exchange(true, ordering: .sequentiallyConsistent) { signal.raise() }
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

    /// Closes connections whose file is no longer as it was.
    private func closeChanged() {
        // What is sent from here on raises the signal, unless there is something to look at anyway.
        isSending.store(false, ordering: .sequentiallyConsistent)
        let sending = connections.withLock { $0.compactMapValues(\.sending) }
        if !sending.isEmpty { isSending.store(true, ordering: .sequentiallyConsistent) }
        // A file system may take long to answer, and the lock is for moments.
        for (key, sent) in sending {
            let stamp = (try? sent.file.status(path: ""))?.stamp
            if let stamp, stamp.size >= sent.end, stamp.modified == sent.modified { continue }
            connections.withLock { connections in
                guard let entry = connections[key], entry.sending?.file === sent.file else {
                    return
                }
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
