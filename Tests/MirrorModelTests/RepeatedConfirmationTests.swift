import Testing

@testable import MirrorKit

/// Which confirmations may be lost: those after which a file would be asked about no later than it will be.
struct RepeatedConfirmationTests {
    private func confirmed(freshUntil: Int64?, after before: Int64?) throws -> Confirmed {
        var record = IndexRecord(
            target: try Target("Caches/a"), owner: "m",
            stamp: FileStamp(size: 1, modified: 1, changed: 1, inode: 1),
            sha256: try #require(Digest(.sha256, bytes: Array(repeating: 1, count: 32))),
            verified: .size, promotedAt: Instant(seconds: 1))
        record.freshUntil = before.map { Instant(seconds: $0) }
        return Confirmed(
            record,
            again: (Instant(seconds: 2), freshUntil.map { Instant(seconds: $0) }))
    }

    @Test(arguments: [(nil, nil), (5, nil), (5, 5), (6, 5)] as [(Int64?, Int64?)])
    func notDueEarlierIsARepetition(freshUntil: Int64?, before: Int64?) throws {
        #expect(try confirmed(freshUntil: freshUntil, after: before).isRepetition)
    }

    @Test(arguments: [(nil, 5), (4, 5)] as [(Int64?, Int64?)])
    func whatMakesAFileDueEarlierMustLast(freshUntil: Int64?, before: Int64?) throws {
        #expect(try !confirmed(freshUntil: freshUntil, after: before).isRepetition)
    }
}
