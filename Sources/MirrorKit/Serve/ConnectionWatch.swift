internal import Glibc
internal import Synchronization

/// Closes connections that libmicrohttpd would keep open too long.
///
/// libmicrohttpd closes a connection on which no byte moves. A client that sends a byte now and
/// then would keep its connection for ever. So each request has a time limit, which ends when the
/// request has arrived whole. A client that reads its answer slowly has no limit while it takes
/// bytes.
///
/// If a file becomes shorter while it is sent, sendfile(2) gives no more bytes. The client would
/// then wait until the connection has been idle for long. If a program writes to the file, the rest
/// of the bytes belongs to another version. So the watch checks files while they are sent, and
/// closes the connection of a changed file at once. The client sees a body that is too short, and
/// asks again.
final class ConnectionWatch: Sendable {
    private struct Connection {
        let socket: Int32
        /// When the whole request must have arrived. `nil` while the request is answered.
        var end: ContinuousClock.Instant?
        /// What the connection is sent: the file, the offset behind the last byte to send, and the
        /// file's modification time when sending began, in nanoseconds.
        var sending: (file: Descriptor, end: Int64, modified: Int64)?
    }

    /// How often the watch checks files while they are sent, in milliseconds.
    private static let pauseWhileSending: Int32 = 200

    private let limit: Duration
    private let connections = Mutex<[UInt: Connection]>([:])
    /// Whether files are being sent. `send` sets the flag, and each check of the thread updates it.
    private let isSending = Atomic(false)
    private let isStopping = Mutex(false)
    private let signal: WakeSignal
    private let thread = Mutex<NativeThread?>(nil)

    /// Starts the thread that checks connections. Throws if the system refuses the thread.
    init(requestSeconds: Int) throws(Errno) {
        limit = .seconds(requestSeconds)
        signal = try WakeSignal()
        let watch = self
        // The thread checks four times within the limit, so no request gets more than a quarter
        // longer.
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

    /// Adds a new connection. The time limit of its first request begins now.
    func open(_ connection: OpaquePointer, _ socket: Int32) {
        let entry = Connection(socket: socket, end: .now + limit)
        let key = UInt(bitPattern: connection)
        connections.withLock { $0[key] = entry }
    }

    /// Begins the time limit of a connection's next request.
    func begin(_ connection: OpaquePointer) {
        let end = ContinuousClock.now + limit
        let key = UInt(bitPattern: connection)
        connections.withLock {
            $0[key]?.end = end
            $0[key]?.sending = nil
        }
    }

    /// Ends the time limit of a request, which has arrived whole.
    func end(_ connection: OpaquePointer) {
        let key = UInt(bitPattern: connection)
        connections.withLock { $0[key]?.end = nil }
    }

    /// Watches a file until the connection has been sent its bytes up to an offset.
    func send(_ file: Descriptor, upTo end: Int64, to connection: OpaquePointer) {
        guard let stamp = (try? file.status(path: ""))?.stamp else { return }
        let key = UInt(bitPattern: connection)
        connections.withLock { $0[key]?.sending = (file, end, stamp.modified) }
        // If files are being sent already, no signal is needed.
        // So many short files at once cost one check.
        if !isSending.exchange(true, ordering: .sequentiallyConsistent) { signal.raise() }
    }

    /// Removes a connection. libmicrohttpd closes its socket afterwards.
    func close(_ connection: OpaquePointer) {
        let key = UInt(bitPattern: connection)
        connections.withLock { $0[key] = nil }
    }

    private func closeLate(now: ContinuousClock.Instant) {
        // Under the lock all sockets are open, because `close` removes a connection before its
        // socket is closed.
        connections.withLock { connections in
            for entry in connections.values where entry.end.map({ $0 <= now }) ?? false {
                shutdown(entry.socket, Int32(SHUT_RDWR))
            }
        }
    }

    /// Closes connections whose files have changed since sending began.
    private func closeChanged() {
        // From here on, `send` raises the signal, unless the flag is set again because files are
        // being sent.
        isSending.store(false, ordering: .sequentiallyConsistent)
        let sending = connections.withLock { $0.compactMapValues(\.sending) }
        if !sending.isEmpty { isSending.store(true, ordering: .sequentiallyConsistent) }
        // A file system may answer slowly, so the files are checked without the lock.
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

    /// Ends the thread and waits for its end. Call it once.
    func stop() {
        isStopping.withLock { $0 = true }
        signal.raise()
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }
}
