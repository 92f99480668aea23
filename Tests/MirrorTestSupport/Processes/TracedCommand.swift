internal import CTestSupport
internal import Glibc
internal import Synchronization

/// A process that stops before each system call that could change a file or a lock.
///
/// The calls of all its threads come in one order, so "the hundredth" names a moment: strace(1)
/// counts for each thread by itself. Only the thread that started it may use it (ptrace(2)).
package final class TracedCommand {
    /// A call that is about to be made.
    package struct Call: CustomStringConvertible {
        package let thread: Int32
        package let name: String
        /// The file that its descriptor is open on, where it takes one.
        package let file: String?
        fileprivate let arguments: [UInt]

        /// Whether it leaves nothing behind when its process ends.
        package var isLock: Bool { name == "fcntl" || name == "flock" }

        package var description: String {
            name
                + (file.map { " of \($0.split(separator: "/").suffix(2).joined(separator: "/"))" }
                    ?? "")
        }
    }

    /// The process.
    package let pid: Int32
    private let output: ScratchFile
    private let errors: ScratchFile
    private var status: Int32 = 0
    private var hasEnded = false
    private var heardBytes = 0

    /// Starts a program; it goes on with `next()`.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:]
    ) throws(SystemFailure) {
        let output = try ScratchFile()
        let errors = try ScratchFile()
        let pid = CStrings.withPointers([program] + arguments) { words in
            CStrings.withPointers(CStrings.variables(environment)) {
                test_start_traced(program, words, $0, output.descriptor, errors.descriptor)
            }
        }
        guard pid > 0 else { throw SystemFailure("fork", program, errno: -pid) }
        let failure = test_trace(pid)
        guard failure == 0 else {
            Glibc.kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
            throw SystemFailure("ptrace", program, errno: -failure)
        }
        self.pid = pid
        self.output = output
        self.errors = errors
        Overdue.watch(pid)
    }

    /// Lets it run to the next call that changes something; nil when it has ended.
    package func next() -> Call? {
        var thread: pid_t = 0
        var stop = test_stop()
        while !hasEnded, test_next_stop(pid, &thread, &stop, &status) == 1 {
            if let call = changing(stop, of: thread) { return call }
            test_go_on(thread)
        }
        hasEnded = true
        Overdue.forget(pid)
        return nil
    }

    /// Lets the call be made, and the process go on.
    package func pass(_ call: Call) { test_go_on(call.thread) }

    /// Lets the call be made, and stops its thread before it does anything else; `pass` lets it go on.
    package func finish(_ call: Call) { test_finish_call(call.thread) }

    /// Waits until none of its threads is in a call that it was let make: each one stands in front of its
    /// next one, or sleeps.
    ///
    /// - Throws: `StoryFailure` when one still is after ten seconds.
    package func settle() throws(StoryFailure) {
        try ThreadStates.wait(for: ["t", "S"], of: pid)
    }

    /// Kills it in front of the call: the kernel skips a call whose thread has a fatal signal.
    package func kill() { Glibc.kill(pid, SIGKILL) }

    /// Lets the call be made, and kills the process before its thread does anything else.
    package func kill(after call: Call) {
        test_finish_call(call.thread)
        kill()
    }

    /// Lets it run to its end and says how that was.
    package func end() -> Command.Result {
        while let call = next() { pass(call) }
        return Command.Result(
            ending: Command.Ending(status: status), output: output.text(), errors: errors.text(),
            processorSeconds: 0, peakMemory: 0)
    }

    /// The whole lines that were written to standard output since the last call of this.
    package func newLines() -> [Substring] {
        guard output.size > heardBytes else { return [] }
        let text = output.text(from: heardBytes)
        guard let end = text.utf8.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        heardBytes += text.utf8.distance(from: text.startIndex, to: end) + 1
        return text[..<end].split(separator: "\n")
    }

    /// What was written to standard output so far.
    package var outputSoFar: String { output.text() }

    private func changing(_ stop: test_stop, of thread: pid_t) -> Call? {
        guard let text = test_call_name(stop.number) else { return nil }
        let name = String(cString: text)
        let words = stop.arguments
        var file: String?
        switch name {
        case "open": guard words.1 & TracedCommand.making != 0 else { return nil }
        case "openat": guard words.2 & TracedCommand.making != 0 else { return nil }
        case "openat2":
            guard UInt(bitPattern: test_peek(thread, words.2)) & TracedCommand.making != 0 else {
                return nil
            }
        case "utimensat" where words.1 == 0:
            file = path(of: Int32(truncatingIfNeeded: words.0), in: thread)
        case "ioctl": guard TracedCommand.cloning.contains(words.1) else { return nil }
        case "fcntl": guard TracedCommand.locking.contains(words.1) else { return nil }
        case "write", "writev", "pwrite64", "pwritev", "pwritev2", "sendfile", "splice", "fsync",
            "fdatasync", "syncfs", "ftruncate", "fallocate", "sync_file_range", "fchmod", "flock",
            "copy_file_range":
            let at = name == "copy_file_range" || name == "splice" ? words.2 : words.0
            file = path(of: Int32(truncatingIfNeeded: at), in: thread)
            // Not a file: an eventfd, a socket, a pipe.
            guard file?.hasPrefix("/") == true else { return nil }
        default: break
        }
        let arguments = [words.0, words.1, words.2, words.3]
        return Call(thread: thread, name: name, file: file, arguments: arguments)
    }

    private func path(of descriptor: Int32, in thread: pid_t) -> String? {
        Folder("/proc/\(thread)/fd").link("\(descriptor)")
    }

    /// The absolute paths of the names that a call makes, links or renames; only before it is let go on.
    ///
    /// Of two, the first is what has a name already.
    package func names(of call: Call) -> [String] {
        let words = call.arguments
        let pairs: [(folder: UInt, name: UInt)]
        switch call.name {
        case "rename", "link":
            pairs = [
                (TracedCommand.currentFolder, words[0]), (TracedCommand.currentFolder, words[1]),
            ]
        case "renameat", "renameat2", "linkat":
            pairs = [(words[0], words[1]), (words[2], words[3])]
        case "mkdirat", "openat", "openat2": pairs = [(words[0], words[1])]
        case "mkdir", "open": pairs = [(TracedCommand.currentFolder, words[0])]
        default: pairs = []
        }
        return pairs.map { name(at: $0.name, in: $0.folder, of: call.thread) }
    }

    private func name(at address: UInt, in folder: UInt, of thread: Int32) -> String {
        let name = text(at: address, of: thread)
        let own = "/proc/self/fd/"
        if name.hasPrefix(own) {
            let rest = name.dropFirst(own.count)
            let number = Int32(rest.prefix { $0 != "/" }) ?? -1
            return (path(of: number, in: thread) ?? name) + rest.drop { $0 != "/" }
        }
        if name.hasPrefix("/") { return name }
        let number = Int32(truncatingIfNeeded: folder)
        let start =
            number == AT_FDCWD
            ? Folder("/proc/\(thread)").link("cwd") : path(of: number, in: thread)
        return (start ?? "") + (name.isEmpty ? "" : "/" + name)
    }

    private func text(at address: UInt, of thread: Int32) -> String {
        var bytes: [UInt8] = []
        while bytes.count < Int(PATH_MAX) {
            let word = test_peek(thread, address + UInt(bytes.count))
            let next = withUnsafeBytes(of: word) { Array($0) }
            bytes += next.prefix { $0 != 0 }
            if next.contains(0) { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let currentFolder = UInt(bitPattern: Int(AT_FDCWD))
    private static let making = UInt(bitPattern: Int(O_CREAT | O_TRUNC))
    /// FICLONE and FICLONERANGE (ioctl_ficlonerange(2)).
    private static let cloning: [UInt] = [0x4004_9409, 0x4020_940D]
    /// F_SETLK, F_SETLKW, and the two for open file descriptions (fcntl(2)).
    private static let locking: [UInt] = [6, 7, 37, 38]
}

/// Kills traced processes that hang: nobody can wait for those with a time limit.
private enum Overdue {
    private static let limit = 60_000
    private static let watched = Mutex<(since: [Int32: Int], isRunning: Bool)>(([:], false))

    static func watch(_ pid: Int32) {
        let mustStart = watched.withLock { watched in
            watched.since[pid] = Milliseconds.now
            defer { watched.isRunning = true }
            return !watched.isRunning
        }
        guard mustStart else { return }
        DetachedThread.start {
            while true {
                sleep(1)
                watched.withLock { watched in
                    for (pid, since) in watched.since where Milliseconds.now - since > limit {
                        Glibc.kill(pid, SIGKILL)
                    }
                }
            }
        }
    }

    static func forget(_ pid: Int32) { watched.withLock { _ = $0.since.removeValue(forKey: pid) } }
}
