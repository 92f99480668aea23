@testable import MirrorKit
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

    @Test func aRunSaysWhetherATargetWasMeant() async throws {
        let (rig, plan, a, b) = try await planOfTwo()
        let run = rig.session.execute(plan)
        let other = try Target("Caches/other")
        #expect(run.cancel(a))
        #expect(run.pause(b))
        #expect(run.resume(b))
        #expect(!run.pause(other) && !run.resume(other) && !run.cancel(other))
        #expect(await !rig.session.cancel(other))
        #expect(try await endings(of: run).sorted() == ["done b", "failed a"])
        await run.finish()
        #expect(run.totals.ended > 0)
        #expect(!run.pause(b) && !run.pause() && !run.resume() && !run.cancel())
        #expect(await !rig.session.pause(b))
    }

    @Test func aWholeRunIsPausedByItsHandle() async throws {
        let (rig, plan, a, b) = try await planOfTwo()
        let run = rig.session.execute(plan)
        #expect(run.pause())
        var heard: [String] = []
        for try await event in run {
            switch event.body {
            case .paused(let target):
                heard.append("paused \(target?.path ?? "all")")
                #expect(run.totals.ended == 0)
                #expect(rig.bytes(a.path) == nil && rig.bytes(b.path) == nil)
                #expect(run.resume())
            case .resumed(let target): heard.append("resumed \(target?.path ?? "all")")
            case .done: heard.append("done")
            default: break
            }
        }
        #expect(heard == ["paused all", "resumed all", "done", "done"])
        #expect(run.totals.ended == 2)
    }

    @Test func aPauseIsAnEventOnlyWhereItChangesSomething() async throws {
        let (rig, plan, a, _) = try await planOfTwo()
        let run = rig.session.execute(plan)
        run.pause(a)
        run.pause(a)
        var heard: [String] = []
        for try await event in run {
            switch event.body {
            case .paused(let target): heard.append("paused \(target?.path ?? "all")")
            case .resumed(let target): heard.append("resumed \(target?.path ?? "all")")
            case .done(let done) where done.target == a: heard.append("done")
            case .done: run.resume(a)
            default: break
            }
        }
        #expect(heard == ["paused Caches/a", "resumed Caches/a", "done"])
    }

    @Test func aKeptTargetIsNotMeant() async throws {
        let (rig, plan, a, _) = try await planOfTwo()
        let first = rig.session.execute(plan)
        for try await _ in first {}
        await first.finish()
        var resource = try rig.resource("Caches/a", [1])
        resource.refresh = .never
        let again = try await rig.session.plan(Manifest(name: "m", resources: [resource]))
        let run = rig.session.execute(again)
        #expect(!run.pause(a) && !run.cancel(a))
        #expect(try await endings(of: run) == ["done a"])
    }

    @Test func severalManifestsAreSyncedTogether() async throws {
        let rig = try SessionRig()
        let manifests = [
            Manifest(name: "m", resources: [try rig.resource("Caches/a", [1])]),
            Manifest(name: "n", resources: [try rig.resource("Caches/b", [2])]),
        ]
        #expect(try await rig.session.sync(manifests)[.fetched] == 2)
        #expect(rig.bytes("Caches/a") == [1])
        #expect(rig.bytes("Caches/b") == [2])
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
