@testable import MirrorKit
import MirrorTestSupport
import Testing

/// What is left after a cancellation, and how the next run goes on from it.
@Suite(.timeLimit(.minutes(15))) struct CancellationTests {
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

    @Test func theNextRunContinuesACancelledRunsPart() async throws {
        let rig = try SessionRig(holdingAfter: 1_000_000)
        let manifest = Manifest(name: "m", resources: [try rig.resource("Documents/a.bin", bytes)])
        let run = rig.session.execute(try await rig.session.plan(manifest))
        var events = run.makeAsyncIterator()
        try await untilProgress(&events)
        run.cancel()
        #expect(try await summary(&events).exit == 130)
        #expect(rig.parts.count == 1)
        #expect(rig.bytes("Documents/a.bin") == nil)
        rig.origin.release()
        let plan = try await rig.session.plan(manifest)
        #expect(plan.steps.map(\.kind) == [.resume])
        let second = try await rig.session.sync(manifest)
        #expect(second[.resumed] == 1)
        #expect(second.bytesReused > 0)
        #expect(rig.bytes("Documents/a.bin") == bytes)
        #expect(rig.parts.isEmpty)
    }

    @Test func cancellingOneResourceLetsTheOthersGoOn() async throws {
        let rig = try SessionRig(holdingAfter: 500_000)
        let one = try rig.resource("Documents/a.bin", bytes)
        let two = try rig.resource("Documents/b.bin", TestBytes.make(1_000_000, seed: 2))
        let plan = try await rig.session.plan(Manifest(name: "m", resources: [one, two]))
        var events = rig.session.execute(plan).makeAsyncIterator()
        try await untilProgress(&events)
        await rig.session.cancel(one.target, discardingPart: true)
        // The run hears of it later, and must not be at the end by then.
        while let event = try await events.next() {
            if case .failed(let failed) = event.body, failed.target == one.target { break }
        }
        rig.origin.release()
        let summary = try await summary(&events)
        #expect(summary[.fetched] == 1)
        #expect(summary[.failed] == 1)
        #expect(rig.bytes("Documents/b.bin") != nil)
        #expect(rig.parts.isEmpty)
    }
}
