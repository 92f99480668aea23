import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Bodies without a declared size, let in as long as they fit.
@Suite struct FreeSpaceCheckTests {
    private let folder: TemporaryFolder
    private let root: RootDirectory
    private let free: Int64
    private let target: Target

    init() throws {
        folder = try TemporaryFolder()
        target = try Target("Caches/a.bin")
        root = try RootDirectory(opening: folder.path)
        free = try #require(try Volume.all(of: root).first { $0.areas.contains(.tmp) })
            .availableBytes
    }

    @Test func whatFitsIsAdmitted() {
        let check = FreeSpaceCheck(root, leastFreeSpace: 0)
        for _ in 1...1000 { #expect(check.admit(4096, for: target) == nil) }
    }

    @Test func earlierAdmissionsCount() {
        let check = FreeSpaceCheck(root, leastFreeSpace: 0)
        #expect(check.admit(4096, for: target) == nil)
        let refusal = check.admit(2 * free, for: target)
        #expect(refusal?.code == .spaceLimit)
        #expect(refusal?.remedy == Remedy(.freeSpace))
        #expect(refusal?.message.hasPrefix("Caches/a.bin: ") == true)
        #expect(check.admit(4096, for: target) == nil)
    }

    @Test func leastFreeSpaceIsKept() {
        let check = FreeSpaceCheck(root, leastFreeSpace: 2 * free)
        #expect(check.admit(1, for: target)?.code == .spaceLimit)
        #expect(check.admit(.max, for: target)?.code == .spaceLimit)
    }

    /// The part has room in tmp, the file has none in Caches.
    @Test(.enabled(if: SmallFileSystem.isPossible, "mounting a tmpfs needs root"))
    func aBodyIsJudgedOnItsFileSystem() throws {
        let caches = folder.path + "/Caches"
        #expect(mkdir(caches, 0o755) == 0)
        let small = try SmallFileSystem(bytes: 1 << 20, at: caches)
        let check = FreeSpaceCheck(root, leastFreeSpace: 0)
        let refusal = check.admit(2 << 20, for: target)
        #expect(refusal?.code == .spaceLimit)
        #expect(refusal?.message.contains(small.folder.path) == true)
        #expect(check.admit(2 << 20, for: try Target("Documents/a.bin")) == nil)
    }
}
