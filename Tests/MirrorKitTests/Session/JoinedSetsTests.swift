@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Runs of one session whose sets want the same targets: one of them brings these, the others wait
/// for it, and no two wait for each other.
@Suite(.timeLimit(.minutes(2))) struct JoinedSetsTests {
    /// The first run has the loop's whole window, and no byte has come, when the second one begins.
    /// The failure of `stranger` says that the second one has asked for its targets by then.
    @Test func aLargeSetJoinsAnotherRunsSet() async throws {
        let rig = try SessionRig(holdingAfter: 0) {
            $0.jobs = 4
            $0.onConflict = .keep
        }
        let set = try manifest("set", (0..<600).map { "Caches/f\($0)" }, rig)
        var stranger = try rig.resource("Documents/stranger", [2])
        stranger.priority = 1
        stranger.digests = [try #require(Digest(.sha256, hex: Checksum.sha256([2])))]
        let session = rig.session
        try await session.withLock {
            let first = try await session.plan(set)
            try rig.folder.write([1], to: "root/Documents/stranger")
            let second = try await session.plan([
                set, Manifest(name: "other", resources: [stranger]),
            ])
            let run = session.execute(first)
            defer { rig.origin.release() }
            let ended = Task { try await summary(of: run) }
            try await DetachedThread.run {
                while rig.origin.requests.isEmpty { Pause.milliseconds(2) }
            }
            let joined = try await summary(of: session.execute(second)) { failed in
                #expect(failed.error.code == .conflict)
                rig.origin.release()
            }
            #expect(try await ended.value?[.fetched] == 600)
            #expect(joined?[.fetched] == 600)
            #expect(joined?[.failed] == 1)
        }
        #expect(rig.bytes("Caches/f599") == [1])
        #expect(rig.origin.requests.count == 600)
    }

    /// Many runs whose sets share targets, in any order.
    @Test func setsThatShareTargetsComeToTheirEnds() async throws {
        let rig = try SessionRig { $0.jobs = 2 }
        let names = (0..<900).map { "Caches/f\($0)" }
        let manifests = [
            try manifest("a", names[0..<500], rig), try manifest("b", names[400..<900], rig),
            try manifest("c", names[0..<200] + names[700..<900], rig),
            try manifest("a", names[0..<500], rig),
        ]
        let session = rig.session
        let exits = try await session.withLock {
            var plans: [Plan] = []
            for manifest in manifests { plans.append(try await session.plan(manifest)) }
            return try await withThrowingTaskGroup(of: Int32?.self) { group in
                for plan in plans {
                    let run = session.execute(plan)
                    group.addTask { try await summary(of: run)?.exit }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        #expect(exits == [0, 0, 0, 0])
        #expect(names.allSatisfy { rig.bytes($0) == [1] })
        #expect(rig.origin.requests.count == 900)
    }

    private func manifest(
        _ name: String, _ paths: some Collection<String>, _ rig: SessionRig
    ) throws -> Manifest {
        var manifest = Manifest(
            name: name, resources: try paths.map { try rig.resource($0, [1]) })
        manifest.isAtomic = true
        return manifest
    }

    private func summary(
        of run: Run, failing: (Event.Failed) -> Void = { _ in }
    ) async throws -> Summary? {
        var summary: Summary?
        for try await event in run {
            switch event.body {
            case .failed(let failed): failing(failed)
            case .summary(let last): summary = last
            default: break
            }
        }
        return summary
    }
}
