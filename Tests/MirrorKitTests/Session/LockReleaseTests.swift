import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// The root's lock is free as soon as a session has failed, whatever its threads do next.
@Suite(.timeLimit(.minutes(5))) struct LockReleaseTests {
    /// A watch whose disk was full for a while found its own lock taken at each later try.
    @Test func aSessionWithoutItsIndexReleasesTheLock() async throws {
        let folder = try TemporaryFolder()
        // A folder in its place is an index that cannot be opened.
        try folder.write("x", to: "root/.mirror/index.sqlite/x")
        let session = try MirrorSession(root: folder.path + "/root")
        let manifest = Manifest(name: "m", resources: [])
        for _ in 1...3 {
            let error = await #expect(throws: MirrorError.self) {
                try await session.sync(manifest)
            }
            #expect(error?.code != .locked, "\(String(describing: error))")
            let root = try RootDirectory(opening: folder.path + "/root")
            let lock = try RootLock.tryAcquire(root, now: Instant(seconds: 0))
            lock.release()
        }
    }

    @Test func aWaitEndsWhenTheHolderGoes() async throws {
        let (session, held, folder) = try await Self.sessionOfALockedRoot()
        let waiting = Task { try await session.withLock(waitingSeconds: 600) {} }
        try await Task.sleep(for: .milliseconds(50))
        held.release()
        try await waiting.value
        withExtendedLifetime(folder) {}
    }

    /// Both share the session of one that waits for longer than this test may take.
    @Test func nobodyWaitsForLongerThanHeWants() async throws {
        let (session, held, folder) = try await Self.sessionOfALockedRoot()
        let patient = Task { try await session.withLock(waitingSeconds: 3600) {} }
        try await Task.sleep(for: .milliseconds(50))
        let hasty = await #expect(throws: MirrorError.self) { try await session.withLock {} }
        #expect(hasty?.code == .locked)
        let cancelled = Task { try await session.withLock(waitingSeconds: 3600) {} }
        cancelled.cancel()
        let error = await #expect(throws: MirrorError.self) { try await cancelled.value }
        #expect(error?.code == .cancelled)
        held.release()
        try await patient.value
        withExtendedLifetime(folder) {}
    }

    /// A session, and the lock of its root, which another run seems to hold.
    private static func sessionOfALockedRoot() async throws -> (
        session: MirrorSession, held: RootLock, folder: TemporaryFolder
    ) {
        let folder = try TemporaryFolder()
        let place = folder.path + "/root"
        try await MirrorSession(root: place).sync(Manifest(name: "m", resources: []))
        let root = try RootDirectory(opening: place)
        let held = try RootLock.tryAcquire(root, now: Instant(seconds: 0))
        return (try MirrorSession(root: place), held, folder)
    }

    /// One caller's opening serves the others; how long each waits is its own affair.
    @Test func aWaitingRunIsNotRefusedWithOthers() async throws {
        let folder = try TemporaryFolder()
        let place = folder.path + "/root"
        let manifest = Manifest(name: "m", resources: [])
        try await MirrorSession(root: place).sync(manifest)
        let session = try MirrorSession(root: place)
        for _ in 1...20 {
            let root = try RootDirectory(opening: place)
            let held = try RootLock.tryAcquire(root, now: Instant(seconds: 0))
            let hasty = Task { try await session.withLock {} }
            let patient = (1...3).map { _ in
                Task { try await session.withLock(waitingSeconds: 60) {} }
            }
            try await Task.sleep(for: .milliseconds(20))
            held.release()
            // It may have waited with one of the others.
            if case .failure(let error) = await hasty.result {
                #expect((error as? MirrorError)?.code == .locked)
            }
            for task in patient { try await task.value }
            let lock = try RootLock.tryAcquire(root, now: Instant(seconds: 0))
            lock.release()
        }
    }
}
