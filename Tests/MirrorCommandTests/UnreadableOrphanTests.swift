import Glibc
import MirrorTestSupport
import Testing

/// An orphan that cannot be read cannot be compared with its row, so it stays, and the run says so.
@Suite(.timeLimit(.minutes(5))) struct UnreadableOrphanTests {
    /// Has root the rights of a mere owner of the files (capabilities(7)).
    static let owner =
        geteuid() == 0
        ? ["/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search"] : []

    @Test func anUnreadableOrphanIsKeptAndReported() async throws {
        try await DetachedThread.run {
            let shelf = MemoryShelf()
            shelf.put("/a", [1])
            shelf.put("/b", [2])
            let server = try OriginServer(responder: ShelfOrigin(shelf))
            defer { server.stop() }
            let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
            defer { ground.remove() }
            let entry = { (name: String) in
                #"{"path":"Caches/\#(name)","url":"\#(server.url)/\#(name)"}"#
            }
            let both = try ground.write(
                manifest: #"{"name":"t","resources":[\#(entry("a")),\#(entry("b"))]}"#)
            #expect(try ground.sync(both).wait().ending == .exited(0))
            // Another stamp, so that only its bytes could show that it is still mirror's.
            try ground.root.write("Caches/b", [2])
            #expect(chmod(ground.root.full("Caches/b"), 0) == 0)
            let one = try ground.write(manifest: #"{"name":"t","resources":[\#(entry("a"))]}"#)
            let words = ["sync", one, "--prune", "--json"]
            let result = try ground.start(words, under: Self.owner).wait()
            #expect(result.ending == .exited(74), "\(result)")
            #expect(result.output.contains(#""event":"failed""#), "\(result)")
            #expect(result.output.contains("Caches/b: Permission denied"), "\(result)")
            #expect(result.summary("orphans") == "1", "\(result)")
            #expect(ground.root.size("Caches/b") == 1)
            // Once it can be read, it goes.
            #expect(chmod(ground.root.full("Caches/b"), 0o644) == 0)
            let next = try ground.start(words).wait()
            #expect(next.ending == .exited(0), "\(next)")
            #expect(next.summary("removed") == "1", "\(next)")
        }
    }
}
