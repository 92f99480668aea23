internal import CLinux
internal import Glibc
internal import MirrorSystem

/// The thread of a control server: its listener and its clients.
struct ControlLoop {
    /// The most clients at a time; one more replaces the oldest client that follows no run.
    private static let mostClients = 16
    /// Milliseconds for which the clients can take what waits for them at the end.
    private static let longestFarewell: Int64 = 500
    /// Milliseconds until it accepts again after the system had no descriptor or memory for a client.
    private static let acceptPause: Int32 = 200

    private let listener: Descriptor
    private let signal: WakeSignal
    private var clients: [Int: ControlConnection] = [:]
    private var last = 0
    /// Whether the system refused a client, who waits at the listener: poll(2) would return at once.
    private var isExhausted = false

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
            if !goesOn { return sayFarewell() }
        }
    }

    /// Queues the answer to a request.
    mutating func reply(_ bytes: [UInt8], to client: Int, follows: Bool) {
        clients[client]?.answer(bytes, follows: follows)
    }

    /// Sends an event to the clients that follow the run, and leaves those that do not read.
    mutating func sendToFollowers(_ bytes: [UInt8]) {
        // By numbers: whoever iterates over the clients has a copy of what waits for them.
        for number in Array(clients.keys) where clients[number]?.isFollower == true {
            if clients[number]?.queue(bytes) == false { clients[number] = nil }
        }
    }

    /// Waits until a client has sent something, takes something, or is gone.
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
        // Taken out, so that its bytes have one owner and are not copied.
        guard var client = clients.removeValue(forKey: number) else { return }
        client.receive()
        while let line = client.takeLine() { server.pass(line, of: number, to: handler) }
        client.refuseOverlong()
        client.flush()
        if !client.isOver { clients[number] = client }
    }

    /// Lets the clients take what waits for them.
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
