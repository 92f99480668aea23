import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit
@testable import MirrorModel

/// Bodies without a declared size, let in as long as they fit.
@Suite struct SpaceGateTests {
    private let folder: TemporaryFolder
    private let root: RootDirectory
    private let free: Int64

    init() throws {
        folder = try TemporaryFolder()
        root = try RootDirectory(opening: folder.path)
        free = try #require(try FreeSpace(of: root).volume(of: .tmp)).availableBytes
    }

    @Test func whatFitsIsLetIn() {
        let gate = SpaceGate(root, leastFreeSpace: 0)
        for _ in 1...1000 { #expect(gate.admit(4096) == nil) }
    }

    @Test func whatDoesNotFitIsRefusedRightAfterWhatDid() {
        let gate = SpaceGate(root, leastFreeSpace: 0)
        #expect(gate.admit(4096) == nil)
        let refusal = gate.admit(2 * free)
        #expect(refusal?.code == .spaceLimit)
        #expect(refusal?.message.contains("--min-free") == true)
        #expect(gate.admit(4096) == nil)
    }

    @Test func whatIsToStayFreeCounts() {
        let gate = SpaceGate(root, leastFreeSpace: 2 * free)
        #expect(gate.admit(1)?.code == .spaceLimit)
        #expect(gate.admit(.max)?.code == .spaceLimit)
    }
}
