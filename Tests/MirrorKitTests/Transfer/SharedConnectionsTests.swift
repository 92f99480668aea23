import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Which connections requests share, on real TCP connections.
struct SharedConnectionsTests {
    private let shared = SharedConnections()

    /// A request, as the connections see it.
    private final class User: ConnectionUser {
        var isUnderWay = false
        private(set) var peerHasClosed = false

        func isUnderWay(in tls: UnsafeRawPointer?) -> Bool { isUnderWay }
        func peerCloses() { peerHasClosed = true }
        func isAskedForCertificate() {}
    }

    @discardableResult
    private func begin(
        _ localPort: Int32, by user: User = User(), tls: Int? = nil, choseHTTP2: Bool? = nil
    ) -> (number: Int?, other: User?, isTaken: Bool) {
        let tls = tls.flatMap { UnsafeRawPointer(bitPattern: $0) }
        switch shared.began(user, localPort: localPort, tls: tls, choseHTTP2: choseHTTP2) {
        case .free(let number, let other): return (number, other as? User, false)
        case .taken: return (nil, nil, true)
        case .unknown: return (nil, nil, false)
        }
    }

    /// A connection over which a number of requests are under way.
    private func pair(requests: Int) throws -> TCPPair {
        let pair = try TCPPair()
        shared.opened(pair.near)
        for _ in 0..<requests { begin(pair.localPort) }
        return pair
    }

    /// The number of a closed socket may be that of a connection of somebody else in the process.
    @Test func aClosedSocketIsNotTouched() throws {
        let pair = try pair(requests: 1)
        let user = User()
        let number = try #require(begin(pair.localPort, by: user).number)
        shared.closes(pair.near)
        shared.ended(user, on: number)
        #expect(shared.connections.isEmpty)
    }

    /// libcurl 7.88 does not tell when it closes a socket that is not connected.
    @Test func aSocketClosedUnseenIsUntouched() throws {
        let (pair, foreign) = (try TCPPair(), try TCPPair())
        shared.opened(pair.near)
        // Its number is that of another file now.
        try #require(dup2(foreign.near, pair.near) == pair.near)
        for _ in 0..<2 { begin(foreign.localPort) }
        #expect(shared.connections.isEmpty)
    }

    /// Its port was taken for that of another connection, which has the same one.
    @Test func aSocketClosedWithItsPortIsUntouched() throws {
        let foreign = try TCPPair()
        let pair = try pair(requests: 2)
        try #require(dup2(foreign.near, pair.near) == pair.near)
        begin(pair.localPort)
        #expect(shared.connections.isEmpty)
    }

    @Test func aReopenedNumberIsAnotherConnection() throws {
        let pair = try pair(requests: 2)
        shared.opened(pair.near)
        #expect(shared.connections.map(\.users.count) == [0])
    }

    @Test(arguments: [Int32(0), -1])
    func aRequestWithoutAPortHasNoConnection(port: Int32) throws {
        _ = try pair(requests: 0)
        begin(port)
        #expect(shared.connections.map(\.users.count) == [0])
    }

    @Test func anUnknownPortIsOfNoConnection() throws {
        let pair = try pair(requests: 0)
        for _ in 0..<2 { begin(pair.localPort ^ 1) }
        #expect(shared.connections.map(\.users.count) == [0])
    }

    @Test(arguments: TCPPair.families)
    func aConnectionIsFoundByItsPort(family: Int32) throws {
        let other = try TCPPair(family: family)
        let pair = try TCPPair(family: family)
        for near in [other.near, pair.near] { shared.opened(near) }
        begin(pair.localPort)
        #expect(shared.connections.map(\.users.count) == [0, 1])
        #expect(shared.connections.map(\.localPort) == [0, pair.localPort])
    }
}

extension SharedConnectionsTests {
    /// Two requests of which the first may still be under way, over a connection of TLS.
    private func second(isUnderWay: Bool, choseHTTP2: Bool?) throws -> (
        pair: TCPPair, first: User, number: Int?, other: User?, isTaken: Bool
    ) {
        let pair = try TCPPair()
        shared.opened(pair.near)
        let first = User()
        begin(pair.localPort, by: first, tls: 16, choseHTTP2: choseHTTP2)
        first.isUnderWay = isUnderWay
        let second = begin(pair.localPort, tls: 16, choseHTTP2: choseHTTP2)
        return (pair, first, second.number, second.other, second.isTaken)
    }

    @Test func http1TakesNoSecondRequestAtOnce() throws {
        let second = try second(isUnderWay: true, choseHTTP2: false)
        #expect(second.isTaken)
        #expect(shared.connections.map(\.users.count) == [1])
    }

    @Test func http1TakesTheNextRequestAfterward() throws {
        let second = try second(isUnderWay: false, choseHTTP2: false)
        #expect(second.number != nil)
        #expect(second.other == nil)
    }

