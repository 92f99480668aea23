@testable import MirrorKit
import Testing

@testable import mirror

@Suite struct StatusDashboardTests {
    private static let now = Instant(seconds: 1_795_233_360)
    private let clock = LocalClock(now: now, offset: .utc)

    private func file(
        _ path: String, _ state: StoredFile.State, size: Int64? = 10,
        _ change: (inout StoredFile) -> Void = { _ in }
    ) throws -> StoredFile {
        var file = StoredFile(target: try Target(path), state: state)
        file.size = size
        change(&file)
        return file
    }

    @Test func theTotalsNameOnlyWhatIsThere() throws {
        var dashboard = TreeTotals()
        dashboard.add(try file("Caches/a", .intact))
        dashboard.add(try file("Caches/b", .intact) { $0.freshness = .due(.always) })
        #expect(dashboard.line(good: nil, last: nil, clock: clock) == "2 files, 20 B: 1 due.")
        #expect(dashboard.attention.isEmpty)
    }

    @Test func theTotalsAddUp() throws {
        var dashboard = TreeTotals()
        dashboard.add(try file("Documents/a", .changed))
        dashboard.add(try file("Documents/b", .missing, size: nil) { $0.partBytes = 2048 })
        dashboard.add(try file("Documents/c", .untracked))
        dashboard.add(try file("Documents/d", .obstructed, size: nil))
        dashboard.add(try file("Documents/e", .conflict))
        dashboard.add(try file("Documents/f", .intact) { $0.isOrphan = true })
        var summary = Summary()
        summary[.stale] = 3
        let run = PastRun(
            id: "R", startedAt: Self.now.advanced(bySeconds: -3600), endedAt: Self.now,
            summary: summary)
        #expect(
            dashboard.line(good: run, last: run, clock: clock)
                == "3 files, 30 B: 0 due, 3 stale, 1 edited, 1 missing, 1 not mirror's, 1 obstructed, 1 conflict, 1 orphan, 1 part (2.0 KiB). Last good run: 02:56, 1 h ago."
        )
        #expect(
            dashboard.attention.map(\.targets.first?.path) == [
                "Documents/e", "Documents/d", "Documents/a", "Documents/c", "Documents/b",
                "Documents/f",
            ])
    }

    @Test func aLongGroupIsCutWithACount() throws {
        var dashboard = TreeTotals()
        for number in 0..<25 {
            dashboard.add(try file("Caches/\(number)", .missing, size: nil))
        }
        let group = try #require(dashboard.attention.first)
        #expect(group.heading == "25 missing; mirror sync fetches them")
        #expect(group.targets.count == 10)
        #expect(group.more == 15)
    }

    @Test func pausedFilesAreNotPromised() throws {
        let paused = PausedTargets(
            Set(try ["Caches/a", "Caches/b", "Caches/c", "Caches/d"].map { try Target($0) }))
        var dashboard = TreeTotals(paused: paused)
        dashboard.add(try file("Caches/a", .missing, size: nil), ended: .failed)
        dashboard.add(try file("Caches/b", .intact) { $0.freshness = .due(.always) })
        // Nothing is awaited for these.
        dashboard.add(try file("Caches/c", .intact))
        dashboard.add(try file("Caches/d", .changed))
        dashboard.add(try file("Caches/e", .missing, size: nil))
        #expect(
            dashboard.attention.map(\.heading) == [
                "1 edited: changed since mirror put them there",
                "1 missing; mirror sync fetches them", "2 paused; mirror resume lets them come",
            ])
        var all = TreeTotals(paused: PausedTargets(all: true))
        all.add(try file("Caches/e", .missing, size: nil))
        #expect(all.attention.map(\.heading) == ["1 paused; mirror resume lets it come"])
    }

    @Test func failedAndStaleFilesAreNamed() throws {
        var dashboard = TreeTotals()
        dashboard.add(try file("Caches/a", .missing, size: nil), ended: .failed)
        dashboard.add(try file("Caches/b", .intact), ended: .stale)
        dashboard.add(try file("Caches/c", .intact))
        #expect(
            dashboard.attention.map(\.heading) == [
                "1 failed in the last run; mirror why TARGET says what was tried",
                "1 stale: the last run could not confirm them; mirror why TARGET says why",
            ])
        #expect(dashboard.attention.map(\.targets.first?.path) == ["Caches/a", "Caches/b"])
        #expect(
            dashboard.line(good: nil, last: nil, clock: clock)
                == "2 files, 20 B: 0 due, 1 stale, 1 missing.")
    }
}
