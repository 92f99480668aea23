internal import CLinux
internal import Glibc
internal import Synchronization

/// Replies to requests from other processes of the same user while a run or a watch is active.
///
/// The server has a thread of its own, so no client can make the run wait. It disconnects a
/// follower that does not read.
package final class ControlServer: Sendable {
    /// Carries out a request.
    package typealias Handler = @Sendable (ControlRequest) async -> ControlReply

    /// Work for the server's thread, in this order.
    private let messages = Mutex<[@Sendable (inout ControlLoop) -> Void]>([])
    private let signal: WakeSignal
    private let address: ControlAddress
    private let followers = Atomic(0)
    private let thread = Mutex<NativeThread?>(nil)

    /// Listens for requests about a root.
    ///
    /// Returns nil if the user has no folder for sockets, or if the system refuses a socket or a
    /// thread. A run works without a server.
    package convenience init?(root: String, handler: @escaping Handler) {
        guard let address = ControlAddress.make(forRoot: root) else { return nil }
        self.init(at: address, handler: handler)
    }

    /// Listens at an address. Returns nil if the system refuses a socket or a thread.
    init?(at address: ControlAddress, handler: @escaping Handler) {
        guard let signal = try? WakeSignal() else { return nil }
        self.address = address
        self.signal = signal
        unlink(address.path)
        let listener = linux_local_listen(address.path)
        guard listener >= 0 else { return nil }
        let descriptor = Descriptor(owning: listener)
        let made = try? NativeThread("control") { [self] in
            var loop = ControlLoop(listener: descriptor, signal: signal)
            loop.run(server: self, handler: handler)
        }
        guard let made else {
            unlink(address.path)
            return nil
        }
        thread.withLock { $0 = made }
    }

    /// Sends an event to the clients that follow the run.
    package func tell(_ event: Event) {
        guard followers.load(ordering: .relaxed) > 0 else { return }
        var json = JSONWriter()
        event.write(to: &json, alwaysWithTotals: true)
        json.newline()
        let bytes = json.take()
        post { $0.sendToFollowers(bytes) }
    }

    /// Ends the server, after at most half a second for clients to receive their queued bytes.
    package func stop() {
        let running = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let running else { return }
        post { $0.isStopping = true }
        running.join()
        unlink(address.path)
    }

    private func post(_ message: @escaping @Sendable (inout ControlLoop) -> Void) {
        messages.withLock { $0.append(message) }
        signal.raise()
    }

    /// Passes a client's request to the handler, and queues the handler's reply for the client.
    func pass(_ line: [UInt8], of client: Int, to handler: @escaping Handler) {
        let request: ControlRequest
        do throws(MirrorError) { request = try ControlRequest(line: line) } catch {
            let line = ControlReply.refused(error.message).line
            return post { $0.reply(line, to: client, follows: false) }
        }
        Task {
            let reply = await handler(request)
            let isJob = if case .job = reply { true } else { false }
            post {
                $0.reply(reply.line, to: client, follows: request.verb == .follow && isJob)
            }
        }
    }

    /// Runs the posted messages on the server's thread.
    func deliver(to loop: inout ControlLoop) {
        let posted = messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
        for message in posted { message(&loop) }
    }

    func note(followers count: Int) { followers.store(count, ordering: .relaxed) }
}

/// The thread of a control server: its listener and its clients.
struct ControlLoop {
    /// The most clients at a time. A further client replaces the oldest one, if possible one that
    /// follows no run.
    private static let mostClients = 16
    /// Milliseconds that a stopping server waits while clients receive their queued bytes.
    private static let longestFarewell: Int64 = 500
    /// Milliseconds before the next accept after the system lacked a descriptor or memory for a
    /// client.
    private static let acceptPause: Int32 = 200

    private let listener: Descriptor
    private let signal: WakeSignal
    private var clients: [Int: ControlConnection] = [:]
    private var last = 0
    /// Whether the server must end.
    var isStopping = false
    /// Whether the system had no descriptor or memory for the last client.
    ///
    /// That client still waits at the listener, so poll(2) would return at once for ever.
    private var isExhausted = false

    init(listener: Descriptor, signal: WakeSignal) {
        self.listener = listener
        self.signal = signal
    }

    /// Serves clients until `isStopping` is set.
    mutating func run(server: ControlServer, handler: @escaping ControlServer.Handler) {
        while true {
            poll()
            signal.clear()
            server.deliver(to: &self)
            accept()
            for number in clients.keys.sorted() { serve(number, server, handler) }
            server.note(followers: clients.values.count { $0.isFollower })
            if isStopping { return sayFarewell() }
        }
    }

    /// Queues the reply to a request; `follows` makes the client a follower of the run.
    mutating func reply(_ bytes: [UInt8], to client: Int, follows: Bool) {
        clients[client]?.answer(bytes, follows: follows)
    }

    /// Sends an event to all followers of the run, and disconnects followers that do not read.
    mutating func sendToFollowers(_ bytes: [UInt8]) {
        // The loop goes by numbers, because iterating over `clients` would copy their queued bytes.
        for number in Array(clients.keys) where clients[number]?.isFollower == true {
            if clients[number]?.queue(bytes) == false { clients[number] = nil }
        }
    }

