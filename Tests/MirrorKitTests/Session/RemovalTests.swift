import MirrorKit
import MirrorModel
import MirrorTestSupport
import Testing

/// Orphans that cannot be removed.
@Suite(.timeLimit(.minutes(15))) struct RemovalTests {
    @Test func anOrphanThatChangedAfterThePlanIsKeptAndTold() async throws {
        let rig = try SessionRig()
        let kept = try rig.resource("Caches/kept", [1])
        let orphan = try rig.resource("Caches/orphan", [2])
        try await rig.session.sync(Manifest(name: "m", resources: [kept, orphan]))
        var planning = PlanOptions()
        planning.prunes = true
        let plan = try await rig.session.plan(
            Manifest(name: "m", resources: [kept]), options: planning)
        #expect(plan.steps.contains { $0.kind == .remove })
        try rig.folder.write([3], to: "root/Caches/orphan")
        var failures: [Event.Failed] = []
        var summary = Summary()
        for try await event in rig.session.execute(plan) {
            switch event.body {
            case .failed(let failed): failures.append(failed)
            case .summary(let last): summary = last
            default: break
            }
        }
        #expect(failures.map(\.target.path) == ["Caches/orphan"])
        #expect(failures.first?.error.code == .conflict)
        #expect(failures.first?.step == .remove)
        #expect(rig.bytes("Caches/orphan") == [3])
        #expect(summary.exit == 1)
        // An orphan is no resource.
        #expect(summary[.failed] == 0)
        #expect(summary.orphans == 1)
        #expect(summary.removed == 0)
    }
}
