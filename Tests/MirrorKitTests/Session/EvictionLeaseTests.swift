import MirrorKit
import MirrorModel
import Testing

/// Files that a reader holds while Caches is shrunk.
@Suite(.timeLimit(.minutes(15))) struct EvictionLeaseTests {
    @Test func aFileThatIsReadIsNotEvicted() async throws {
        let rig = try SessionRig()
        let held = try rig.resource("Caches/held.bin", [1, 2, 3])
        let idle = try rig.resource("Caches/idle.bin", [4, 5, 6])
        try await rig.session.sync(Manifest(name: "m", resources: [held, idle]))
        let report = try await rig.session.withFile(held.target) { _ in
            try await CacheEviction(toQuota: 0).carryOut(in: rig.session)
        }
        #expect(report.eviction.evicted.map(\.target) == [idle.target])
        #expect(report.eviction.left.map(\.target) == [held.target])
        #expect(rig.bytes("Caches/held.bin") == [1, 2, 3])
        #expect(rig.bytes("Caches/idle.bin") == nil)
        let later = try await CacheEviction(toQuota: 0).carryOut(in: rig.session)
        #expect(later.eviction.evicted.map(\.target) == [held.target])
    }
}
