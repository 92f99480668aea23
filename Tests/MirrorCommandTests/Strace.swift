import MirrorTestSupport

/// strace(1), which makes system calls fail.
enum Strace {
    static let program = "/usr/bin/strace"

    /// Whether it is here, and may look at another process.
    static let isPossible: Bool = {
        guard BuiltProgram.exists(program) else { return false }
        let tried = try? Command.run(program, ["-qq", "-o", "/dev/null", "/bin/true"])
        return tried?.ending == .exited(0)
    }()
}
