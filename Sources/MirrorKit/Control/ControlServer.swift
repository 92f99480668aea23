internal import CLinux
internal import Glibc
package import MirrorModel
internal import MirrorSystem
internal import Synchronization

/// Answers requests from other processes of the same user while a run is under way or a watch sleeps.
///
/// The server has a thread of its own, so no client can make the run wait. A follower that does not
/// read is disconnected.
package final class ControlServer: Sendable {
    /// Carries out a request.
    package typealias Handler = @Sendable (ControlRequest) async -> ControlReply

    private enum Message: Sendable {
        case reply(client: Int, [UInt8])
        case event([UInt8])
        case stop
    }

    private let messages = Mutex<[Message]>([])
    private let signal: WakeSignal
    private let address: ControlAddress
    private let followers = Atomic(0)
    private let thread = Mutex<NativeThread?>(nil)

    /// Listens for requests about a root. Nil if the user has no folder for sockets, or the system
    /// refuses a socket or a thread; a run works without a server.
    package init?(root: String, handler: @escaping Handler) {
        guard let address = ControlAddress.make(forRoot: root), let signal = try? WakeSignal()
        else { return nil }
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
        EventEncoder(alwaysWithTotals: true).write(event, to: &json)
        json.newline()
        post(.event(json.take()))
    }

    /// Ends the server. Its clients still get the queued bytes that they take at once.
    package func stop() {
        let running = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let running else { return }
        post(.stop)
        running.join()
        unlink(address.path)
    }

    private func post(_ message: Message) {
        messages.withLock { $0.append(message) }
        signal.raise()
    }

    /// Passes a client's request on, and its reply back.
    fileprivate func pass(_ line: [UInt8], of client: Int, to handler: @escaping Handler) {
        let request: ControlRequest
        do throws(ControlRefusal) { request = try ControlRequest(line: line) } catch {
            return post(.reply(client: client, ControlReply.refused(error.words).line))
        }
        Task { post(.reply(client: client, await handler(request).line)) }
    }

    /// Acts on the posted messages; false when the server is to end.
    fileprivate func deliver(to loop: inout ControlLoop) -> Bool {
        let posted = messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
        var goesOn = true
        for message in posted {
            switch message {
            case .reply(let client, let bytes): loop.send(bytes, to: client)
            case .event(let bytes): loop.sendToFollowers(bytes)
            case .stop: goesOn = false
            }
        }
        return goesOn
    }

    fileprivate func note(followers count: Int) { followers.store(count, ordering: .relaxed) }
}

/// The thread of a control server: its listener and its clients.
struct ControlLoop {
    /// The most clients at a time; one more replaces the oldest client that follows no run.
    private static let mostClients = 16
    /// The most bytes that wait for a client.
    private static let mostWaiting = 4 << 20

    private let listener: Descriptor
    private let signal: WakeSignal
    private var clients: [Int: ControlConnection] = [:]
    private var last = 0

    init(listener: Descriptor, signal: WakeSignal) {
        self.listener = listener
        self.signal = signal
    }

    /// Serves until the server is told to stop.
    mutating func run(server: ControlServer, handler: @escaping ControlServer.Handler) {
        while true {
            poll()
            signal.clear()
            let goesOn = server.deliver(to: &self)
            accept()
            for number in clients.keys.sorted() { serve(number, server, handler) }
            server.note(followers: clients.values.count { $0.isFollower })
            if !goesOn { return }
        }
    }

    /// Queues bytes for a client.
    mutating func send(_ bytes: [UInt8], to client: Int) { clients[client]?.waiting += bytes }

    /// Queues bytes for the clients that follow the run.
    mutating func sendToFollowers(_ bytes: [UInt8]) {
        for (number, client) in clients where client.isFollower {
            clients[number]?.waiting += bytes
        }
    }

    private func poll() {
        var entries = [
            pollfd(fd: listener.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        for client in clients.values {
            let events = POLLIN | (client.waiting.isEmpty ? 0 : POLLOUT)
            entries.append(pollfd(fd: client.descriptor.number, events: Int16(events), revents: 0))
        }
        _ = Glibc.poll(&entries, nfds_t(entries.count), -1)
    }

    private mutating func accept() {
        while true {
            let number = linux_local_accept(listener.number)
            guard number >= 0 else { return }
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
        guard var client = clients[number] else { return }
        var isOpen = client.receive()
        while let line = client.takeLine() {
            if (try? ControlRequest(line: line)) == .follow { client.isFollower = true }
            server.pass(line, of: number, to: handler)
        }
        if client.isOverlong || client.waiting.count > ControlLoop.mostWaiting { isOpen = false }
        if !client.flush() { isOpen = false }
        clients[number] = isOpen ? client : nil
    }
}

/// A client of a control server: the bytes that it has sent, and those that wait for it.
struct ControlConnection {
    let descriptor: Descriptor
    var waiting: [UInt8] = []
    var isFollower = false
    private var received: [UInt8] = []

    init(descriptor: Descriptor) { self.descriptor = descriptor }

    /// Whether a line is longer than any request.
    var isOverlong: Bool { received.count > ControlRequest.longestLine }

    /// Takes what has arrived; false when the client has gone.
    mutating func receive() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while !isOverlong {
            let count = buffer.withUnsafeMutableBytes {
                read(descriptor.number, $0.baseAddress, $0.count)
            }
            if count == 0 { return false }
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            received += buffer[..<count]
        }
        return true
    }

    /// The next whole line, without its line break.
    mutating func takeLine() -> [UInt8]? {
        guard let end = received.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        defer { received.removeFirst(end + 1) }
        return Array(received[..<end])
    }

    /// Sends as much as the client takes now; false when it has gone.
    mutating func flush() -> Bool {
        while !waiting.isEmpty {
            let count = waiting.withUnsafeBytes {
                Glibc.send(descriptor.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            waiting.removeFirst(count)
        }
        return true
    }
}
