@testable import MirrorKit
import MirrorTestSupport
import Testing

/// A feed of transfers, whose hosts are a letter each, in the order of their positions.
private final class Feeding {
    private var feed: JobFeed

    init(_ letters: String, window: Int, priorities: [Int32] = []) {
        let hosts = letters.map { Host(Origin(scheme: .https, host: String($0), port: 443)) }
        feed = JobFeed(
            hosts.indices.map { position in
                let priority = priorities.indices.contains(position) ? priorities[position] : 0
                return (position: position, priority: priority, host: hosts[position])
            }, window: window)
    }

    var count: Int { feed.count }
    var isRunningLow: Bool { feed.isRunningLow }

    func took(atMost limit: Int = .max) -> [Int] { feed.take(atMost: limit) }
    func tookAll() -> [Int] { feed.takeAll() }
    func ended(_ position: Int) -> Bool { feed.ended(position) }
    func delayed(_ position: Int) -> Bool { feed.delayed(position) }

    /// Ends whatever is taken from a position on, and nothing before it; gives how many those were.
    func answered(from first: Int) -> Int {
        var begun = feed.take()
        var answered = 0
        while let position = begun.popLast() {
            guard position >= first else { continue }
            answered += 1
            if feed.ended(position) { begun += feed.take() }
        }
        return answered
    }
}

@Suite struct JobFeedTests {
    @Test func theHostsTakeTurns() {
        let feed = Feeding("aaabbc", window: 6)
        #expect(feed.took() == [0, 3, 5, 1, 4, 2])
        #expect(feed.count == 0)
    }

    @Test func higherPrioritiesComeFirst() {
        let feed = Feeding("aabb", window: 4, priorities: [0, 5, -1, 5])
        #expect(feed.took() == [1, 3, 0, 2])
    }

    @Test func noMoreAreTakenThanWereAskedFor() {
        let feed = Feeding("aabba", window: 5, priorities: [0, 5, 5, 0, 0])
        #expect(feed.took(atMost: 1) == [1])
        #expect(feed.isRunningLow)
        #expect(feed.took(atMost: 2) == [2, 0])
        #expect(feed.took() == [3, 4])
    }

    @Test func noMoreThanTheWindowAreTaken() {
        let feed = Feeding("aaaaa", window: 3)
        #expect(feed.took() == [0, 1, 2])
        #expect(feed.took().isEmpty)
        #expect(feed.count == 2)
    }

    @Test func feedCountsOnlyItsOwnJobs() {
        let feed = Feeding("aaaaa", window: 3)
        #expect(feed.took() == [0, 1, 2])
        #expect(!feed.ended(7))
        #expect(!feed.delayed(7))
        #expect(feed.took().isEmpty)
    }

    @Test func answeringHostsOfAFileGoOn() {
        // More hosts than the window: 6 of the first 8 say nothing.
        let feed = Feeding("abcdefghijklmnopqrstuvwxyz", window: 8)
        #expect(feed.answered(from: 6) == 20)
    }

    @Test func everyJobIsTakenExactlyOnce() {
        var random = SplitMix64(seed: 5)
        for _ in 0..<200 {
            let hostCount = Int.random(in: 1...12, using: &random)
            let letters = (0..<Int.random(in: 1...300, using: &random)).map { _ in
                Character(UnicodeScalar(UInt8(97 + Int.random(in: 0..<hostCount, using: &random))))
            }
            let feed = Feeding(
                String(letters), window: Int.random(in: 1...40, using: &random),
                priorities: letters.map { _ in Int32.random(in: 0...2, using: &random) })
            var known = feed.took()
            var seen = Set(known)
            while let position = known.randomElement(using: &random) {
                let isLow: Bool
                if Bool.random(using: &random) {
                    isLow = feed.delayed(position)
                } else {
                    known.removeAll { $0 == position }
                    isLow = feed.ended(position)
                }
                for next in isLow ? feed.took() : [] {
                    #expect(seen.insert(next).inserted)
                    known.append(next)
                }
            }
            #expect(seen.count == letters.count)
            #expect(feed.count == 0)
        }
    }

    @Test func theWindowRefillsAtHalf() {
        let feed = Feeding("aaaaaaaa", window: 4)
        _ = feed.took()
        #expect([0, 1, 2].map(feed.ended) == [false, false, true])
        #expect(feed.isRunningLow)
        #expect(feed.took() == [4, 5, 6])
        #expect(!feed.isRunningLow)
    }

    @Test func aSilentHostFillsOnlyItsShare() {
        let feed = Feeding(
            String(repeating: "a", count: 50) + String(repeating: "b", count: 50), window: 8)
        #expect(feed.answered(from: 50) == 50)
        // It had half of the window, and gets more of it now that nothing of b is left.
        #expect((50 - 8...50 - 4).contains(feed.count))
    }

    @Test func aFullHostDoesNotBlockLowerPriorities() {
        let feed = Feeding("aaaab", window: 4, priorities: [1, 1, 1, 1, 0])
        #expect(feed.took() == [0, 1, 4])
        // Nothing of b is left now, and the whole window is for a.
        #expect(feed.took() == [2])
    }

    @Test func retriesDoNotFillTheWindow() {
        let feed = Feeding("aaaaaaaaaa", window: 4)
        _ = feed.took()
        #expect([0, 1, 2].map(feed.delayed) == [false, false, true])
        #expect(feed.took() == [4, 5, 6])
        // It was not counted, so its end makes no room.
        #expect(!feed.ended(0))
        #expect(feed.took().isEmpty)
        #expect(!feed.ended(4))
        #expect(feed.took() == [7])
    }

    @Test func jobThatWaitsAgainIsExcludedOnce() {
        let feed = Feeding("aaaa", window: 2)
        _ = feed.took()
        #expect([0, 0].map(feed.delayed) == [false, false])
        #expect(feed.took() == [2])
    }

    @Test func atMostThousandsOfJobsWait() {
        let feed = Feeding(String(repeating: "a", count: 10_000), window: 4)
        var begun = 0
        while true {
            let positions = feed.took()
            if positions.isEmpty { break }
            begun += positions.count
            for position in positions { _ = feed.delayed(position) }
        }
        #expect(begun == 4096 + 4)
        #expect(feed.count == 10_000 - begun)
    }

    @Test func whatIsLeftCanBeTakenAtOnce() {
        let feed = Feeding("aabb", window: 2)
        #expect(feed.took() == [0, 2])
        #expect(feed.tookAll().sorted() == [1, 3])
        #expect(feed.count == 0)
        #expect(feed.tookAll().isEmpty)
        #expect(!feed.ended(0))
    }
}
