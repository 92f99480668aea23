import Glibc
import MirrorModel

/// A program that a run starts when it has ended, without a shell.
struct Hook {
    /// The option that names it, for messages.
    let option: String
    /// The program, searched in PATH, and its arguments.
    let words: [String]
    /// Seconds after which it is ended.
    static let longest = 60

    /// Runs the program to its end, with lines on its standard input.
    ///
    /// Its output goes where this program's errors go, so that it cannot mix with JSON. Returns a
    /// sentence when it failed; nil when it ended with exit 0.
    func run(_ lines: [String], environment: [String: String]) -> String? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return failure(errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        var pid = pid_t()
        let number = Spawn.start(words, &actions, Spawn.variables(adding: environment), &pid)
        close(ends[0])
        guard number == 0 else {
            close(ends[1])
            return failure(number)
        }
        return wait(for: pid, writing: Array(lines.map { $0 + "\n" }.joined().utf8), to: ends[1])
    }

    /// Writes the lines, waits for the end, and ends a program that takes too long.
    private func wait(for pid: pid_t, writing bytes: [UInt8], to input: Int32) -> String? {
        _ = fcntl(input, F_SETFL, O_NONBLOCK)
        var rest = bytes[...]
        var isOpen = true
        let deadline = ContinuousClock.now + .seconds(Hook.longest)
        while true {
            if isOpen {
                let count = rest.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
                if count > 0 { rest = rest.dropFirst(count) }
                let isBroken = count < 0 && errno != EAGAIN && errno != EINTR
                if rest.isEmpty || isBroken {
                    close(input)
                    isOpen = false
                }
            }
            var status: Int32 = 0
            if waitpid(pid, &status, WNOHANG) == pid {
                if isOpen { close(input) }
                return verdict(status)
            }
            if ContinuousClock.now > deadline {
                if isOpen { close(input) }
                kill(pid, SIGKILL)
                waitpid(pid, &status, 0)
                return
                    "\(option): \(words[0]) did not end within \(Hook.longest) s, and was killed."
            }
            usleep(5000)
        }
    }

    private func verdict(_ status: Int32) -> String? {
        let signal = status & 0x7F
        if signal != 0 { return "\(option): \(words[0]) was ended by signal \(signal)." }
        let code = status >> 8 & 0xFF
        return code == 0 ? nil : "\(option): \(words[0]) ended with exit \(code)."
    }

    private func failure(_ number: Int32) -> String {
        "\(option): \(words[0]) cannot be started: \(String(cString: strerror(number)))."
    }
}
