import Glibc
import MirrorTestSupport
import Testing

/// A lock that the system does not give.
@Suite(.timeLimit(.minutes(15)), .enabled(if: Strace.isPossible, "strace is not possible here"))
struct LockFailureTests {
    /// ENOLCK is what flock(2) gives where the kernel, or a file server, has no more locks.
    @Test(arguments: [("ENOLCK", Int32(73)), ("EINVAL", 73), ("EAGAIN", 75)])
    func aLockThatIsNotGivenIsNone(error: String, exit: Int32) throws {
        let ground = try Playground(program: BuiltProgram.path(of: "mirror"))
        defer { ground.remove() }
        let manifest = try ground.write(manifest: "{\"name\":\"m\",\"resources\":[]}")
        try ground.root.write(".mirror/lock", [])
        let lock = ground.root.full(".mirror/lock")
        let tool = [
            Strace.program, "-f", "-qq", "-o", "/dev/null", "-P", lock, "-e", "trace=flock", "-e",
            "inject=flock:error=\(error):when=1",
        ]
        let result = try ground.start(["sync", manifest], under: tool).wait()
        #expect(result.ending == .exited(exit), "\(result.errors)")
        #expect(result.errors.contains("lock"))
    }
}
