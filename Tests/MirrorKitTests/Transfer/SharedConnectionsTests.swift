import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorModel
@testable import MirrorSystem
@testable import MirrorTransfer

/// What is gathered into one packet, on real TCP connections.
struct SharedConnectionsTests {
    private let shared = SharedConnections()

    @Test func requestsThatBeginTogetherAreGatheredUntilTheyAreSent() throws {
        let pair = try TCPPair()
        shared.add(localPort: 1) { pair.near }
        for _ in 0..<2 { shared.began() }
        shared.gather()
        #expect(pair.isHeldBack)
        shared.send()
        #expect(!pair.isHeldBack)
    }

    @Test func oneRequestGoesAtOnce() throws {
        let pair = try TCPPair()
        shared.add(localPort: 1) { pair.near }
        shared.began()
        shared.gather()
        #expect(!pair.isHeldBack)
        // What began before counts no more.
        shared.began()
        shared.gather()
        #expect(!pair.isHeldBack)
    }

    @Test func fewRequestsOverManyConnectionsAreNotGathered() throws {
        let pairs = [try TCPPair(), try TCPPair(), try TCPPair()]
        for (port, pair) in pairs.enumerated() {
            shared.add(localPort: Int32(port + 1)) { pair.near }
        }
        for _ in 0..<3 { shared.began() }
        shared.gather()
        #expect(pairs.allSatisfy { !$0.isHeldBack })
        for _ in 0..<4 { shared.began() }
        shared.gather()
        #expect(pairs.allSatisfy { $0.isHeldBack })
        shared.send()
        #expect(pairs.allSatisfy { !$0.isHeldBack })
    }

    /// The number of a closed socket may be that of a connection of somebody else in the process.
    @Test func aClosedSocketIsNotTouched() throws {
        let pair = try TCPPair()
        shared.add(localPort: 1) { pair.near }
        shared.remove(pair.near)
        for _ in 0..<9 { shared.began() }
        shared.gather()
        #expect(!pair.isHeldBack)
        shared.add(localPort: 1) { pair.near }
        #expect(shared.sockets == [pair.near])
    }

    @Test func aConnectionIsLookedUpOnce() throws {
        var lookups = 0
        for _ in 0..<3 {
            shared.add(localPort: 7) {
                lookups += 1
                return 99
            }
        }
        #expect(lookups == 1)
        #expect(shared.sockets == [99])
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
        configuration.certificateAuthorities = nginx.certificate
        wire = CurlWire(configuration, signal: try WakeSignal())
        probe = HeadProbe(wire, patience: 600, isCancelled: { false })
    }

    /// Asks for two files together, and expects these statuses.
    private func expect(_ statuses: [Int?], of scheme: String) throws {
        let urls = try ["a", "b"].map { try SourceURL(nginx.url(scheme) + "/" + $0) }
        let found = try probe.reports(on: urls).map(\.status)
        #expect(found == statuses)
    }

    @Test func onlyConnectionsOfHTTP2AreShared() throws {
        defer { nginx.stop() }
        try expect([200, 200], of: "http")
        #expect(wire.shared.sockets.isEmpty)
        #expect(wire.shared.gatherings == 0)
        try expect([200, 200], of: "https")
        #expect(wire.shared.sockets.count == 1)
        let earlier = wire.shared.gatherings
        try expect([200, 200], of: "https")
        #expect(wire.shared.sockets.count == 1)
        // Both began together, and what they wrote is on its way.
        #expect(wire.shared.gatherings > earlier)
        #expect(!wire.shared.isGathering)
    }

    @Test func aConnectionThatTheServerClosedIsForgotten() throws {
        defer { nginx.stop() }
        try expect([200, 200], of: "https")
        #expect(wire.shared.sockets.count == 1)
        nginx.stop()
        try expect([nil, nil], of: "https")
        #expect(wire.shared.sockets.isEmpty)
    }
}

/// The two ends of a TCP connection over loopback.
private final class TCPPair {
    let near: Int32
    private let far: Int32

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let near = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let isConnected = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, address, &length) == 0
                    && connect(near, address, length) == 0
            }
        }
        try #require(isConnected)
        self.near = near
        far = accept(listener, nil, nil)
    }

    deinit {
        close(near)
        close(far)
    }

    /// Whether the kernel holds back what is written to the near end (TCP_CORK).
    var isHeldBack: Bool {
        var value: Int32 = -1
        var length = socklen_t(MemoryLayout<Int32>.size)
        let result = getsockopt(near, Int32(IPPROTO_TCP), TCP_CORK, &value, &length)
        return result == 0 && value == 1
    }
}
