import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Testing

/// What ends the sleep of a watch: real files, a real clock.
@Suite(.timeLimit(.minutes(2))) struct WatchSleepTests {
    private let folder: Folder
    private let sleep: WatchSleep

    init() throws {
        folder = try Folder.temporary()
        sleep = try WatchSleep()
    }

    /// Sleeps for as long as a test may take, unless something ends it.
    private func nap() async throws -> WatchSleep.Wake {
        try await sleep.sleep(
            until: Instant.now.advanced(bySeconds: 3600), atMost: 3600,
            wakesForNetwork: false)
    }

    @Test func itEndsAtItsTime() async throws {
        defer { folder.remove() }
        let end = Instant.now.advanced(bySeconds: 1)
        let wake = try await sleep.sleep(until: end, atMost: 3600, wakesForNetwork: false)
        #expect(wake == .time)
        #expect(Instant.now >= end)
    }

    @Test func sleepEndsWhateverTheClockSays() async throws {
        defer { folder.remove() }
        let end = Instant.now.advanced(bySeconds: 3600)
        let wake = try await sleep.sleep(until: end, atMost: 1, wakesForNetwork: false)
        #expect(wake == .time)
    }

    @Test func aRequestDuringASyncEndsTheSleep() async throws {
        defer { folder.remove() }
        sleep.request()
        #expect(try await nap() == .requested)
    }

    @Test func aRequestEndsASleep() async throws {
        defer { folder.remove() }
        async let wake = nap()
        sleep.request()
        #expect(try await wake == .requested)
    }

    @Test func aCancelledTaskEndsASleep() async throws {
        defer { folder.remove() }
        let task = Task { try await nap() }
        task.cancel()
        #expect(try await task.value == .cancelled)
    }

    /// How somebody brings another version of a manifest.
    enum Change: CaseIterable { case written, replaced, linkMoved, targetReplaced, removed }

    @Test(arguments: Change.allCases)
    func aManifestThatChangesEndsASleep(change: Change) async throws {
        defer { folder.remove() }
        try folder.write("v1/m.json", [1])
        try folder.write("v2/m.json", [2])
        #expect(symlink("v1/m.json", folder.full("m.json")) == 0)
        let named = change == .linkMoved || change == .targetReplaced ? "m.json" : "v1/m.json"
        sleep.watch([.path(folder.full(named))])
        async let wake = nap()
        switch change {
        case .written: try folder.write("v1/m.json", [3])
        case .replaced, .targetReplaced:
            try folder.write("other", [3])
            #expect(rename(folder.full("other"), folder.full("v1/m.json")) == 0)
        case .linkMoved:
            #expect(symlink("v2/m.json", folder.full("new")) == 0)
            #expect(rename(folder.full("new"), folder.full("m.json")) == 0)
        case .removed: #expect(unlink(folder.full("v1/m.json")) == 0)
        }
        #expect(try await wake == .manifestChanged)
    }

    @Test func aChangeBeforeTheSleepEndsIt() async throws {
        defer { folder.remove() }
        try folder.write("m.json", [1])
        sleep.watch([.path(folder.full("m.json"))])
        try folder.write("m.json", [2])
        // Another sync watches the same file again; the change is not forgotten.
        sleep.watch([.path(folder.full("m.json"))])
        #expect(try await nap() == .manifestChanged)
    }

    @Test func otherFilesOfTheFolderDoNot() async throws {
        defer { folder.remove() }
        try folder.write("m.json", [1])
        sleep.watch([.path(folder.full("m.json"))])
        try folder.write("n.json", [2])
        let wake = try await sleep.sleep(
            until: Instant.now.advanced(bySeconds: 1), atMost: 1, wakesForNetwork: false)
        #expect(wake == .time)
    }

    @Test func aMissingFolderIsNoError() async throws {
        defer { folder.remove() }
        sleep.watch([.path(folder.full("none/m.json"))])
        sleep.request()
        #expect(try await nap() == .requested)
    }
}
