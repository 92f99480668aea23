@testable import MirrorKit
import MirrorTestSupport
import Synchronization
import Testing

/// `cancelAll` while runs have not begun.
@Suite(.timeLimit(.minutes(15))) struct EndingAllRunsTests {
    @Test func aRunWaitingForCredentialsEndsToo() async throws {
        let rig = try SessionRig()
        let plan = try await planOfOne(rig)
        let session = rig.session
        var options = RunOptions()
        options.credentials = { _ in
            await session.cancelAll()
            return []
        }
        #expect(try await end(of: session.execute(plan, options: options)) == 130)
        #expect(rig.bytes("Caches/a") == nil)
    }

    @Test func anEndingRunWaitsForNoCredentials() async throws {
        let rig = try SessionRig()
        let plan = try await planOfOne(rig)
        let missing = MissingCredentials()
        var options = RunOptions()
        options.credentials = { [session = rig.session] _ in
            await session.cancelAll()
            return try await missing.come()
        }
        #expect(try await end(of: rig.session.execute(plan, options: options)) == 130)
        #expect(await missing.wasCancelled())
        #expect(rig.origin.requests.isEmpty)
        // It holds nothing that another session needs.
        let other = try MirrorSession(root: rig.session.root)
        #expect(try await end(of: other.execute(plan)) == 0)
    }

    @Test func anEndingRunAsksForNoCredentials() async throws {
        let rig = try SessionRig()
        let plan = try await planOfOne(rig)
        let asked = Mutex(0)
        var options = RunOptions()
        options.credentials = { _ in
            asked.withLock { $0 += 1 }
            return []
        }
        for _ in 0..<20 {
            let run = rig.session.execute(plan, options: options)
            run.cancel()
            #expect(try await end(of: run) == 130)
        }
        options.deadline = .seconds(1)
        options.began = .now - .seconds(2)
        #expect(try await end(of: rig.session.execute(plan, options: options), by: .deadline) == 69)
        #expect(asked.withLock { $0 } == 0)
        #expect(rig.origin.requests.isEmpty)
    }

    @Test func leavingTheEventsEndsTheWaitForCredentials() async throws {
        let rig = try SessionRig()
        let plan = try await planOfOne(rig)
        let missing = MissingCredentials()
        var options = RunOptions()
        options.credentials = { _ in try await missing.come() }
        let reader = Task { [session = rig.session, options] in
            for try await _ in session.execute(plan, options: options) {}
        }
        await missing.wereAskedFor()
        reader.cancel()
        #expect(await missing.wasCancelled())
        #expect(try await end(of: rig.session.execute(plan)) == 0)
    }

    @Test func theDeadlineCountsWhileCredentialsDoNotCome() async throws {
        let rig = try SessionRig()
        let plan = try await planOfOne(rig)
        let missing = MissingCredentials()
        var options = RunOptions()
        options.deadline = .seconds(1)
        options.credentials = { _ in try await missing.come() }
        #expect(try await end(of: rig.session.execute(plan, options: options), by: .deadline) == 69)
        // They may not even have been asked for in time.
        missing.letGo()
        #expect(rig.origin.requests.isEmpty)
    }

    @Test func anUnreachableDeadlineEndsNoRun() async throws {
        let rig = try SessionRig()
        let plan = try await planOfOne(rig)
        var options = RunOptions()
        options.deadline = .seconds(Int64.max)
        options.credentials = { _ in
            try await Task.sleep(for: .milliseconds(50))
            return []
        }
        #expect(try await end(of: rig.session.execute(plan, options: options)) == 0)
    }

    @Test func aRunJustAskedForEndsToo() async throws {
        for _ in 0..<20 {
            let rig = try SessionRig(holdingAfter: 0)
            let plan = try await planOfOne(rig)
            let run = rig.session.execute(plan)
            await rig.session.cancelAll()
            // A run that goes on all the same ends, too.
            rig.origin.release()
            #expect(try await end(of: run) == 130)
            #expect(rig.bytes("Caches/a") == nil)
            // Those that are asked for later are not meant.
            #expect(try await end(of: rig.session.execute(plan)) == 0)
        }
    }

    private func planOfOne(_ rig: SessionRig) async throws -> Plan {
        try await rig.session.plan(
            Manifest(name: "m", resources: [try rig.resource("Caches/a", [1])]))
    }

    private func end(of run: Run, by code: FailureCode = .cancelled) async throws -> Int32? {
        var exit: Int32?
        do {
            for try await event in run {
                if case .summary(let summary) = event.body { exit = summary.exit }
            }
        } catch let error as MirrorError {
            #expect(error.code == code)
        }
        return exit
    }
}

/// Credentials that do not come, whatever happens to the task that waits for them: not for 20 seconds, after
/// which a run that waits all the same goes on.
private final class MissingCredentials: Sendable {
    private struct State {
        var waiting: [CheckedContinuation<[HeaderField], any Error>] = []
        var isOver = false
    }

    private let asked = AsyncStream.makeStream(of: Void.self)
    private let told = AsyncStream.makeStream(of: Void.self)
    private let state = Mutex(State())

    init() {
        Task {
            try? await Task.sleep(for: .seconds(20))
            letGo()
            told.continuation.finish()
        }
    }

    func come() async throws -> [HeaderField] {
        asked.continuation.yield()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let isOver = state.withLock { state in
                    if !state.isOver { state.waiting.append(waiter) }
                    return state.isOver
                }
                if isOver { waiter.resume(returning: []) }
            }
        } onCancel: {
            told.continuation.yield()
        }
    }

    /// Waits until somebody waits.
    func wereAskedFor() async { for await _ in asked.stream { return } }

    /// Waits until the waiting task is cancelled, and lets it go.
    func wasCancelled() async -> Bool {
        for await _ in told.stream {
            letGo()
            return true
        }
        return false
    }

    /// Lets go of those who wait, now and later.
    func letGo() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isOver = true
            return state.waiting
        }
        for waiter in waiting { waiter.resume(returning: []) }
    }
}
