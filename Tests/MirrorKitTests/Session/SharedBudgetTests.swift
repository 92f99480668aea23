@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Runs of one session that spend one budget at the same time.
@Suite(.timeLimit(.minutes(15))) struct SharedBudgetTests {
    @Test func bothRunsAreCounted() async throws {
        let rig = try SessionRig(holdingAfter: 0)
        var options = RunOptions()
        options.permission.budget = TransferBudget(bytes: 1_000_000, period: .month)
        let runs = try await ["a", "b"].asyncMap { name in
            let resource = try rig.resource("Caches/\(name)", [UInt8](repeating: 1, count: 1000))
            let plan = try await rig.session.plan(Manifest(name: name, resources: [resource]))
            return rig.session.execute(plan, options: options)
        }
        // Both have read the account once their requests are there.
        while rig.origin.requests.count < 2 { try await Task.sleep(for: .milliseconds(10)) }
        rig.origin.release()
        for run in runs { for try await _ in run {} }
        let status = try await PermissionStatus(of: options.permission, in: rig.session)
        #expect(status?.budget?.spent == 2000)
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async rethrows
        -> [Value]
    {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
