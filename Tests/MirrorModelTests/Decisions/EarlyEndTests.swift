@testable import MirrorKit
import Testing

/// What is said of a run that ended before its end.
@Suite struct EarlyEndTests {
    private func summary(
        resources: Int, skipped: Int = 0, deselected: Int = 0, interrupted: Int = 0,
        failed: Int = 0,
        parts: [Int64] = []
    ) -> Summary {
        var counts = SummaryCounts(
            resources: resources, skipped: deselected, orphans: 0, root: "/r")
        counts.enterLeftOut(skipped)
        for _ in 0..<interrupted { counts.enterInterrupted() }
        counts.enterParts(parts)
        var summary = counts.summary
        summary[.failed] = failed
        return summary
    }

    @Test func doneAndLeftAddUp() {
        let summary = summary(
            resources: 800, skipped: 720, interrupted: 16, parts: [0, 1 << 20, 2 << 20])
        #expect(
            summary.interruption
                == "Interrupted: 64 done, 736 to go, 2 parts kept (3.0 MiB). Run again to go on.")
        #expect(summary.partBytes == 3 << 20)
    }

    @Test func onlyResourcesWithAPartClaimOne() {
        let summary = summary(resources: 3, skipped: 2, interrupted: 1, parts: [0])
        #expect(summary.interruption == "Interrupted: 0 done, 3 to go. Run again to go on.")
    }

    @Test func excludedResourcesAreNotLeft() {
        let summary = summary(resources: 10, skipped: 1, deselected: 5, failed: 1, parts: [5])
        #expect(summary.interimCounts == "3 done, 1 failed, 1 to go, 1 part kept (5 B)")
    }

    @Test func aRunThatNeverBeganCountsNothing() {
        #expect(
            Summary().interruption
                == "Interrupted before anything was fetched. Run again to go on.")
    }

    @Test func aPartKeepsWhatTheIndexVouchesFor() throws {
        let digest = try #require(Digest(.sha256, bytes: [UInt8](repeating: 1, count: 32)))
        let place = Provenance(source: SourceKey(text: "http://h/a"), answeredBy: "http://h/a")
        var part = PartRecord(
            name: "a.part", target: try Target("Caches/a"), identity: .digest(digest), total: 500,
            provenance: place, validators: Validators())
        #expect(part.resumableBytes == 0)
        part.milestones = [
            Milestone(length: 50, sha256: digest), Milestone(length: 100, sha256: digest),
        ]
        #expect(part.resumableBytes == 100)
        part.extents = [
            Extent(start: 80, milestones: [Milestone(length: 40, sha256: digest)]),
            Extent(start: 300, milestones: [Milestone(length: 50, sha256: digest)]),
        ]
        #expect(part.resumableBytes == 170)
        part.identity = .anonymous
        #expect(part.resumableBytes == 0)
    }
}