    @Test func http2TakesSeveralRequests() throws {
        let second = try second(isUnderWay: true, choseHTTP2: true)
        #expect(second.number != nil)
        #expect(second.other === second.first)
    }

    @Test func theProtocolIsSettledBeforeSharing() throws {
        let first = try second(isUnderWay: true, choseHTTP2: nil)
        #expect(first.isTaken)
        let number = try #require(shared.connections.first?.number)
        shared.answered(number, in: .http2)
        let port = try #require(shared.connections.first?.localPort)
        let other = begin(port, tls: 16).other
        #expect(other === first.first)
        // Until here the socket must not be the number of another test's file.
        withExtendedLifetime(first.pair) {}
    }

    @Test func connectionsOfOnePortDifferBySession() throws {
        let pair = try TCPPair()
        for _ in 0..<2 { shared.opened(try #require(Optional(dup(pair.near)))) }
        defer { for connection in shared.connections { close(connection.socket) } }
        let numbers = [16, 32, 16].map { begin(pair.localPort, tls: $0, choseHTTP2: true).number }
        #expect(numbers[0] != nil && numbers[1] != nil)
        #expect(numbers[0] != numbers[1])
        #expect(numbers[0] == numbers[2])
    }

    @Test func closeNotifyReachesTheConnectionsRequests() throws {
        let pairs = try (0..<2).map { _ in try TCPPair() }
        let users = pairs.indices.map { _ in User() }
        for (index, pair) in pairs.enumerated() {
            shared.opened(pair.near)
            begin(pair.localPort, by: users[index], tls: 16 + index, choseHTTP2: false)
        }
        shared.peerCloses(try #require(UnsafeRawPointer(bitPattern: 17)))
        #expect(users.map(\.peerHasClosed) == [false, true])
    }
}

/// Against a real nginx: which connections of the wire are shared.
@Suite(.enabled(if: access(Nginx.program, X_OK) == 0, "needs nginx"))
struct SharedWireTests {
    private let nginx: Nginx
    private let wire: CurlWire
    private let probe: HeadProbe

    init() throws {
        nginx = try Nginx()
        for name in ["a", "b"] { try nginx.put(name, [1, 2, 3]) }
        var configuration = Configuration()
        configuration.cacert = nginx.certificate
        wire = CurlWire(configuration, signal: try WakeSignal())
        probe = HeadProbe(wire, patience: 600, isCancelled: { false })
    }

    /// Asks for two files together, and expects these statuses.
    private func expect(_ statuses: [Int?], of scheme: String) throws {
        let urls = try ["a", "b"].map { try SourceURL(nginx.url(scheme) + "/" + $0) }
        let found = try probe.reports(on: urls).map(\.status)
        #expect(found == statuses)
    }

    @Test func onlyHTTP2ConnectionsAreShared() throws {
        defer { nginx.stop() }
        try expect([200, 200], of: "http")
        // Most of these begin over a connection whose last request ends in the same turn.
        let url = try SourceURL(nginx.url("http") + "/a")
        _ = try probe.reports(on: Array(repeating: url, count: 500))
        let connections = wire.shared.connections.count
        for _ in 0..<2 { try expect([200, 200], of: "https") }
        // Both requests waited for the handshake, and shared its connection.
        #expect(wire.shared.connections.count == connections + 1)
        #expect(!wire.shared.connections.contains { !$0.users.isEmpty })
    }

    @Test func aConnectionThatTheServerClosedIsForgotten() throws {
        defer { nginx.stop() }
        try expect([200, 200], of: "https")
        #expect(wire.shared.connections.count == 1)
        nginx.stop()
        try expect([nil, nil], of: "https")
        #expect(wire.shared.connections.isEmpty)
    }
}

/// The two ends of a TCP connection over loopback.
private final class TCPPair {
    let near: Int32
    let localPort: Int32
    private let far: Int32

    /// Those that this machine has.
    static let families = [AF_INET, AF_INET6].filter { (try? TCPPair(family: $0)) != nil }

    init(family: Int32 = AF_INET) throws {
        let listener = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        let near = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        address.sin6_family = sa_family_t(family)
        // sin_addr is where sin6_flowinfo is (ip(7), ipv6(7)); the ports share a place too.
        address.sin6_flowinfo = family == AF_INET ? inet_addr("127.0.0.1") : 0
        address.sin6_addr = in6addr_loopback
        let isConnected = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, address, &length) == 0
                    && connect(near, address, length) == 0
                    && getsockname(near, address, &length) == 0
            }
        }
        if !isConnected { throw MirrorError(.connectFailed, "no loopback") }
        self.near = near
        localPort = Int32(UInt16(bigEndian: address.sin6_port))
        far = accept(listener, nil, nil)
    }

    deinit {
        close(near)
        close(far)
    }
}
