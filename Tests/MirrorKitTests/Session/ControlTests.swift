import MirrorKit
import MirrorModel
import MirrorTestSupport
import Testing

/// Pausing, resuming, cancelling, joining, and reading while a file would be replaced.
@Suite(.timeLimit(.minutes(1))) struct ControlTests {
    private let bytes = TestBytes.make(3_000_000, seed: 1)

    /// Reads a run's events until the first progress of a resource.
    private func untilProgress(_ iterator: inout Run.AsyncIterator) async throws {
        while let event = try await iterator.next() {
            if case .progress(let progress) = event.body, progress.bytes > 0 { return }
        }
        Issue.record("the run ended before there was progress")
    }

    private func summary(_ iterator: inout Run.AsyncIterator) async throws -> Summary {
        var summary: Summary?
        do {
            while let event = try await iterator.next() {
                if case .summary(let last) = event.body { summary = last }
            }
        } catch let error as MirrorError where error.code == .cancelled {}
        return try #require(summary)
    }

    @Test func aCancelledRunKeepsItsPartAndTheNextOneGoesOn() async throws {
        let rig = try SessionRig(bytesPerSecond: 2_000_000)
        let manifest = Manifest(name: "m", resources: [try rig.resource("Documents/a.bin", bytes)])
        let run = rig.session.execute(try await rig.session.plan(manifest))
        var events = run.makeAsyncIterator()
        try await untilProgress(&events)
        run.cancel()
        #expect(try await summary(&events).exit == 130)
        #expect(rig.parts.count == 1)
        #expect(rig.bytes("Documents/a.bin") == nil)
        let plan = try await rig.session.plan(manifest)
        #expect(plan.steps.map(\.kind) == [.resume])
        let second = try await rig.session.sync(manifest)
        #expect(second[.resumed] == 1)
        #expect(second.bytesReused > 0)
        #expect(rig.bytes("Documents/a.bin") == bytes)
        #expect(rig.parts.isEmpty)
    }

    @Test func leavingTheLoopCancels() async throws {
        let rig = try SessionRig(bytesPerSecond: 1_000_000)
        let manifest = Manifest(name: "m", resources: [try rig.resource("Documents/a.bin", bytes)])
        do {
            for try await event in rig.session.execute(try await rig.session.plan(manifest)) {
                if case .progress = event.body { break }
            }
        }
        // The session is free again when the run has wound down: the lock can be had.
        let other = try MirrorSession(root: rig.session.root)
        try await other.withLock(waitingSeconds: 30) {}
        #expect(rig.bytes("Documents/a.bin") == nil)
        #expect(rig.parts.count == 1)
    }

    @Test func cancellingOneResourceLetsTheOthersGoOn() async throws {
        let rig = try SessionRig(bytesPerSecond: 1_500_000)
        let one = try rig.resource("Documents/a.bin", bytes)
        let two = try rig.resource("Documents/b.bin", TestBytes.make(1_000_000, seed: 2))
        let plan = try await rig.session.plan(Manifest(name: "m", resources: [one, two]))
        var events = rig.session.execute(plan).makeAsyncIterator()
        try await untilProgress(&events)
        await rig.session.cancel(one.target, discardingPart: true)
        let summary = try await summary(&events)
        #expect(summary[.fetched] == 1)
        #expect(summary[.failed] == 1)
        #expect(rig.bytes("Documents/b.bin") != nil)
        #expect(rig.parts.isEmpty)
    }

    @Test func aPausedResourceGoesOnWhenItIsResumed() async throws {
        let rig = try SessionRig(bytesPerSecond: 2_000_000)
        let one = try rig.resource("Documents/a.bin", bytes)
        let two = try rig.resource("Documents/b.bin", bytes)
        let plan = try await rig.session.plan(Manifest(name: "m", resources: [one, two]))
        var events = rig.session.execute(plan).makeAsyncIterator()
        try await untilProgress(&events)
        await rig.session.pause(one.target)
        var ended: [Target] = []
        while ended.isEmpty, let event = try await events.next() {
            if case .done(let done) = event.body { ended.append(done.target) }
        }
        #expect(ended == [two.target])
        #expect(rig.bytes("Documents/a.bin") == nil)
        await rig.session.resume(one.target)
        #expect(try await summary(&events)[.fetched] == 2)
        #expect(rig.bytes("Documents/a.bin") == bytes)
    }

    @Test func aResourceThatIsInFlightIsJoined() async throws {
        let rig = try SessionRig(bytesPerSecond: 3_000_000)
        let manifest = Manifest(name: "m", resources: [try rig.resource("Documents/a.bin", bytes)])
        let plan = try await rig.session.plan(manifest)
        var first = rig.session.execute(plan).makeAsyncIterator()
        try await untilProgress(&first)
        var second = rig.session.execute(plan).makeAsyncIterator()
        let joined = try await summary(&second)
        let own = try await summary(&first)
        #expect(own[.fetched] == 1)
        #expect(joined[.fetched] == 1)
        #expect(joined.requests == 0)
        #expect(rig.origin.requests.count == 1)
    }

    @Test func aFileThatIsReadIsReplacedAfterwards() async throws {
        let rig = try SessionRig()
        let resource = try rig.resource("Caches/a.bin", bytes)
        let manifest = Manifest(name: "m", resources: [resource])
        _ = try await rig.session.sync(manifest)
        let newer = TestBytes.make(2_000_000, seed: 9)
        rig.shelf.put("/a.bin", newer)
        let session = rig.session
        let sync = try await session.withFile(resource.target) { path in
            let sync = Task { try await session.sync(manifest) }
            // The new version has arrived as a part, and waits.
            while rig.origin.requests.count < 2 { try await Task.sleep(for: .milliseconds(5)) }
            for _ in 0..<20 { try await Task.sleep(for: .milliseconds(5)) }
            #expect(rig.bytes("Caches/a.bin") == bytes)
            return sync
        }
        #expect(try await sync.value[.updated] == 1)
        #expect(rig.bytes("Caches/a.bin") == newer)
    }
}
