import Glibc
import MirrorTestSupport
import Testing

/// Before the power is cut, a process that outlives the cut must be in no call.
@Suite(.serialized)
struct QuietCutTests {
    @Test func aPausedProcessDoesNothing() throws {
        let command = try Command("/bin/sh", ["-c", "while :; do echo written; done"])
        defer {
            command.signal(SIGKILL)
            _ = command.wait()
        }
        func writes(beyond count: Int) -> Bool {
            for _ in 0..<10_000 {
                if command.outputSoFar.utf8.count > count { return true }
                Pause.milliseconds(1)
            }
            return false
        }
        #expect(writes(beyond: 0))
        try command.pause()
        let written = command.outputSoFar.utf8.count
        Pause.milliseconds(50)
        #expect(command.outputSoFar.utf8.count == written)
        command.signal(SIGCONT)
        #expect(writes(beyond: written))
    }

    @Test func aProcessThatHasEndedIsAtRest() throws {
        let command = try Command("/bin/true", [])
        for _ in 0..<10_000 where !command.hasEnded { Pause.milliseconds(1) }
        try command.pause()
        #expect(command.wait().ending == .exited(0))
    }

    /// In a thread of its own: a tracer takes the ends of all children of its thread.
    @Test(.enabled(if: DurabilityWatch.reasonNotPossible == nil))
    func aTracedProcessRestsBeforeACall() async throws {
        try await DetachedThread.run {
            let folder = try Folder.temporary()
            defer { folder.remove() }
            let script = "echo a > '\(folder.full("a"))'; echo b > '\(folder.full("b"))'"
            let command = try TracedCommand("/bin/sh", ["-c", script])
            while let call = command.next() {
                try command.settle()
                command.pass(call)
            }
            #expect(command.end().ending == .exited(0))
            #expect(folder.read("b") == Array("b\n".utf8))
        }
    }
}
