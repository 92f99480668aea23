internal import CCurl
internal import CLinux
internal import Glibc

/// The connections that carry several requests at once, which are those of HTTP/2.
///
/// libcurl writes each request by itself, with TCP_NODELAY, and a reset of each stream whose response
/// had no body (7.88). Each such write is a packet for which the server wakes. So the kernel gathers
/// into one packet what is written while libcurl takes its turn (TCP_CORK, tcp(7)). The first two
/// requests that are under way over one connection show that others may join them.
final class SharedConnections {
    struct Connection {
        let socket: curl_socket_t
        /// What the kernel calls the socket, whose number may come to be another one's (SO_COOKIE).
        let cookie: UInt64
        /// Its local port; 0 until a request is sent over it.
        var localPort: Int32 = 0
        /// The number of requests under way, with those that ended in this turn.
        var requests = 0
        /// Whether a response came over HTTP/1, which has one request under way at a time.
        var carriesOne = false
        /// Whether the kernel holds back what is written to it.
        var isHeld = false

        var isShared: Bool { requests > 1 && !carriesOne }
    }

    /// Those that were opened. libcurl 7.88 does not tell when it closes one that was not yet connected.
    private(set) var connections: [Connection] = []
    /// Whether libcurl takes its turn.
    private var isGathering = false
    /// How often bytes of a connection were held back; for tests.
    private(set) var gatherings = 0

    /// Notes a socket that was opened for a connection.
    func opened(_ socket: curl_socket_t) {
        closes(socket)
        connections.append(Connection(socket: socket, cookie: linux_socket_cookie(socket)))
    }

    /// Forgets a socket that is about to be closed: its number may soon belong to another file.
    func closes(_ socket: curl_socket_t) { connections.removeAll { $0.socket == socket } }

    /// Notes a request that is about to be sent over the connection with this local port.
    func began(localPort: Int32) {
        guard let position = known(localPort) ?? learn(localPort) else { return }
        connections[position].requests += 1
        if isGathering { hold(position) }
    }

    /// Notes the end of a request.
    func ended(localPort: Int32) {
        guard let position = known(localPort), connections[position].requests > 0 else { return }
        connections[position].requests -= 1
    }

    /// Notes a response over HTTP/1, before the next request can begin over its connection.
    func carriesOne(localPort: Int32) {
        if let position = known(localPort) { connections[position].carriesOne = true }
    }

    /// Holds back what is written to shared connections from now on.
    func gather() {
        isGathering = true
        for position in connections.indices { hold(position) }
    }

    /// Sends what was held back.
    func send() {
        isGathering = false
        for position in connections.indices where connections[position].isHeld {
            connections[position].isHeld = false
            linux_set_cork(connections[position].socket, false)
        }
    }

    private func hold(_ position: Int) {
        let connection = connections[position]
        guard connection.isShared, !connection.isHeld else { return }
        // Connections to two hosts may have one port, and this may be the wrong one of them.
        guard linux_socket_cookie(connection.socket) == connection.cookie else {
            connections[position].localPort = 0
            connections[position].requests = 0
            return
        }
        connections[position].isHeld = true
        gatherings += 1
        linux_set_cork(connection.socket, true)
    }

    private func known(_ localPort: Int32) -> Int? {
        guard localPort > 0 else { return nil }
        return connections.firstIndex { $0.localPort == localPort }
    }

    /// Finds the socket that has a port, among those over which nothing was sent yet, and forgets those
    /// of them that were closed. From now on libcurl tells when it closes the socket.
    private func learn(_ localPort: Int32) -> Int? {
        guard localPort > 0 else { return nil }
        connections.removeAll {
            $0.localPort == 0 && ($0.cookie == 0 || linux_socket_cookie($0.socket) != $0.cookie)
        }
        let position = connections.firstIndex {
            $0.localPort == 0 && linux_local_port($0.socket) == localPort
        }
        if let position { connections[position].localPort = localPort }
        return position
    }
}
