@testable import MirrorKit
import Testing

/// When a file that is there is asked for again.
@Suite struct FreshnessTests {
    static let now = Instant(seconds: 1_000_000)

    static func record(
        confirmed: Instant = now.advanced(bySeconds: -600), freshUntil: Instant? = nil
    ) throws -> IndexRecord {
        var record = IndexRecord(
            target: try Target("Caches/a"), owner: "m",
            stamp: FileStamp(size: 1, modified: 0, changed: 0, inode: 1),
            sha256: try Content.recorded.digest(.sha256), verified: .size,
            promotedAt: Instant(seconds: 0))
        record.confirmedAt = confirmed
        record.freshUntil = freshUntil
        return record
    }

    static func judge(
        _ refresh: Refresh, _ record: IndexRecord, everythingIsDue: Bool = false
    ) -> Freshness {
        Freshness.judge(refresh, record: record, now: now, everythingIsDue: everythingIsDue)
    }

    @Test func alwaysIsDueAndNeverIsNot() throws {
        #expect(Self.judge(.always, try Self.record()) == .due(.always))
        #expect(Self.judge(.never, try Self.record()) == .fresh(until: nil))
    }

    @Test(arguments: [Refresh.always, .never, .http, .after(.seconds(9999))])
    func refreshAllMakesEveryFileDue(refresh: Refresh) throws {
        let record = try Self.record(freshUntil: Self.now.advanced(bySeconds: 9))
        #expect(Self.judge(refresh, record, everythingIsDue: true) == .due(.asked))
    }

    @Test(arguments: [(-600, 600, true), (-601, 600, false), (0, 0, true), (1, 600, false)])
    func confirmationFromTheFutureIsNotFresh(at: Int64, limit: Int64, isYoung: Bool) throws {
        let record = try Self.record(confirmed: Self.now.advanced(bySeconds: at))
        #expect(record.wasConfirmed(within: limit, of: Self.now) == isYoung)
    }

    @Test(arguments: [(599, true), (600, true), (601, false), (Int64.max, false)])
    func aLifetimeEndsAtItsLastSecond(seconds: Int64, isDue: Bool) throws {
        let end = Self.now.advanced(bySeconds: -600).advanced(bySeconds: seconds)
        let expected: Freshness =
            isDue ? .due(.age(since: end, lifetime: seconds)) : .fresh(until: end)
        #expect(Self.judge(.after(.seconds(seconds)), try Self.record()) == expected)
    }

    @Test func aDurationCountsFromTheConfirmation() throws {
        let record = try Self.record(confirmed: Self.now)
        let end = Self.now.advanced(bySeconds: 60)
        #expect(Self.judge(.after(.seconds(60)), record) == .fresh(until: end))
    }

    @Test(arguments: [-1, 0, 1])
    func theServersLifetimeHolds(offset: Int64) throws {
        let end = Self.now.advanced(bySeconds: offset)
        let expected: Freshness =
            offset > 0 ? .fresh(until: end) : .due(.expired(since: end, lifetime: 600 + offset))
        #expect(Self.judge(.http, try Self.record(freshUntil: end)) == expected)
    }

    @Test func withoutALifetimeEveryRunAsks() throws {
        #expect(Self.judge(.http, try Self.record()) == .due(.noLifetime))
    }

    @Test func theServersLifetimeDoesNotShortenTheManifests() throws {
        let record = try Self.record(freshUntil: Self.now.advanced(bySeconds: -300))
        let end = Self.now.advanced(bySeconds: 3000)
        #expect(Self.judge(.after(.seconds(3600)), record) == .fresh(until: end))
    }

    @Test(arguments: [Refresh.http, .after(.seconds(60)), .after(.seconds(Int64.max))])
    func aConfirmationFromTheFutureIsDue(refresh: Refresh) throws {
        let record = try Self.record(
            confirmed: Self.now.advanced(bySeconds: 1), freshUntil: Instant(milliseconds: .max))
        #expect(Self.judge(refresh, record) == .due(.clockWentBack))
    }

    @Test func aClockBackwardsWakesNoNeverFile() throws {
        let record = try Self.record(confirmed: Self.now.advanced(bySeconds: 1))
        #expect(Self.judge(.never, record) == .fresh(until: nil))
    }

    @Test func theEndsOfTimeDoNotOverflow() throws {
        let first = Instant(milliseconds: .min)
        let last = Instant(milliseconds: .max)
        let old = try Self.record(confirmed: first, freshUntil: last)
        #expect(Self.judge(.http, old) == .fresh(until: last))
        let past = try Self.record(confirmed: first, freshUntil: first)
        #expect(Self.judge(.http, past) == .due(.expired(since: first, lifetime: 0)))
        #expect(
            Freshness.judge(.after(.seconds(Int64.max)), record: old, now: last)
                == .due(.age(since: last, lifetime: .max)))
    }
}
