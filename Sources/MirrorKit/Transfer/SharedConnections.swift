internal import CCurl
internal import CLinux
internal import Glibc

/// The connections of a wire: which requests use each of them, and whether several may share it.
///
/// Only a connection of HTTP/2 carries several requests at once. libcurl 7.88 also sends several
/// over a connection of HTTP/1.1, if another connection to the host speaks HTTP/2. So each request
/// calls `began` before it is sent.
final class SharedConnections {
    struct Connection {
        /// Unique among all connections of the wire.
        let number: Int
        let socket: curl_socket_t
        /// The kernel's id of the socket (SO_COOKIE). A later file may get the socket's number.
        let cookie: UInt64
        /// The host of the requests that may share the connection. `nil` means that only one uses
        /// it.
        let host: Host?
        /// The local port of the connection; 0 until a request is sent over it.
        var localPort: Int32 = 0
        /// The TLS session. `nil` means that there is no TLS, or that libcurl does not report it.
        var tls: UnsafeRawPointer?
        /// The requests under way on the connection.
        var users: [any ConnectionUser] = []
        /// Whether the connection speaks HTTP/2. `nil` means that no TLS or response showed it yet.
        var speaksHTTP2: Bool?
    }

    /// Whether a request may be sent over a connection.
    enum Place {
        /// The request may be sent over the connection with this number.
        /// `beside` is the first of the requests that use the connection at the same time, if any.
        case free(Int, beside: (any ConnectionUser)?)
        /// Another request is under way on the connection, which does not speak HTTP/2.
        case taken
        /// No connection with this port and TLS session is known.
        case unknown
    }

    /// The opened connections. Some of them may be closed.
    /// libcurl 7.88 does not report the close of a connection that was not yet established.
    private(set) var connections: [Connection] = []
    private var lastNumber = 0
    /// The request that makes a connection, by the connection's TLS context.
    private var contexts: [UnsafeRawPointer: any ConnectionUser] = [:]
    /// The hosts for which the last TLS session chose HTTP/2.
    private var sharingHosts: Set<Host> = []
    /// The request that makes a connection which others may share, by host.
    /// Between two addresses of a name, such a request may have no socket for a while.
    private var makers: [Host: ObjectIdentifier] = [:]
    /// The hosts to which the last connection to share could not be made.
    private var unmade: Set<Host> = []

    /// Notes a socket that was opened for a connection.
    ///
    /// - Parameter host: the host of a request that may share the connection. `nil` means that the
    ///   request may not.
    func opened(_ socket: curl_socket_t, to host: Host? = nil) {
        closes(socket)
        lastNumber += 1
        connections.append(
            Connection(
                number: lastNumber, socket: socket, cookie: linux_socket_cookie(socket), host: host)
        )
    }

    /// Whether a request must wait: another one makes an HTTP/2 connection that both can share.
    func awaitsConnection(to host: Host, for user: any ConnectionUser) -> Bool {
        guard sharingHosts.contains(host), let maker = makers[host] else { return false }
        return maker != ObjectIdentifier(user)
    }

    /// Notes that a request makes a connection which others may share.
    func makes(_ host: Host, by user: any ConnectionUser) {
        if makers[host] == nil { makers[host] = ObjectIdentifier(user) }
        unmade.remove(host)
    }

    /// Notes that a request has its connection, or has ended without one.
    ///
    /// - Parameter hasFailed: whether no connection could be made.
    func endsMaking(_ host: Host, by user: any ConnectionUser, hasFailed: Bool) {
        guard makers[host] == ObjectIdentifier(user) else { return }
        makers[host] = nil
        if hasFailed { unmade.insert(host) }
    }

    /// Whether the last connection to share with a host could not be made.
    func isUnmade(_ host: Host) -> Bool { unmade.contains(host) }

    /// Whether the socket of a connection is still open.
    private func isOpen(_ connection: Connection) -> Bool {
        connection.cookie != 0 && linux_socket_cookie(connection.socket) == connection.cookie
    }

    /// Forgets a socket that is about to be closed, because its number may soon be another file's.
    func closes(_ socket: curl_socket_t) { connections.removeAll { $0.socket == socket } }

