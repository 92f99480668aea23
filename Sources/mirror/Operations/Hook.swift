import Glibc
import MirrorKit

/// A program that mirror starts, without a shell, when a run has ended.
struct Hook {
    /// The option that names the program, for messages.
    let option: String
    /// The program, searched in PATH, and its arguments.
    let words: [String]
    /// Seconds after which mirror ends the program.
    private static let longest = 60
    /// The same limit, in milliseconds, for a program that starts after the deadline or a signal.
    private static let lastChance = (deadline: 1000, signal: 250)
    /// Milliseconds between SIGTERM and SIGKILL. A command ends within a second of a signal.
    private static let patience = 150

    /// Runs the program to its end, and writes lines to its standard input.
    ///
    /// A signal to the command, and its deadline, end the program with its process group. The
    /// program's output goes to this program's standard error, so that it cannot mix with JSON.
    /// Returns a sentence about a failure. Returns nil if the program ended with exit 0.
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
        let number = Hook.start(
            words, &actions, Hook.variables(adding: environment), &pid, leadsGroup: true)
        close(ends[0])
        guard number == 0 else {
            close(ends[1])
            return failure(number)
        }
        return wait(for: pid, writing: Array(lines.map { $0 + "\n" }.joined().utf8), to: ends[1])
    }

    /// Writes the lines, waits for the end, and ends a program that takes too long.
    ///
    /// Returns a sentence about a failure, or nil.
    private func wait(for pid: pid_t, writing bytes: [UInt8], to input: Int32) -> String? {
        _ = fcntl(input, F_SETFL, O_NONBLOCK)
        var rest = bytes[...]
        var isOpen = true
        let isLate = Interruption.endsCommand
        let limit = ContinuousClock.now + timeLeft
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
                return result(status)
            }
            let isToEnd = !isLate && Interruption.endsCommand
            if isToEnd || ContinuousClock.now > limit {
                if isOpen { close(input) }
                // A program that was started after a signal may go on, so mirror does not end it.
                if isLate, Interruption.exitCode != nil { return nil }
                end(pid)
                let name = "\(option): \(words[0])"
                return isToEnd || isLate
                    ? "\(name) was ended with the command."
                    : "\(name) did not end within \(Hook.longest) s, and was ended."
            }
            usleep(5000)
        }
    }

    private var timeLeft: Duration {
        if Interruption.exitCode != nil { return .milliseconds(Hook.lastChance.signal) }
        return Interruption.endsCommand
            ? .milliseconds(Hook.lastChance.deadline) : .seconds(Hook.longest)
    }

    /// Ends the program and what the program started.
    private func end(_ pid: pid_t) {
        kill(-pid, SIGTERM)
        var info = siginfo_t()
        // The program stays a zombie until the group is killed, so that no other process gets its
        // number.
        for _ in 0..<(Hook.patience / 5) {
            let isOver = waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0
            if isOver, info._sifields._kill.si_pid == pid { break }
            usleep(5000)
        }
        kill(-pid, SIGKILL)
        var status: Int32 = 0
        waitpid(pid, &status, 0)
    }

    private func result(_ status: Int32) -> String? {
        let signal = status & 0x7F
        if signal != 0 { return "\(option): \(words[0]) was ended by signal \(signal)." }
        let code = status >> 8 & 0xFF
        return code == 0 ? nil : "\(option): \(words[0]) ended with exit \(code)."
    }

    private func failure(_ number: Int32) -> String {
        "\(option): \(words[0]) cannot be started: \(String(cString: strerror(number)))."
    }
}

// MARK: The start of another program

extension Hook {
    /// Starts a program without a shell. Returns 0, or the `errno` of the failure.
    ///
    /// The program is searched in PATH.
    ///
    /// - Parameter leadsGroup: whether the program, with what it starts, is a process group of its
    ///   own.
    static func start(
        _ words: [String], _ actions: inout posix_spawn_file_actions_t, _ environment: [String],
        _ pid: inout pid_t, leadsGroup: Bool = false
    ) -> Int32 {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // This process blocks signals in every thread; the program must not inherit this mask.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var defaults = sigset_t()
        sigemptyset(&defaults)
        sigaddset(&defaults, SIGPIPE)
        sigaddset(&defaults, SIGXFSZ)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        let group = leadsGroup ? POSIX_SPAWN_SETPGROUP : 0
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group))
        return withPointers(to: words) { arguments in
            withPointers(to: environment) { variables in
                posix_spawnp(&pid, words[0], &actions, &attributes, arguments, variables)
            }
        }
    }

    /// Returns this process's variables and the added ones.
    ///
    /// An added variable replaces one of the same name.
    static func variables(adding added: [String: String] = [:]) -> [String] {
        var found: [String] = []
        var at = environ
        while let pointer = at.pointee {
            let text = String(cString: pointer)
            if added[String(text.prefix { $0 != "=" })] == nil { found.append(text) }
            at += 1
        }
        return found + added.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    }

    private static func withPointers<Result>(
        to texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers)
    }
}
