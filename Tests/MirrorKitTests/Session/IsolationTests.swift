@testable import MirrorKit
import Testing

/// An app's class on the main actor, whose state the bodies change without a copy or a lock.
@MainActor private final class Viewer {
    let session: MirrorSession
    private(set) var shown: [String] = []

    init(_ session: MirrorSession) { self.session = session }

    func show(_ target: Target, planning manifest: Manifest) async throws {
        try await session.withFile(target) { path in
            MainActor.assertIsolated()
            shown.append(path)
        }
        try await session.withLock {
            MainActor.assertIsolated()
            shown.append("lock")
        }
        try await session.withPlan(of: [manifest]) {
            MainActor.assertIsolated()
            shown.append("before")
        } _: { plan in
            MainActor.assertIsolated()
            shown.append("\(plan.steps.count)")
        }
    }
}

/// A body runs where its caller does.
@Suite(.timeLimit(.minutes(5))) struct IsolationTests {
    @Test func bodiesRunOnTheActorOfTheirCaller() async throws {
        let rig = try SessionRig()
        let resource = try rig.resource("Caches/a", [1])
        let manifest = Manifest(name: "m", resources: [resource])
        try await rig.session.sync(manifest)
        let viewer = await Viewer(rig.session)
        try await viewer.show(resource.target, planning: manifest)
        let path = rig.session.path(of: resource.target)
        #expect(await viewer.shown == [path, "lock", "before", "1"])
    }
}
