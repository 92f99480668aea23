import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Handles serve one request after another, and libcurl keeps a URL of the one before.
@Suite(.timeLimit(.minutes(15))) struct RequestURLTests {
    /// Requests the paths one after another over one handle; returns what the servers were asked for.
    private func ask(
        _ paths: [String], of origins: [ClosureOrigin], _ servers: [OriginServer]
    ) async throws -> [[String]] {
        let rig = try TransferRig { $0.perHost = 1 }
        for (number, path) in paths.enumerated() {
            let url = servers[number % servers.count].url + path
            #expect(rig.bytes(await rig.run(try .fetching(url, id: number))) == [1, 2])
        }
        return origins.map { $0.requests.map(\.path) }
    }

    private func origin() -> ClosureOrigin {
        ClosureOrigin { _, _, connection in
            connection.answer("HTTP/1.1 200 OK\nContent-Length: 2", [1, 2])
        }
    }

    private static let paths = [
        "/a", "/b/c", "/d?x=1", "/e", "/f%2Fg%C3%A4", "/g%c3%a4", "/h", "/h?", "/i?y=%2F",
        "/j//k;l", "/", "/%7E", "/m:80@n",
    ]

    @Test func everyRequestHasItsOwnURL() async throws {
        let origin = origin()
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let asked = try await ask(Self.paths, of: [origin], [server])
        #expect(asked == [Self.paths])
        #expect(server.connections == 1)
    }

    @Test func aHandleForTwoServersMixesNothing() async throws {
        let origins = [origin(), origin()]
        let servers = try origins.map { try OriginServer(responder: $0) }
        defer { for server in servers { server.stop() } }
        let asked = try await ask(Self.paths, of: origins, servers)
        let numbered = Self.paths.enumerated()
        #expect(asked[0] == numbered.filter { $0.offset % 2 == 0 }.map(\.element))
        #expect(asked[1] == numbered.filter { $0.offset % 2 == 1 }.map(\.element))
    }

    /// libcurl repeats such a request by itself, from the URL as text.
    @Test func aRepeatedRequestHasItsURL() async throws {
        let origin = ClosureOrigin { request, _, connection in
            if request.path == "/b", request.ordinal > 1 { return false }
            return connection.answer("HTTP/1.1 200 OK\nContent-Length: 2", [1, 2])
        }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let asked = try await ask(["/a", "/b", "/c"], of: [origin], [server])
        #expect(asked == [["/a", "/b", "/b", "/c"]])
        #expect(server.connections == 2)
    }
}
