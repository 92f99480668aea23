import MirrorTestSupport
import Testing

/// A process that may have few files open: fewer transfers at once, and the same tree.
@Suite(.timeLimit(.minutes(15))) struct FewDescriptorsTests {
    @Test func syncWorksWithSixtyFourDescriptors() async throws {
        try await DetachedThread.run {
            let program = BuiltProgram.path(of: "mirror")
            let ground = try Playground(program: program, in: Folder.memory)
            defer { ground.remove() }
            let tree = ServedFiles(count: 40, bytes: 300_000)
            let server = try OriginServer(
                responder: ShelfOrigin(tree.shelf, bytesPerSecond: 2_000_000))
            defer { server.stop() }
            let manifest = try ground.write(manifest: tree.manifest(at: server.url))
            let run = try ground.start(
                ["sync", manifest, "--no-progress"],
                under: ["/bin/sh", "-c", "ulimit -n 64; exec \"$@\"", "sh"]
            ).wait(seconds: 300)
            #expect(run.ending == .exited(0), "\(run.errors)")
            #expect(ground.tree().count == 40)
            let words = "64 files open, so 8 transfers run at once instead of 128"
            #expect((run.output + run.errors).split(separator: words).count == 2)
        }
    }

    /// Each folder that is made waits, open, for the flush that makes it last.
    @Test func aDeepTreeFitsIn256Descriptors() async throws {
        try await DetachedThread.run {
            let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
            defer { ground.remove() }
            try ground.folder.write("source", Array("deep".utf8))
            let source = ground.folder.full("source")
            let steps = (0..<40).map { "n\($0)" }.joined(separator: "/")
            let resources = (0..<40).map {
                "{\"path\":\"Caches/\($0)/\(steps)/f.bin\",\"url\":\"file://\(source)\"}"
            }
            let manifest = try ground.write(
                manifest: "{\"name\":\"deep\",\"resources\":[\(resources.joined(separator: ","))]}")
            let run = try ground.start(
                ["sync", manifest, "--no-progress"],
                under: ["/bin/sh", "-c", "ulimit -n 256; exec \"$@\"", "sh"]
            ).wait(seconds: 300)
            #expect(run.ending == .exited(0), "\(run.errors)")
            #expect(ground.tree().count == 40)
        }
    }

    /// A set is staged as a whole: each file is flushed and closed before the next is opened.
    @Test(
        .enabled(if: SmallFileSystem.isPossible, "mounting a tmpfs needs root"),
        arguments: [false, true])
    func aSetIsPromotedWithSixtyFourDescriptors(isElsewhere: Bool) async throws {
        try await DetachedThread.run {
            let program = BuiltProgram.path(of: "mirror")
            let ground = try Playground(program: program)
            defer { ground.remove() }
            try ground.root.makeFolders(above: "Caches/.")
            let other =
                try isElsewhere
                ? SmallFileSystem(bytes: 64 << 20, at: ground.root.full("Caches")) : nil
            defer { withExtendedLifetime(other) {} }
            let tree = ServedFiles(count: 200, bytes: 3000)
            let server = try OriginServer(responder: ShelfOrigin(tree.shelf))
            defer { server.stop() }
            let manifest = try ground.write(manifest: tree.manifest(at: server.url))
            let run = try ground.start(
                ["sync", manifest, "--atomic", "--no-progress", "--min-free", "0"],
                under: ["/bin/sh", "-c", "ulimit -n 64; exec \"$@\"", "sh"]
            ).wait(seconds: 300)
            #expect(run.ending == .exited(0), "\(run.errors)")
            #expect(ground.tree().count == 200)
        }
    }
}

/// Files of one size, each in a folder of its own.
private struct ServedFiles {
    let shelf = MemoryShelf()
    private let count: Int

    init(count: Int, bytes: Int) {
        self.count = count
        for number in 0..<count {
            shelf.put("/\(number)", TestBytes.make(bytes, seed: UInt64(number)))
        }
    }

    func manifest(at url: String) -> String {
        let resources = (0..<count).map {
            "{\"path\":\"Caches/\($0)/f.bin\",\"url\":\"\(url)/\($0)\"}"
        }
        return "{\"name\":\"few\",\"resources\":[\(resources.joined(separator: ","))]}"
    }
}
