internal import CCurl
internal import CLinux
internal import Glibc
internal import MirrorModel

/// The connections of a wire: which requests use each of them, and whether several may share it.
///
/// Only a connection of HTTP/2 carries several requests at once. libcurl 7.88 sends several over one of
/// HTTP/1.1 too, if another connection to the host speaks HTTP/2; so each request asks here before it is
/// sent.
final class SharedConnections {
    struct Connection {
        /// Unique among all connections of the wire.
        let number: Int
        let socket: curl_socket_t
        /// The kernel's name of the socket, whose number may later be that of another file (SO_COOKIE).
        let cookie: UInt64
        /// The host of the requests that may share it; nil where only one uses it.
        let host: Host?
        /// Its local port; 0 until a request is sent over it.
        var localPort: Int32 = 0
        /// Its TLS session; nil without TLS, and where libcurl does not report it.
        var tls: UnsafeRawPointer?
        /// The requests under way.
        var users: [any ConnectionUser] = []
        /// Whether it speaks HTTP/2, as TLS or a response showed; nil before.
        var speaksHTTP2: Bool?
    }

    /// What a request finds that is about to be sent over a connection.
    enum Place {
        /// It may be sent over the connection with this number. Where others use it at the same time,
        /// `beside` is the first of them.
        case free(Int, beside: (any ConnectionUser)?)
        /// Another request is under way over it, and it does not speak HTTP/2.
        case taken
        /// The connection is not known.
        case unknown
    }

    /// Those that were opened. libcurl 7.88 does not report that it closes one that was not yet connected.
    private(set) var connections: [Connection] = []
    private var lastNumber = 0
    /// The requests for which connections with these TLS contexts are made.
    private var contexts: [UnsafeRawPointer: any ConnectionUser] = [:]
    /// The hosts to which a connection speaks HTTP/2.
    private var sharingHosts: Set<Host> = []
    /// The requests that make connections which others may share. Between two addresses of a name such a
    /// request may have no socket for a while.
    private var makers: [Host: ObjectIdentifier] = [:]
    /// The hosts to which the last such connection could not be made.
    private var unmade: Set<Host> = []

    /// Notes a socket that was opened for a connection.
    ///
    /// - Parameter host: the host of a request that may share its connection; nil where it may not.
    func opened(_ socket: curl_socket_t, to host: Host? = nil) {
        closes(socket)
        lastNumber += 1
        connections.append(
            Connection(
                number: lastNumber, socket: socket, cookie: linux_socket_cookie(socket), host: host)
        )
    }

    /// Whether another request makes a connection to a host that speaks HTTP/2, which both can share.
    func awaitsConnection(to host: Host, for user: any ConnectionUser) -> Bool {
        guard sharingHosts.contains(host), let maker = makers[host] else { return false }
        return maker != ObjectIdentifier(user)
    }

    /// Notes a request that makes a connection which others may share.
    func makes(_ host: Host, by user: any ConnectionUser) {
        if makers[host] == nil { makers[host] = ObjectIdentifier(user) }
        unmade.remove(host)
    }

    /// Notes that a request has its connection, or has ended without one.
    ///
    /// - Parameter hasFailed: whether none could be made.
    func endsMaking(_ host: Host, by user: any ConnectionUser, hasFailed: Bool) {
        guard makers[host] == ObjectIdentifier(user) else { return }
        makers[host] = nil
        if hasFailed { unmade.insert(host) }
    }

    /// Whether the last connection to a host that others waited for could not be made.
    func isUnmade(_ host: Host) -> Bool { unmade.contains(host) }

    /// Whether the socket of a connection has not been closed.
    private func isOpen(_ connection: Connection) -> Bool {
        connection.cookie != 0 && linux_socket_cookie(connection.socket) == connection.cookie
    }

    /// Forgets a socket that is about to be closed: its number may soon belong to another file.
    func closes(_ socket: curl_socket_t) { connections.removeAll { $0.socket == socket } }

    /// Notes a request that is about to be sent over the connection with this local port.
    ///
    /// - Parameters:
    ///   - tls: its TLS session; nil without TLS, and where libcurl does not report it.
    ///   - choseHTTP2: whether the session agreed on HTTP/2 (RFC 7301); nil where it is not known.
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

    /// Notes the request for which a connection with a TLS context is made.
    func begins(_ context: UnsafeRawPointer, for user: (any ConnectionUser)?) {
        contexts[context] = user
    }

    /// Notes that the server of a connection under way asks for a client certificate.
    func isAskedForCertificate(_ context: UnsafeRawPointer) {
        contexts[context]?.isAskedForCertificate()
    }

    /// Notes that the peer of a TLS session sends nothing more (close_notify, RFC 8446 §6.1).
    ///
    /// Some peers keep the TCP connection. libcurl then learns of the end only if it reads from the
    /// socket, so reading is ended here (shutdown(2)).
    func peerCloses(_ tls: UnsafeRawPointer) {
        guard let connection = connections.first(where: { $0.tls == tls }) else { return }
        for user in connection.users { user.peerCloses() }
        if isOpen(connection) { shutdown(connection.socket, Int32(SHUT_RD)) }
    }

    /// Ends the connection with this number if nothing came over it for so many milliseconds.
    ///
    /// A router on the way may have forgotten it. libcurl would use it for further requests to the
    /// host, and they would get no answer either.
    func end(_ number: Int, ifSilentFor milliseconds: Int64) {
        guard let connection = connections.first(where: { $0.number == number }),
            isOpen(connection), linux_silence(connection.socket) >= milliseconds
        else { return }
        shutdown(connection.socket, Int32(SHUT_RDWR))
    }

    /// The connection over which requests were sent before: connections to two hosts may have one
    /// local port, but no two of them have one TLS session.
    private func known(_ localPort: Int32, _ tls: UnsafeRawPointer?) -> Int? {
        guard localPort > 0 else { return nil }
        connections.removeAll { $0.localPort == localPort && $0.tls == tls && !isOpen($0) }
        return connections.firstIndex { $0.localPort == localPort && $0.tls == tls }
    }

    /// Finds the socket that has a port, among those over which nothing was sent yet, and forgets those
    /// of them that were closed. From now on libcurl reports when it closes the socket.
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
    /// Whether it has not ended over a connection that does not speak HTTP/2.
    func isUnderWay(in tls: UnsafeRawPointer?) -> Bool
    /// The peer of its TLS session sends nothing more.
    func peerCloses()
    /// The server asks for a client certificate.
    func isAskedForCertificate()
}
