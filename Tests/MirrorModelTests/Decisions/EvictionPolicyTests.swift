@testable import MirrorKit
import Testing

/// Which files of Caches go so that the rest fits a quota.
@Suite struct EvictionPolicyTests {
    private func file(
        _ name: String, size: Int64, used: Int64, _ state: CachedFile.State = .idle
    ) throws -> CachedFile {
        CachedFile(
            target: try Target("Caches/" + name),
            stamp: FileStamp(size: size, modified: 0, changed: 0, inode: 0),
            lastUsed: Instant(seconds: used), state: state)
    }

    private func evicted(_ files: [CachedFile], quota: Int64) -> [String] {
        EvictionReport(root: "/r", isDryRun: true, quota: quota, of: files)
            .evicted.map(\.target.name)
    }

    @Test(
        arguments: [
            (60, []), (59, ["b"]), (40, ["b"]), (39, ["b", "c"]), (10, ["b", "c"]),
            (9, ["b", "c", "a"]), (0, ["b", "c", "a"]), (-1, ["b", "c", "a"]),
        ] as [(Int64, [String])])
    func theLeastRecentlyUsedGoFirst(quota: Int64, names: [String]) throws {
        let files = [
            try file("a", size: 10, used: 3), try file("b", size: 20, used: 1),
            try file("c", size: 30, used: 2),
        ]
        #expect(evicted(files, quota: quota) == names)
        #expect(evicted(files.reversed(), quota: quota) == names)
    }

    @Test func equalUsesGoInPathOrder() throws {
        let files = try ["c", "a", "b"].map { try file($0, size: 1, used: 5) }
        #expect(evicted(files, quota: 1) == ["a", "b"])
    }

    @Test func protectedFilesCountAndStay() throws {
        let files = [
            try file("read", size: 40, used: 1, .inUse),
            try file("edited", size: 30, used: 2, .changed), try file("old", size: 20, used: 3),
            try file("new", size: 10, used: 4),
        ]
        let met = EvictionReport(root: "/r", isDryRun: true, quota: 80, of: files)
        #expect(met.evicted.map(\.target.name) == ["old"])
        #expect(met.bytesBefore == 100)
        #expect(met.bytesAfter == 80)
        #expect(met.isEnough)
        #expect(met.left.isEmpty)

        let missed = EvictionReport(root: "/r", isDryRun: true, quota: 50, of: files)
        #expect(missed.evicted.map(\.target.name) == ["old", "new"])
        #expect(missed.bytesAfter == 70)
        #expect(!missed.isEnough)
        #expect(missed.left.map(\.target.name) == ["read", "edited"])
    }

    @Test func emptyFilesGiveNothingBackAndStay() throws {
        let files = [try file("empty", size: 0, used: 1), try file("full", size: 1, used: 2)]
        #expect(evicted(files, quota: 0) == ["full"])
    }

    @Test func emptyCacheHasNothingToEvict() {
        let eviction = EvictionReport(root: "/r", isDryRun: true, quota: 0, of: [])
        #expect(eviction.isEnough)
        #expect(eviction.evicted.isEmpty)
    }

    @Test func aFileThatStayedIsCountedAgain() throws {
        let files = [try file("a", size: 10, used: 1), try file("b", size: 20, used: 2)]
        var report = EvictionReport(
            root: "/r", isDryRun: false, quota: 0, of: files)
        report.fail([(files[0], MirrorError(.conflict, "It stays.", target: files[0].target))])
        #expect(report.evicted.map(\.target.name) == ["b"])
        #expect(report.bytesEvicted == 20)
        #expect(!report.isEnough)
    }
}
