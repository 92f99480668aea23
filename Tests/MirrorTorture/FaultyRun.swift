internal import CTestSupport
internal import MirrorTestSupport
internal import Glibc

/// A run of the program under strace(1), which makes system calls fail from main on.
///
/// The program is stopped before main by the preloaded library and strace takes hold of it there, so
/// that no fault hits the dynamic loader and `when=1` is the program's own first call. strace counts
/// calls in each thread by itself.
struct FaultyRun {
    /// How it ended.
    let result: Command.Result
    /// The traced calls, one a line, each with its thread first.
    let calls: [String]

    /// How many calls were made to fail.
    var hits: Int { calls.count { $0.hasSuffix("(INJECTED)") } }

    /// Whether a call of a runtime may have been made to fail where that is a trap: of Swift's its look
    /// at its own threads, and its event descriptor, the first that is made; of C's the memory of
    /// malloc(3), and its return or that of a thread's stack, which has no other reason to fail.
    var hitsRuntime: Bool {
        calls.contains { call in
            guard call.hasSuffix("(INJECTED)") else { return false }
            if [" eventfd2(", " munmap("].contains(where: call.contains) { return true }
            if call.contains("\"/proc/"), call.contains("/stat\"") { return true }
            // The stack of a thread that cannot be started is no such memory.
            return call.contains(" mmap(") && call.contains("MAP_ANONYMOUS")
                && !call.contains("MAP_STACK")
        }
    }

    /// The most calls that one thread made.
    func most(of call: String) -> Int {
        var counts: [Substring: Int] = [:]
        for line in calls where line.contains(" \(call)(") {
            counts[line.prefix { $0 != " " }, default: 0] += 1
        }
        return counts.values.max() ?? 0
    }

    private static let strace = "/usr/bin/strace"

    /// Why no such run is possible here; nil when it is.
    static let reasonNotPossible: String? = {
        guard BuiltProgram.exists(strace) else { return "strace is not installed" }
        do { _ = try LyingDisk.path() } catch { return "\(error)" }
        guard let tried = try? Command.run(strace, ["-qq", "-o", "/dev/null", "/bin/true"]),
            tried.ending == .exited(0)
        else { return "ptrace(2) is not permitted" }
        return nil
    }()

    /// Runs the sync of a scene.
    ///
    /// - Parameters:
    ///   - trace: the calls that are noted.
    ///   - fault: what strace calls an injection, e.g. `fsync:error=EIO:when=2`.
    init(
        _ story: FaultStory, _ scene: FaultStory.Scene, trace: [String], fault: String? = nil
    ) throws {
        let ground = story.ground
        let command = try story.sync(
            scene, adding: ["LD_PRELOAD": try LyingDisk.path(), "LYING_DISK_STOP": "1"])
        var status: Int32 = 0
        // It is stopped, or it is gone and waited for below.
        var information = siginfo_t()
        while waitid(P_PID, id_t(command.pid), &information, WSTOPPED | WEXITED | WNOWAIT) != 0,
            errno == EINTR
        {}
        let log = ground.folder.full("strace.log")
        unlink(log)
        var words = ["-f", "-qq", "-p", "\(command.pid)", "-o", log]
        words += ["-e", "trace=" + trace.joined(separator: ","), "-e", "signal=none"]
        if let fault { words += ["-e", "inject=" + fault] }
        // Threads wake each other by writing too, and that never fails.
        if trace == ["write"] { words += FaultyRun.outputs(of: command.pid) }
        let tracer = try Command(FaultyRun.strace, words)
        while !FaultyRun.isTraced(command.pid) {
            guard waitpid(tracer.pid, &status, WNOHANG) == 0 else {
                command.signal(SIGKILL)
                _ = command.wait()
                throw SystemFailure("strace", words.joined(separator: " "), errno: EINVAL)
            }
            Pause.milliseconds(1)
        }
        command.signal(SIGCONT)
        result = command.wait(seconds: 60)
        _ = tracer.wait(seconds: 10)
        let text = String(decoding: ground.folder.read("strace.log") ?? [], as: UTF8.self)
        calls = text.split(separator: "\n").map(String.init)
    }

    /// The files of standard output and error, by the names that strace knows them by.
    private static func outputs(of pid: Int32) -> [String] {
        [1, 2].flatMap { number -> [String] in
            let buffer = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
                count = buffer.withMemoryRebound(to: CChar.self) { text in
                    text.baseAddress.map {
                        max(0, readlink("/proc/\(pid)/fd/\(number)", $0, text.count))
                    } ?? 0
                }
            }
            return ["-P", String(decoding: buffer, as: UTF8.self)]
        }
    }

    private static func isTraced(_ pid: Int32) -> Bool {
        let status = Folder("/proc/\(pid)").read("status") ?? []
        return String(decoding: status, as: UTF8.self).split(separator: "\n").contains {
            $0.hasPrefix("TracerPid:") && !$0.hasSuffix("\t0")
        }
    }
}
