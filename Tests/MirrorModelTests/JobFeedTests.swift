import MirrorModel
import Testing

/// A feed of transfers, whose hosts are a letter each, in the order of their positions.
private final class Feeding {
    private let hosts: [Origin]
    private var feed: JobFeed

    init(_ letters: String, window: Int, priorities: [Int32] = []) {
        let hosts = letters.map { Origin(scheme: .https, host: String($0), port: 443) }
        self.hosts = hosts
        feed = JobFeed(
            hosts.indices.map { position in
                let priority = priorities.indices.contains(position) ? priorities[position] : 0
                return (position: position, priority: priority, host: hosts[position])
            }, window: window)
    }

    var count: Int { feed.count }
    var isRunningLow: Bool { feed.isRunningLow }

    /// Takes, and begins what was taken.
    func begin() -> [Int] {
        let taken = feed.take()
        for position in taken { feed.began(host: hosts[position]) }
        return taken
    }

    func took() -> [Int] { feed.take() }
    func tookAll() -> [Int] { feed.takeAll() }
    func ended(_ position: Int) -> Bool { feed.ended(position, host: hosts[position]) }
    func delayed(_ position: Int) -> Bool { feed.delayed(position, host: hosts[position]) }
}

@Suite struct JobFeedTests {
    @Test func theHostsTakeTurns() {
        let feed = Feeding("aaabbc", window: 6)
        #expect(feed.begin() == [0, 3, 5, 1, 4, 2])
        #expect(feed.count == 0)
    }

    @Test func higherPrioritiesComeFirst() {
        let feed = Feeding("aabb", window: 4, priorities: [0, 5, -1, 5])
        #expect(feed.begin() == [1, 3, 0, 2])
    }

    @Test func noMoreThanTheWindowAreTaken() {
        let feed = Feeding("aaaaa", window: 3)
        #expect(feed.begin() == [0, 1, 2])
        #expect(feed.begin().isEmpty)
        #expect(feed.count == 2)
    }

    @Test func whatWasTakenAndNotBegunLeavesItsPlace() {
        let feed = Feeding("aaaaa", window: 3)
        #expect(feed.took() == [0, 1, 2])
        #expect(feed.begin() == [3, 4])
    }

    @Test func moreAreTakenWhenMoreThanHalfHaveEnded() {
        let feed = Feeding("aaaaaaaa", window: 4)
        _ = feed.begin()
        #expect([0, 1, 2].map(feed.ended) == [false, false, true])
        #expect(feed.isRunningLow)
        #expect(feed.begin() == [4, 5, 6])
        #expect(!feed.isRunningLow)
    }

    @Test func aHostThatDoesNotAnswerFillsItsOwnShareOnly() {
        let feed = Feeding(
            String(repeating: "a", count: 50) + String(repeating: "b", count: 50), window: 8)
        var begun = feed.begin()
        var answered = 0
        // Whatever b is asked is answered; a says nothing.
        while let position = begun.popLast() {
            guard position >= 50 else { continue }
            answered += 1
            if feed.ended(position) { begun += feed.begin() }
        }
        #expect(answered == 50)
        // It had half of the window, and gets more of it now that nothing of b is left.
        #expect((50 - 8...50 - 4).contains(feed.count))
    }

    @Test func aHostAtItsShareDoesNotKeepOthersOfLowerPriorityBack() {
        let feed = Feeding("aaaab", window: 4, priorities: [1, 1, 1, 1, 0])
        #expect(feed.begin() == [0, 1, 4])
        // Nothing of b is left now, and the whole window is for a.
        #expect(feed.begin() == [2])
    }

    @Test func thoseThatWaitForARetryDoNotCount() {
        let feed = Feeding("aaaaaaaaaa", window: 4)
        _ = feed.begin()
        #expect([0, 1, 2].map(feed.delayed) == [false, false, true])
        #expect(feed.begin() == [4, 5, 6])
        // It was not counted, so its end makes no room.
        #expect(!feed.ended(0))
        #expect(feed.begin().isEmpty)
        #expect(!feed.ended(4))
        #expect(feed.begin() == [7])
    }

    @Test func oneThatWaitsAgainIsLeftOutOnce() {
        let feed = Feeding("aaaa", window: 2)
        _ = feed.begin()
        #expect([0, 0].map(feed.delayed) == [false, false])
        #expect(feed.begin() == [2])
    }

    @Test func onlyThousandsWait() {
        let feed = Feeding(String(repeating: "a", count: 10_000), window: 4)
        var begun = 0
        while true {
            let positions = feed.begin()
            if positions.isEmpty { break }
            begun += positions.count
            for position in positions { _ = feed.delayed(position) }
        }
        #expect(begun == 4096 + 4)
        #expect(feed.count == 10_000 - begun)
    }

    @Test func whatIsLeftCanBeTakenAtOnce() {
        let feed = Feeding("aabb", window: 2)
        #expect(feed.begin() == [0, 2])
        #expect(feed.tookAll().sorted() == [1, 3])
        #expect(feed.count == 0)
        #expect(feed.tookAll().isEmpty)
        #expect(!feed.ended(0))
    }
}
