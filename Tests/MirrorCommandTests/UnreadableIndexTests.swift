import Glibc
import MirrorTestSupport
import Testing

/// A sound index on a disk that fails its reads.
@Suite(.timeLimit(.minutes(15)), .enabled(if: Strace.isPossible, "strace is not possible here"))
struct UnreadableIndexTests {
    /// A run before saw what may be damage, so this one looks thoroughly, and gets no answers.
    @Test func anUnreadableIndexIsNotDamaged() throws {
        let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        defer { ground.remove() }
        try ground.folder.write("world.map", Array("a map".utf8))
        let source = ground.folder.full("world.map")
        let manifest = try ground.write(
            manifest: """
                {"name":"m","resources":[{"path":"Documents/a","url":"file://\(source)"}]}
                """)
        #expect(try ground.start("sync", manifest).wait().ending == .exited(0))
        let mirror = ground.root.full(".mirror")
        for moment in 1...24 {
            try ground.root.write(".mirror/index.doubted", [])
            let tool = [
                Strace.program, "-f", "-qq", "-o", "/dev/null", "-e", "trace=pread64", "-e",
                "inject=pread64:error=EIO:when=\(moment)+",
            ]
            let result = try ground.start(["sync", manifest], under: tool).wait()
            #expect(result.ending != .hung)
            let names = try Command.run("/bin/ls", [mirror]).output
            #expect(!names.contains("damaged"), "from the read \(moment) on: \(names)")
        }
        let healed = try ground.start("sync", manifest).wait()
        #expect(healed.ending == .exited(0), "\(healed.errors)")
        #expect(!healed.output.contains("conflict"), "\(healed.output)")
    }
}
