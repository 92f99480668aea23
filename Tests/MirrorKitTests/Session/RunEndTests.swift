import MirrorTestSupport
import Testing

@testable import MirrorKit

/// When a program has left a run, it can wait for the moment in which the root is free again.
@Suite(.timeLimit(.minutes(5))) struct RunEndTests {
    @Test func aCancelledSyncThrowsAfterUnlocking() async throws {
        for _ in 0..<10 {
            let (rig, manifest) = try stage()
            let sync = Task { try await rig.session.sync(manifest) }
            try await underWay(rig)
            sync.cancel()
            let error = await #expect(throws: MirrorError.self) { try await sync.value }
            #expect(error?.code == .cancelled)
            try expectFreeLock(rig)
        }
    }

    @Test func theEndAfterLeavingTheLoopIsAwaitable() async throws {
        for _ in 0..<10 {
            let (rig, manifest) = try stage()
            let run = rig.session.execute(try await rig.session.plan(manifest))
            for try await event in run {
                if case .start = event.body { break }
            }
            await run.finish()
            try expectFreeLock(rig)
            // It has ended by then, and nobody waits a second time.
            await run.finish()
        }
    }

    /// The task that waits may be the one that was cancelled.
    @Test func aCancelledTaskWaitsForTheEndToo() async throws {
        let (rig, manifest) = try stage()
        let run = rig.session.execute(try await rig.session.plan(manifest))
        let reader = Task {
            for try await _ in run {}
            await run.finish()
            try expectFreeLock(rig)
        }
        try await underWay(rig)
        reader.cancel()
        try await reader.value
    }

    @Test func aRunThatCannotBeginEnds() async throws {
        let (rig, manifest) = try stage()
        let plan = try await rig.session.plan(manifest)
        let other = try MirrorSession(root: rig.folder.path + "/other")
        let run = other.execute(plan)
        await run.finish()
        await #expect(throws: MirrorError.self) { for try await _ in run {} }
    }

    /// A file of which half has come, and no more will.
    private func stage() throws -> (SessionRig, Manifest) {
        let rig = try SessionRig(holdingAfter: 100_000)
        let bytes = TestBytes.make(300_000, seed: 1)
        return (rig, Manifest(name: "m", resources: [try rig.resource("Caches/a", bytes)]))
    }

    private func underWay(_ rig: SessionRig) async throws {
        try await DetachedThread.run {
            while rig.origin.requests.isEmpty { Pause.milliseconds(2) }
        }
    }

    private func expectFreeLock(_ rig: SessionRig) throws {
        let root = try RootDirectory(opening: rig.session.root)
        #expect(throws: Never.self) {
            try RootLock.tryAcquire(root, now: Instant(seconds: 0)).release()
        }
    }
}
