import Glibc
import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

/// A disk that a transfer finds full, beside transfers that need none of its room.
@Suite(.timeLimit(.minutes(15))) struct FilledDiskTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func session(minFree: Int64) throws -> MirrorSession {
        var configuration = Configuration()
        configuration.minFree = minFree
        configuration.jobs = 1
        return try MirrorSession(root: folder.path, configuration: configuration)
    }

    /// The parts lie on a small disk, and the files on another one.
    @Test(.enabled(if: SmallFileSystem.isPossible, "mounting a tmpfs needs root"))
    func whatNeedsNoRoomGoesOn() async throws {
        #expect(mkdir(folder.path + "/tmp", 0o755) == 0)
        let disk = try SmallFileSystem(bytes: 1 << 20, at: folder.path + "/tmp")
        let asked = Mutex<[String]>([])
        let ground = Folder(folder.path)
        let bytes = TestBytes.make(800_000, seed: 1)
        let origin = ClosureOrigin { request, _, connection in
            asked.withLock { $0.append(request.path) }
            if request.path == "/large" {
                guard
                    connection.send(
                        Array(
                            "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 800000\r\n\r\n".utf8)
                            + bytes.prefix(200_000))
                else { return false }
                // Once the body has been admitted, another program fills the disk.
                while ground.names(in: "tmp").isEmpty {
                    guard connection.pause(milliseconds: 1) else { return false }
                }
                try? ground.write("tmp/filler", TestBytes.make(700_000, seed: 2))
                return connection.send(bytes.dropFirst(200_000))
            }
            if request.value(of: "If-None-Match") != nil {
                return connection.answer("HTTP/1.1 304 Not Modified\nETag: \"1\"")
            }
            return connection.answer(
                "HTTP/1.1 200 OK\nETag: \"1\"\nContent-Length: 2", Array("ok".utf8))
        }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        func resource(_ name: String, priority: Int32 = 0) throws -> Resource {
            var resource = Resource(
                target: try Target("Caches/\(name)"), url: try SourceURL("\(server.url)/\(name)"))
            resource.priority = priority
            return resource
        }
        let session = try session(minFree: 0)
        _ = try await session.sync(Manifest(name: "m", resources: [resource("old")]))
        let manifest = try Manifest(
            name: "m",
            resources: [resource("large", priority: 1), resource("new"), resource("old")]
        )
        asked.withLock { $0 = [] }
        let summary = try await session.sync(manifest)
        #expect(summary[.failed] == 1)
        #expect(summary[.notModified] == 1)
        #expect(summary[.noRoom] == 1)
        #expect(summary.exit == 74)
        #expect(summary.error == nil)
        #expect(asked.withLock { $0 } == ["/large", "/old"])
        #expect(ground.names(in: "tmp").contains { $0.hasSuffix(".part") })
        try disk.resize(bytes: 8 << 20)
        #expect(try await session.sync(manifest).exit == 0)
    }

    /// A body that outgrows the room for it ends before the disk is full, and its part goes.
    @Test(.enabled(if: SmallFileSystem.isPossible, "mounting a tmpfs needs root"))
    func aBodyOfUnknownSizeLeavesFreeWhatMustStayFree() async throws {
        let disk = try SmallFileSystem(bytes: 64 << 20, at: folder.path)
        let origin = ClosureOrigin { _, _, connection in
            guard
                connection.send(
                    Array(
                        "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
                )
            else { return false }
            let chunk =
                Array("10000\r\n".utf8) + TestBytes.make(1 << 16, seed: 1)
                + Array("\r\n".utf8)
            // mirror ends the connection when there is no room; 64 MiB would fill the disk.
            for _ in 0..<1024 {
                guard connection.send(chunk) else { return false }
            }
            return false
        }
        let server = try OriginServer(responder: origin)
        defer { server.stop() }
        let session = try session(minFree: 40 << 20)
        let summary = try await session.sync(
            Manifest(
                name: "m",
                resources: [
                    Resource(
                        target: Target("Caches/endless"), url: SourceURL("\(server.url)/endless"))
                ]))
        #expect(summary[.noRoom] == 1)
        #expect(summary.exit == 77)
        #expect(disk.usedBytes < 8 << 20)
    }
}
