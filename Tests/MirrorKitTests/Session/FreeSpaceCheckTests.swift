import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Bodies, let in as long as they fit.
@Suite struct FreeSpaceCheckTests {
    private let folder: TemporaryFolder
    private let root: RootDirectory
    private let free: Int64

    init() throws {
        folder = try TemporaryFolder()
        root = try RootDirectory(opening: folder.path)
        free = try #require(try Volume.all(of: root).first { $0.areas.contains(.tmp) })
            .availableBytes
    }

    private func shortage(
        _ check: inout FreeSpaceCheck, of bytes: Int64, in area: Area = .caches,
        reserved: [Area: Int64] = [:]
    ) -> SpaceShortage? {
        check.shortage(of: bytes, forFileOf: bytes, in: area) { reserved }
    }

    @Test func whatFitsIsAdmitted() {
        var check = FreeSpaceCheck(root, least: 0)
        for _ in 1...1000 { #expect(shortage(&check, of: 4096) == nil) }
    }

    @Test func whatDoesNotFitIsRefusedAndOthersFit() {
        var check = FreeSpaceCheck(root, least: 0)
        #expect(shortage(&check, of: 4096) == nil)
        let refusal = shortage(&check, of: 2 * free)
        #expect(refusal?.size == 2 * free)
        #expect(refusal?.place == folder.path)
        #expect(shortage(&check, of: 4096) == nil)
    }

    @Test func bodiesUnderWayCountAsUsed() {
        var check = FreeSpaceCheck(root, least: 0)
        #expect(shortage(&check, of: free / 2, reserved: [.caches: free / 4]) == nil)
        #expect(shortage(&check, of: free / 2, reserved: [.caches: free / 4 * 3]) != nil)
        #expect(shortage(&check, of: free / 2, reserved: [.documents: .max, .tmp: .max]) != nil)
    }

    @Test func leastFreeSpaceIsKept() {
        var check = FreeSpaceCheck(root, least: 2 * free)
        #expect(shortage(&check, of: 1)?.least == 2 * free)
        #expect(shortage(&check, of: .max) != nil)
        #expect(shortage(&check, of: 0) == nil)
    }

    /// The part has room in tmp, the file has none in Caches.
    @Test(.enabled(if: SmallFileSystem.isPossible, "mounting a tmpfs needs root"))
    func aBodyIsJudgedOnItsFileSystem() throws {
        let caches = folder.path + "/Caches"
        #expect(mkdir(caches, 0o755) == 0)
        let small = try SmallFileSystem(bytes: 1 << 20, at: caches)
        var check = FreeSpaceCheck(root, least: 0)
        #expect(shortage(&check, of: 2 << 20)?.place == small.folder.path)
        #expect(shortage(&check, of: 2 << 20, in: .documents) == nil)
    }
}
