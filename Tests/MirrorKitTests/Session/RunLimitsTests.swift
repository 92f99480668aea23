@testable import MirrorKit
import MirrorTestSupport
import Testing

/// What is refused before the first request.
@Suite(.timeLimit(.minutes(15))) struct RunLimitsTests {
    @Test func sizesThatOverflowFindNoRoom() async throws {
        let folder = try Folder.temporary()
        defer { folder.remove() }
        let session = try MirrorSession(root: folder.full("root"))
        let resources = try ["a", "b"].map { name in
            var resource = Resource(
                target: try Target("Caches/\(name)"),
                url: try SourceURL("http://127.0.0.1:9/\(name)", relativeTo: nil))
            resource.size = .max
            return resource
        }
        let manifest = Manifest(name: "huge", resources: resources)
        let summary = try await session.sync(manifest)
        #expect(summary[.noRoom] == 2)
        #expect(summary.requests == 0)
        #expect(summary.exit == 77)
        var options = RunOptions()
        options.requireRoom = true
        let error = await #expect(throws: MirrorError.self) {
            try await session.sync(manifest, options: options)
        }
        #expect(error?.code == .spaceLimit)
        #expect(error?.remedy?.kind == .freeSpace)
    }
}