    /// Waits until a client sends, can receive or is gone, or until the server gets a message.
    private mutating func poll() {
        var entries = [
            // A negative number is left out (poll(2)).
            pollfd(
                fd: isExhausted ? -1 : listener.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        let numbers = Array(clients.keys)
        for number in numbers {
            guard let client = clients[number] else { continue }
            entries.append(
                pollfd(fd: client.descriptor.number, events: client.events, revents: 0))
        }
        let timeout = isExhausted ? ControlLoop.acceptPause : -1
        guard Glibc.poll(&entries, nfds_t(entries.count), timeout) > 0 else { return }
        for (number, entry) in zip(numbers, entries.dropFirst(2))
        where Int32(entry.revents) & (POLLHUP | POLLERR | POLLNVAL) != 0 {
            clients[number]?.isGone = true
        }
    }

    private mutating func accept() {
        while true {
            let number = linux_local_accept(listener.number)
            guard number >= 0 else {
                isExhausted = [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(-number)
                return
            }
            let connection = ControlConnection(descriptor: Descriptor(owning: number))
            let user = linux_peer_user(number)
            guard user == Int64(geteuid()) || user == 0 else { continue }
            if clients.count >= ControlLoop.mostClients,
                let oldest = clients.filter({ !$0.value.isFollower }).keys.min()
                    ?? clients.keys.min()
            {
                clients[oldest] = nil
            }
            last += 1
            clients[last] = connection
        }
    }

    private mutating func serve(
        _ number: Int, _ server: ControlServer, _ handler: @escaping ControlServer.Handler
    ) {
        // The client is removed during its turn, so that its bytes have one owner and are not
        // copied.
        guard var client = clients.removeValue(forKey: number) else { return }
        client.receive()
        while let line = client.takeLine() { server.pass(line, of: number, to: handler) }
        client.refuseOverlong()
        client.flush()
        if !client.isOver { clients[number] = client }
    }

    /// Sends queued bytes to the clients for at most `longestFarewell` milliseconds.
    private mutating func sayFarewell() {
        let end = SystemClock.monotonic() + ControlLoop.longestFarewell
        while true {
            for number in Array(clients.keys) {
                clients[number]?.flush()
                if clients[number]?.waits != true || clients[number]?.isGone == true {
                    clients[number] = nil
                }
            }
            let left = end - SystemClock.monotonic()
            if clients.isEmpty || left <= 0 { return }
            var entries = clients.values.map {
                pollfd(fd: $0.descriptor.number, events: Int16(POLLOUT), revents: 0)
            }
            _ = Glibc.poll(&entries, nfds_t(entries.count), Int32(left))
        }
    }
}

/// A client of a control server: the bytes that it has sent, and the bytes queued for it.
struct ControlConnection {
    /// The most bytes that may be queued for a client.
    private static let mostWaiting = 4 << 20
    /// The number of queued bytes above which events are sent at once, not at the next turn.
    private static let worthSending = 64 << 10

    let descriptor: Descriptor
    private(set) var isFollower = false
    /// Whether the client can no longer receive anything.
    var isGone = false
    /// Whether nothing more is read from the client.
    private var isAtEnd = false
    /// How many of the client's requests are not answered yet.
    private var unanswered = 0
    private var received: [UInt8] = []
    private var waiting: [UInt8] = []
    /// How many of the queued bytes were sent already.
    private var taken = 0

    init(descriptor: Descriptor) { self.descriptor = descriptor }

    /// Whether bytes are queued for the client.
    var waits: Bool { taken < waiting.count }

    /// The events that poll(2) watches for at this client.
    var events: Int16 { Int16((isAtEnd ? 0 : POLLIN) | (waits ? POLLOUT : 0)) }

    /// Whether the connection can close, because the client needs nothing more.
    ///
    /// A client that has closed its side for writing still gets its replies and the events that it
    /// follows.
    var isOver: Bool { isGone || isAtEnd && unanswered == 0 && !waits && !isFollower }

    /// Queues the reply to a request; `follows` makes the client a follower.
    mutating func answer(_ bytes: [UInt8], follows: Bool) {
        unanswered -= 1
        if follows { isFollower = true }
        waiting += bytes
        if waiting.count - taken > ControlConnection.mostWaiting { isGone = true }
    }

    /// Queues an event for a follower. Returns false if too many bytes are queued.
    mutating func queue(_ bytes: [UInt8]) -> Bool {
        waiting += bytes
        if waiting.count - taken > ControlConnection.worthSending { flush() }
        return waiting.count - taken <= ControlConnection.mostWaiting
    }

    /// Reads the bytes that have arrived.
    mutating func receive() {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while !isAtEnd, received.count <= ControlRequest.longestLine {
            let count = buffer.withUnsafeMutableBytes {
                read(descriptor.number, $0.baseAddress, $0.count)
            }
            if count > 0 {
                received += buffer[..<count]
            } else if count < 0, errno == EAGAIN || errno == EINTR {
                return
            } else {
                isAtEnd = true
            }
        }
    }

    /// Removes and returns the next whole line, without its line break. Returns nil if there is
    /// none.
    mutating func takeLine() -> [UInt8]? {
        guard let end = received.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        defer { received.removeFirst(end + 1) }
        unanswered += 1
        return Array(received[..<end])
    }

    /// Refuses a line that is longer than any request, and reads no more from the client.
    mutating func refuseOverlong() {
        guard !isAtEnd, received.count > ControlRequest.longestLine else { return }
        let limit = ControlRequest.longestLine >> 10
        waiting += ControlReply.refused("the request is longer than \(limit) KiB").line
        isAtEnd = true
    }

    /// Sends as many queued bytes as the client's socket accepts now.
    mutating func flush() {
        while waits {
            let count = waiting.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[taken...])
                return Glibc.send(
                    descriptor.number, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                if errno != EAGAIN { isGone = true }
                break
            }
            taken += count
        }
        if !waits {
            waiting.removeAll(keepingCapacity: waiting.count < ControlConnection.worthSending)
            taken = 0
        } else if taken > ControlConnection.mostWaiting / 4 {
            waiting.removeFirst(taken)
            taken = 0
        }
    }
}
