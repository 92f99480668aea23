import MirrorTestSupport
import Testing

/// The last good copy of a manifest by URL, as the built program tells its age.
@Suite(.timeLimit(.minutes(5))) struct LastGoodCopyTests {
    /// Weeks offline must not look fresh: only the server can say that a copy is still right.
    @Test func aCopyGetsNoYoungerByBeingUsed() async throws {
        let stage = try SyncedStage()
        defer { stage.end() }
        let entry = stage.entry("Caches/a", Array("one".utf8), url: "a", more: #","refresh":"1d""#)
        stage.serve(Array(#"{ "name": "far", "resources": [ \#(entry) ] }"#.utf8), at: "m.json")
        let sync = ["sync", stage.server.url + "/m.json", "--retries", "0"]
        @Sendable func copied() async throws -> String {
            let list = try await stage.run(["manifests", "--json"])
            let manifests = JSONValue(Substring(list.output))?["manifests"]
            guard case .array(let all)? = manifests, let date = all.first?["copied"]?.word else {
                Issue.record("\(list)")
                return ""
            }
            return date
        }
        #expect(try await stage.run(sync).ending == .exited(0))
        let first = try await copied()
        #expect(try await stage.run(sync).ending == .exited(0))
        let confirmed = try await copied()
        #expect(confirmed > first)
        stage.server.stop()
        let used = try await stage.run(sync)
        #expect(used.ending == .exited(0), "\(used)")
        #expect(used.errors.contains("the last good copy, "), "\(used)")
        #expect(try await copied() == confirmed)
    }
}
