@testable import MirrorKit
import MirrorTestSupport
import Testing

/// A target is cancelled while it waits: it ends at once, and nobody asks for it later.
@Suite(.timeLimit(.minutes(2))) struct CancelledTargetTests {
    @Test func cancelledFilesBeyondTheWindowAreNotRequested() async throws {
        let rig = try SessionRig(holdingAfter: 0) { $0.jobs = 4 }
        defer { rig.origin.release() }
        let names = (1000..<1400).map { "Caches/f\($0)" }
        let resources = try names.map { try rig.resource($0, [1]) }
        let last = try #require(resources.last).target
        var failed: [Target: FailureCode] = [:]
        var summary: Summary?
        let plan = try await rig.session.plan(Manifest(name: "m", resources: resources))
        for try await event in rig.session.execute(plan) {
            switch event.body {
            case .start: await rig.session.cancel(last)
            case .failed(let end):
                failed[end.target] = end.error.code
                // It has ended before a byte of another file has come.
                rig.origin.release()
            case .summary(let end): summary = end
            default: break
            }
        }
        #expect(failed == [last: .cancelled])
        #expect(summary?[.fetched] == 399)
        #expect(rig.bytes(last.path) == nil)
        #expect(!rig.origin.requests.contains { $0.contains(last.name) })
    }

    @Test func theRequestsOtherFileIsFetched() async throws {
        let rig = try SessionRig(holdingAfter: 1)
        defer { rig.origin.release() }
        let a = try rig.resource("Caches/a/f", [1, 2, 3])
        let b = try rig.resource("Caches/b/f", [1, 2, 3])
        let plan = try await rig.session.plan(Manifest(name: "m", resources: [a, b]))
        var endings: [String] = []
        for try await event in rig.session.execute(plan) {
            switch event.body {
            case .start(let start) where start.target == a.target:
                await rig.session.cancel(a.target)
            case .failed(let end):
                endings.append("\(end.target) \(end.error.code.rawValue)")
                rig.origin.release()
            case .done(let end): endings.append("\(end.target) \(end.outcome)")
            default: break
            }
        }
        #expect(endings == ["Caches/a/f cancelled", "Caches/b/f fetched"])
        #expect(rig.bytes("Caches/b/f") == [1, 2, 3])
        #expect(rig.bytes("Caches/a/f") == nil)
    }
}
