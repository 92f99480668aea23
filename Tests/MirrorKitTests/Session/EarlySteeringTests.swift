import MirrorKit
import MirrorModel
import MirrorTestSupport
import Testing

/// What is said about one target directly after `execute`, when the run has not begun.
@Suite(.timeLimit(.minutes(5))) struct EarlySteeringTests {
    @Test func aTargetCancelledAtOnceIsNotFetched() async throws {
        for _ in 0..<20 {
            let (rig, plan, a, b) = try await planOfTwo()
            let run = rig.session.execute(plan)
            await rig.session.cancel(a)
            #expect(try await endings(of: run).sorted() == ["done b", "failed a"])
            #expect(rig.bytes(a.path) == nil)
            #expect(rig.bytes(b.path) == [2])
        }
    }

    @Test func aTargetThatIsPausedAtOnceWaits() async throws {
        for _ in 0..<20 {
            let (rig, plan, a, _) = try await planOfTwo()
            let run = rig.session.execute(plan)
            await rig.session.pause(a)
            let order = try await endings(of: run) { ending in
                if ending == "done b" { await rig.session.resume(a) }
            }
            #expect(order == ["done b", "done a"])
        }
    }

    @Test func aShortPauseOfAllDelaysNothing() async throws {
        let (rig, plan, _, _) = try await planOfTwo()
        let run = rig.session.execute(plan)
        await rig.session.pauseAll()
        await rig.session.resumeAll()
        #expect(try await endings(of: run).sorted() == ["done a", "done b"])
    }

    private func planOfTwo() async throws -> (SessionRig, Plan, a: Target, b: Target) {
        let rig = try SessionRig()
        let a = try rig.resource("Caches/a", [1])
        let b = try rig.resource("Caches/b", [2])
        let plan = try await rig.session.plan(Manifest(name: "m", resources: [a, b]))
        return (rig, plan, a.target, b.target)
    }

    private func endings(
        of run: Run, _ hear: (String) async -> Void = { _ in }
    ) async throws -> [String] {
        var endings: [String] = []
        for try await event in run {
            guard let ending = event.ending else { continue }
            endings.append(ending)
            await hear(ending)
        }
        return endings
    }
}