    /// Notes a request that is about to be sent. Returns whether it may be sent.
    ///
    /// - Parameters:
    ///   - localPort: the local port of the connection.
    ///   - tls: the TLS session. `nil` means no TLS, or that libcurl does not report it.
    ///   - choseHTTP2: whether the session agreed on HTTP/2 (RFC 7301). `nil` means that this is
    ///     not known.
    func began(
        _ user: any ConnectionUser, localPort: Int32, tls: UnsafeRawPointer? = nil,
        choseHTTP2: Bool? = nil
    ) -> Place {
        guard let position = known(localPort, tls) ?? learn(localPort) else { return .unknown }
        connections[position].tls = tls
        if let choseHTTP2, connections[position].speaksHTTP2 != choseHTTP2 {
            connections[position].speaksHTTP2 = choseHTTP2
            if let host = connections[position].host {
                if choseHTTP2 { sharingHosts.insert(host) } else { sharingHosts.remove(host) }
            }
        }
        let users = connections[position].users
        if connections[position].speaksHTTP2 != true,
            users.contains(where: { $0.isUnderWay(in: tls) })
        {
            return .taken
        }
        connections[position].users.append(user)
        let isShared = connections[position].speaksHTTP2 == true
        return .free(connections[position].number, beside: isShared ? users.first : nil)
    }

    /// Notes the end of a request over the connection with this number.
    func ended(_ user: any ConnectionUser, on number: Int) {
        if !contexts.isEmpty { contexts = contexts.filter { $0.value !== user } }
        guard let position = connections.firstIndex(where: { $0.number == number }),
            let place = connections[position].users.firstIndex(where: { $0 === user })
        else { return }
        connections[position].users.remove(at: place)
    }

    /// Notes the version of a response, before the next request can begin over its connection.
    func answered(_ number: Int, in version: HTTPVersion) {
        guard let position = connections.firstIndex(where: { $0.number == number }) else { return }
        connections[position].speaksHTTP2 = version == .http2
    }

    /// Notes which request makes the connection with a TLS context.
    func begins(_ context: UnsafeRawPointer, for user: (any ConnectionUser)?) {
        contexts[context] = user
    }

    /// Notes that the server of a connection under way asks for a client certificate.
    func isAskedForCertificate(_ context: UnsafeRawPointer) {
        contexts[context]?.isAskedForCertificate()
    }

    /// Notes that the peer of a TLS session sends nothing more (close_notify, RFC 8446 §6.1).
    ///
    /// Some peers keep the TCP connection open. libcurl then learns of the end only if it reads
    /// from the socket. So this method shuts the reading side down (shutdown(2)), which libcurl
    /// notices.
    func peerCloses(_ tls: UnsafeRawPointer) {
        guard let connection = connections.first(where: { $0.tls == tls }) else { return }
        for user in connection.users { user.peerCloses() }
        if isOpen(connection) { shutdown(connection.socket, Int32(SHUT_RD)) }
    }

    /// Ends the connection with this number if no byte came over it for so many milliseconds.
    ///
    /// A router on the way may have forgotten the connection. libcurl would use it for further
    /// requests to the host, and they would get no answer either.
    func end(_ number: Int, ifSilentFor milliseconds: Int64) {
        guard let connection = connections.first(where: { $0.number == number }),
            isOpen(connection), linux_silence(connection.socket) >= milliseconds
        else { return }
        shutdown(connection.socket, Int32(SHUT_RDWR))
    }

    /// Returns the position of a connection that has already carried a request.
    /// Returns nil if no known connection has this port and session. Connections to two hosts may
    /// have the same local port, but no two connections have the same TLS session.
    private func known(_ localPort: Int32, _ tls: UnsafeRawPointer?) -> Int? {
        guard localPort > 0 else { return nil }
        connections.removeAll { $0.localPort == localPort && $0.tls == tls && !isOpen($0) }
        return connections.firstIndex { $0.localPort == localPort && $0.tls == tls }
    }

    /// Finds the connection with a port among those that have carried no request yet.
    /// Returns nil if no connection has the port. Also forgets the closed ones of these
    /// connections. From now on libcurl reports when it closes the socket.
    private func learn(_ localPort: Int32) -> Int? {
        guard localPort > 0 else { return nil }
        connections.removeAll { $0.localPort == 0 && !isOpen($0) }
        let position = connections.firstIndex {
            $0.localPort == 0 && linux_local_port($0.socket) == localPort
        }
        if let position { connections[position].localPort = localPort }
        return position
    }
}

/// A request that uses a connection.
protocol ConnectionUser: AnyObject {
    /// Whether the request may still be under way on the connection with this TLS session.
    func isUnderWay(in tls: UnsafeRawPointer?) -> Bool
    /// Notes that the peer of the TLS session sends nothing more.
    func peerCloses()
    /// Notes that the server asks for a client certificate.
    func isAskedForCertificate()
}
