@testable import MirrorKit
import Testing

@Suite struct QuotaPolicyTests {
    /// `a 10 p5 @3 asked` is a file of 10 bytes with priority 5, last used at 3, that was asked for.
    private func candidate(_ text: String) -> QuotaCandidate {
        var candidate = QuotaCandidate(size: 0, claim: .wanted, lastUse: Instant(seconds: 0))
        for word in text.split(separator: " ") {
            switch word {
            case "asked": candidate.claim = .asked
            case "evicted": candidate.claim = .evicted
            case "unwanted": candidate.claim = .unwanted
            case "held": candidate.mayLeave = false
            case let word where word.hasPrefix("p"):
                candidate.priority = Int32(word.dropFirst()) ?? 0
            case let word where word.hasPrefix("@"):
                candidate.lastUse = Instant(seconds: Int64(word.dropFirst()) ?? 0)
            default: candidate.size = Int64(word) ?? 0
            }
        }
        return candidate
    }

    @Test(
        arguments: [
            // All of them fit, to the byte.
            (30, ["10 @1", "10 @2", "10 @3"], []),
            (0, [], []),
            // The least recently used goes.
            (29, ["10 @2", "10 @1", "10 @3"], [1]),
            (10, ["10 @2", "10 @1", "10 @3"], [0, 1]),
            (0, ["10 @2", "0 @1"], [0]),
            // Priority counts for more than the last use.
            (20, ["10 p1 @1", "10 @2", "10 @3"], [1]),
            (20, ["10 p-1 @9", "10 @2", "10 @3"], [0]),
            // What is too large stays out, and what fits behind it does not.
            (20, ["30 p9", "10", "10"], [0]),
            (25, ["20 @3", "10 @2", "5 @1"], [1]),
            // What was evicted comes after the others of its priority, whenever it was used.
            (20, ["10 evicted @9", "10 @1", "10 @2"], [0]),
            (20, ["10 evicted p1 @1", "10 @1", "10 @2"], [1]),
            (30, ["10 evicted", "10", "10"], []),
            // What nobody wants goes first, whatever its priority was.
            (20, ["10 unwanted p9 @9", "10 @1", "10 evicted @1"], [0]),
            // What was asked for comes first, whatever was evicted before.
            (10, ["10 asked p-5", "10 p9 @9"], [1]),
            // What cannot leave takes its room, also beyond the quota.
            (20, ["15 held", "10 p9", "5"], [1]),
            (10, ["15 held", "0", "1"], [2]),
            // What is not known takes no room.
            (10, ["10", "0"], []),
            // Among equals the first is admitted.
            (20, ["10", "10", "10"], [2]),
        ] as [(Int64, [String], [Int])])
    func filesAreAdmittedUntilTheQuotaIsFull(quota: Int64, files: [String], leftOut: [Int]) {
        #expect(QuotaCandidate.leftOut(of: files.map(candidate), quota: quota) == leftOut)
    }

    @Test func overflowingSizesAreLeftOut() {
        let files = [
            QuotaCandidate(size: .max, claim: .wanted, lastUse: Instant(seconds: 2)),
            QuotaCandidate(size: .max, claim: .wanted, lastUse: Instant(seconds: 1)),
        ]
        #expect(QuotaCandidate.leftOut(of: files, quota: .max) == [1])
        var held = files
        held[0].mayLeave = false
        held[1].mayLeave = false
        #expect(QuotaCandidate.leftOut(of: held, quota: 5) == [])
    }

    /// What one run leaves out, the next one leaves out too, as long as nothing else changes.
    @Test func theNextRunLeavesOutTheSameFiles() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            var files = (0..<20).map { _ in
                QuotaCandidate(
                    size: Int64.random(in: 0...9, using: &random),
                    priority: Int32.random(in: 0...2, using: &random), claim: .wanted,
                    lastUse: Instant(seconds: Int64.random(in: 0...5, using: &random)))
            }
            let first = QuotaCandidate.leftOut(of: files, quota: 40)
            for position in first { files[position].claim = .evicted }
            let second = QuotaCandidate.leftOut(of: files, quota: 40)
            #expect(first == second)
            let bytes = files.indices.filter { !first.contains($0) }.map { files[$0].size }
            #expect(bytes.reduce(0, +) <= 40)
        }
    }
}

/// What files of unknown size may take of a quota.
@Suite struct QuotaRoomTests {
    @Test func whatTheServerTellsCounts() {
        var room = QuotaRoom(quota: 100, left: 50)
        let fits = [
            room.take(30, counted: 0, for: 1), room.take(30, counted: 0, for: 2),
            room.take(20, counted: 0, for: 3),
        ]
        #expect(fits == [true, false, true])
        #expect(room.left == 0)
        room.giveBack(1)
        #expect(room.left == 30)
    }

    /// The second answer is about the same file.
    @Test func onlyWhatWasNotCountedIsTaken() {
        var room = QuotaRoom(quota: 100, left: 10)
        var fits = [
            room.take(60, counted: 55, for: 1), room.take(60, counted: 55, for: 1),
            room.take(40, counted: 55, for: 2),
        ]
        #expect(room.left == 5)
        fits += [room.take(.max, counted: .max, for: 3), room.take(.max, counted: 0, for: 4)]
        #expect(fits == [true, true, true, true, false])
    }
}
