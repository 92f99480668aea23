internal import CLinux
internal import Glibc
internal import MirrorModel
internal import MirrorSystem

/// Another program, run to its end without a shell.
struct ToolRun: Sendable {
    /// Its exit code; 127 where it could not be started.
    let exit: Int32
    /// What it wrote to standard output.
    let output: [UInt8]
    /// What it wrote to standard error.
    let errors: String

    /// Runs a program, searched in PATH, with bytes on its standard input.
    ///
    /// Its output goes to memory, so that it never waits for a reader. Throws `MirrorError` with
    /// `inputOutput` where this process has no descriptors left.
    init(_ words: [String], input: [UInt8] = []) throws {
        do throws(Errno) {
            let files = [try ToolRun.memory(), try ToolRun.memory(), try ToolRun.memory()]
            try files[0].write(input, at: 0, path: "input")
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            for (number, file) in files.enumerated() {
                posix_spawn_file_actions_adddup2(&actions, file.number, Int32(number))
            }
            exit = ToolRun.spawn(words, &actions)
            output = try files[1].bytes(at: 0, count: 1 << 24, path: "output")
            errors = String(
                decoding: try files[2].bytes(at: 0, count: 1 << 16, path: "output"), as: UTF8.self)
        } catch { throw MirrorError(error) }
    }

    private static func memory() throws(Errno) -> Descriptor {
        Descriptor(owning: try retrying("memfd_create", "") { linux_memfd("tool") })
    }

    private static func spawn(
        _ words: [String], _ actions: inout posix_spawn_file_actions_t
    ) -> Int32 {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The command blocks signals in every thread; the program must not inherit that.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let strings = words.map { strdup($0) }
        defer { for string in strings { free(string) } }
        var pid = pid_t()
        guard posix_spawnp(&pid, words[0], &actions, &attributes, strings + [nil], environ) == 0
        else { return 127 }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }
}
