import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Whether a run may rely on the rows that its plan has read.
@Suite struct RowsStateTests: IndexSuite {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func aRunAloneMayRelyOnItsPlan() {
        let rows = RowsState()
        let mark = rows.beginRun(since: rows.mark)
        #expect(mark != nil)
        #expect(rows.areThose(of: mark))
        rows.endRun()
        #expect(!rows.areThose(of: mark))
    }

    @Test func noRunReliesOnNothing() {
        let rows = RowsState()
        #expect(rows.beginRun(since: nil) == nil)
        #expect(!rows.areThose(of: nil))
    }

    @Test func plansMadeBesideRunsAreNotTrusted() {
        let rows = RowsState()
        let first = rows.beginRun(since: rows.mark)
        let planned = rows.mark
        #expect(planned == nil)
        #expect(rows.beginRun(since: planned) == nil)
        // The second run may change what the first one relies on.
        #expect(!rows.areThose(of: first))
        rows.endRun()
        rows.endRun()
        #expect(rows.beginRun(since: rows.mark) != nil)
    }

    @Test func theFirstRunOutdatesTheOtherPlan() {
        let rows = RowsState()
        let (one, two) = (rows.mark, rows.mark)
        #expect(rows.beginRun(since: one) != nil)
        rows.endRun()
        #expect(rows.beginRun(since: two) == nil)
    }

    @Test func eachChangeOfRowsIsSeen() throws {
        let index = try open()
        let record = try fullRecord("Caches/a", owner: "a")
        try index.put([record])
        let other = try Target("Caches/b")
        let changes: [() throws -> Void] = [
            { try index.setOwners([record.target: Owners(["a", "b"])]) },
            { try index.renameManifests([("a", "c")]) },
            { try index.forgetManifest(named: "c") },
            { try index.removeRecords([other]) },
        ]
        for (number, change) in changes.enumerated() {
            let mark = index.rows.beginRun(since: index.rows.mark)
            #expect(index.rows.areThose(of: mark))
            try change()
            #expect(!index.rows.areThose(of: mark), "change \(number)")
            index.rows.endRun()
        }
    }

    @Test func whatIsNoRowChangesNothing() throws {
        let index = try open()
        let mark = index.rows.beginRun(since: index.rows.mark)
        try index.setOwners([:])
        try index.noteUse(of: try Target("Caches/a"), at: Instant(seconds: 1))
        try index.put([ManifestRecord(name: "m", place: .absolute("/m.json"))])
        #expect(index.rows.areThose(of: mark))
    }
}
