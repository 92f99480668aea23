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

    /// A run looks for readers when it removes, not only when it is planned.
    @Test func anOrphanThatIsReadIsNotPruned() async throws {
        let rig = try SessionRig()
        let held = try rig.resource("Caches/held.bin", [1, 2, 3])
        let idle = try rig.resource("Caches/idle.bin", [4, 5, 6])
        // More stays than goes, so that it may go.
        let rest = try (0..<6).map { try rig.resource("Caches/\($0).bin", [UInt8($0)]) }
        try await rig.session.sync(Manifest(name: "m", resources: [held, idle] + rest))
        var options = PlanOptions()
        options.prunes = true
        let fewer = Manifest(name: "m", resources: rest)
        let plan = try await rig.session.plan([fewer], options: options)
        var failures: [String] = []
        try await rig.session.withFile(held.target) { _ in
            for try await event in rig.session.execute(plan) {
                if case .failed(let failed) = event.body { failures.append("\(failed)") }
            }
            #expect(rig.bytes("Caches/held.bin") == [1, 2, 3])
        }
        #expect(failures.count == 1, "\(failures)")
        #expect(rig.bytes("Caches/idle.bin") == nil)
        let again = try await rig.session.plan([fewer], options: options)
        for try await _ in rig.session.execute(again) {}
        #expect(rig.bytes("Caches/held.bin") == nil)
    }
}
