import Glibc
import MirrorTestSupport
import Testing

/// A document that cannot be read may be the user's, so it is not lost when it is fetched again.
@Suite(.timeLimit(.minutes(5))) struct UnreadableDocumentTests {
    /// Whether the index knew a version of the file before it was edited.
    @Test(arguments: [false, true])
    func anUnreadableDocumentOutlivesARefetch(isRecorded: Bool) async throws {
        try await DetachedThread.run {
            let shelf = MemoryShelf()
            shelf.put("/a", [1, 1])
            let server = try OriginServer(responder: ShelfOrigin(shelf))
            defer { server.stop() }
            let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
            defer { ground.remove() }
            let manifest = try ground.write(
                manifest:
                    #"{"name":"t","resources":[{"path":"Documents/a","url":"\#(server.url)/a"}]}"#)
            if isRecorded { #expect(try ground.sync(manifest).wait().ending == .exited(0)) }
            // As long as the version that comes, so that only reading it could tell them apart.
            try ground.root.write("Documents/a", [7, 7])
            #expect(chmod(ground.root.full("Documents/a"), 0) == 0)
            let words = ["sync", manifest, "--refetch", "Documents/a", "--json"]
            let kept = try ground.start(
                words + ["--on-conflict", "keep"], under: UnreadableOrphanTests.owner
            ).wait()
            #expect(kept.summary("failed") == "1", "\(kept)")
            #expect(ground.root.read("Documents/a") == [7, 7])
            let result = try ground.start(words, under: UnreadableOrphanTests.owner).wait()
            #expect(result.ending == .exited(0), "\(result)")
            #expect(ground.root.read("Documents/a") == [1, 1])
            let names = ground.root.entries(beneath: "Documents").map(\.name)
            let other = try #require(names.first { $0 != "Documents/a" && $0 != "a" }, "\(names)")
            #expect(
                ground.root.read(other.hasPrefix("Documents/") ? other : "Documents/\(other)")
                    == [7, 7])
        }
    }
}
