internal import CTestSupport
internal import Glibc

/// A process of its own, its output kept in files so that no pipe can fill up.
public final class Command: Sendable {
    /// How a process ended.
    public enum Ending: Sendable, Equatable, CustomStringConvertible {
        case exited(Int32)
        case signalled(Int32)
        case hung
        /// Somebody else has taken its end (wait(2)).
        case unknown

        /// The status or the signal.
        public var description: String {
            switch self {
            case .exited(let status): "exit \(status)"
            case .signalled(let number): "signal \(number)"
            case .hung: "no end within the time limit"
            case .unknown: "an end that somebody else has taken"
            }
        }

        /// Reads a wait status (wait(2)).
        package init(status: Int32) {
            let number = status & 0x7F
            self = number == 0 ? .exited(status >> 8 & 0xFF) : .signalled(number)
        }
    }

    /// What a process left.
    public struct Result: Sendable {
        /// How it ended.
        public let ending: Ending
        /// Its standard output.
        public let output: String
        /// Its standard error.
        public let errors: String
        /// The processor time that it used, in seconds (wait4(2)).
        public let processorSeconds: Double
        /// The most memory that it held, in bytes; never less than the parent held at the start.
        public let peakMemory: Int
    }

    /// The process id.
    public let pid: Int32
    private let output: ScratchFile
    private let errors: ScratchFile

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - arguments: the words after the program's name.
    ///   - environment: the whole environment, but for what `Sanitizers` adds.
    ///   - input: a file for standard input; nil is `/dev/null`.
    ///   - folder: where it begins; nil is where the tests run.
    public init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:],
        input: String? = nil, folder: String? = nil
    ) throws(SystemFailure) {
        let output = try ScratchFile()
        let errors = try ScratchFile()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input ?? "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output.descriptor, 1)
        posix_spawn_file_actions_adddup2(&actions, errors.descriptor, 2)
        // Other tests open files meanwhile; a program that may open few must not inherit theirs.
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        if let folder { _ = test_begin_in(&actions, folder) }
        var attributes = Command.plainSignals()
        defer { posix_spawnattr_destroy(&attributes) }
        var pid: pid_t = 0
        let failure = CStrings.withPointers([program] + arguments) { words in
            CStrings.withPointers(CStrings.variables(environment)) {
                Command.spawn(&pid, program, &actions, &attributes, words, $0)
            }
        }
        guard failure == 0 else { throw SystemFailure("posix_spawn", program, errno: failure) }
        self.pid = pid
        self.output = output
        self.errors = errors
    }

    /// What was written to standard output so far.
    public var outputSoFar: String { output.text() }

    /// What was written to standard error so far.
    public var errorsSoFar: String { errors.text() }

    /// Sends a signal.
    public func signal(_ number: Int32) { kill(pid, number) }

    /// Stops it (SIGCONT lets it go on), and waits until each of its threads has left the kernel: a flush
    /// that was under way has ended then.
    ///
    /// - Throws: `StoryFailure` when one has not after ten seconds.
    package func pause() throws(StoryFailure) {
        signal(SIGSTOP)
        try ThreadStates.wait(for: ["T"], of: pid)
    }

    /// Whether it has ended; `wait()` still says how.
    public var hasEnded: Bool {
        var status = siginfo_t()
        return waitid(P_PID, id_t(pid), &status, WEXITED | WNOHANG | WNOWAIT) != 0
            || status.si_signo == SIGCHLD
    }

    /// Waits for the end; a process that runs for longer than the limit is killed.
    public func wait(seconds: Int = 60) -> Result {
        var status: Int32 = 0
        var isHung = false
        var waited = 0
        var usage = rusage()
        var ended = wait4(pid, &status, WNOHANG, &usage)
        while ended == 0 {
            usleep(2000)
            waited += 2
            if waited > seconds * 1000, !isHung {
                isHung = true
                signal(SIGKILL)
            }
            ended = wait4(pid, &status, WNOHANG, &usage)
        }
        let ending: Ending = ended < 0 ? .unknown : isHung ? .hung : Ending(status: status)
        let times = [usage.ru_utime, usage.ru_stime]
        return Result(
            ending: ending, output: output.text(), errors: errors.text(),
            processorSeconds: times.reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 },
            peakMemory: usage.ru_maxrss * 1024)
    }

    /// Starts a program and waits for its end.
    public static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = [:],
        seconds: Int = 60
    ) throws(SystemFailure) -> Result {
        try Command(program, arguments, environment: environment).wait(seconds: seconds)
    }

    /// posix_spawn(3), again while a program that a test has just written is still open for writing
    /// in a child that another thread forked in that moment and that has not got to its exec yet.
    private static func spawn(
        _ pid: inout pid_t, _ program: String, _ actions: inout posix_spawn_file_actions_t,
        _ attributes: inout posix_spawnattr_t, _ words: [UnsafeMutablePointer<CChar>?],
        _ environment: [UnsafeMutablePointer<CChar>?]
    ) -> Int32 {
        for _ in 1...500 {
            let failure = posix_spawn(&pid, program, &actions, &attributes, words, environment)
            if failure != ETXTBSY { return failure }
            usleep(2000)
        }
        return ETXTBSY
    }

    /// A test runner may ignore or block signals; a child begins with the defaults.
    private static func plainSignals() -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        return attributes
    }
}

/// Null-terminated arrays of C strings.
enum CStrings {
    static func withPointers<Value>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Value
    ) -> Value {
        let pointers = strings.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }

    /// An environment as a program gets it.
    static func variables(_ environment: [String: String]) -> [String] {
        environment.merging(Sanitizers.environment) { own, _ in own }.map {
            "\($0.key)=\($0.value)"
        }
    }
}
