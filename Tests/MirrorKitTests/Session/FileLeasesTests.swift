@testable import MirrorKit
import Synchronization
import Testing

/// Who waits for whom when a file is read and replaced at the same time.
@Suite(.timeLimit(.minutes(15))) struct FileLeasesTests {
    private final class Log: Sendable {
        private let words = Mutex<[String]>([])
        func add(_ word: String) { words.withLock { $0.append(word) } }
        var all: [String] { words.withLock { $0 } }
    }

    @Test func aPromotionWaitsForTheLastReader() async throws {
        let (leases, log, target) = (FileLeases(), Log(), try Target("Caches/a"))
        let first = try await leases.take(target)
        let second = try await leases.take(target)
        leases.begin(target) { log.add("promotion") }
        #expect(log.all == [])
        first.end()
        #expect(log.all == [])
        second.end()
        #expect(log.all == ["promotion"])
        #expect(leases.isHeld(target))
        leases.releaseExclusive(target)
        #expect(!leases.isHeld(target))
    }

    @Test func promotionsFollowEachOther() throws {
        let (leases, log, target) = (FileLeases(), Log(), try Target("Caches/a"))
        leases.begin(target) { log.add("first") }
        leases.begin(target) { log.add("second") }
        #expect(log.all == ["first"])
        leases.releaseExclusive(target)
        #expect(log.all == ["first", "second"])
    }

    @Test func aReaderWaitsForAPromotionUnderWay() async throws {
        let (leases, log, target) = (FileLeases(), Log(), try Target("Caches/a"))
        leases.begin(target) { log.add("promotion") }
        let reader = Task {
            let lease = try await leases.take(target)
            log.add("reader")
            lease.end()
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(log.all == ["promotion"])
        leases.releaseExclusive(target)
        try await reader.value
        #expect(log.all == ["promotion", "reader"])
        #expect(!leases.isHeld(target))
    }

    /// Otherwise readers that overlap would keep a promotion out for ever.
    @Test func aPromotionGoesBeforeReadersThatComeLater() async throws {
        let (leases, log, target) = (FileLeases(), Log(), try Target("Caches/a"))
        let first = try await leases.take(target)
        leases.begin(target) { log.add("promotion") }
        let asking = Log()
        let readers = (0..<3).map { _ in
            Task {
                asking.add("reader")
                let lease = try await leases.take(target)
                log.add("reader")
                return lease
            }
        }
        // They stand in the line soon after.
        while asking.all.count < 3 { await Task.yield() }
        for _ in 0..<100 { await Task.yield() }
        #expect(log.all == [])
        first.end()
        #expect(log.all == ["promotion"])
        leases.begin(target) { log.add("second promotion") }
        leases.releaseExclusive(target)
        for reader in readers { try await reader.value.end() }
        #expect(
            log.all.sorted() == ["promotion", "reader", "reader", "reader", "second promotion"])
        #expect(log.all.last == "second promotion")
        leases.releaseExclusive(target)
        #expect(!leases.isHeld(target))
    }

    /// The promotion in front of it waits for that file, perhaps, or for somebody who waits for it.
    @Test func aReadingTaskDoesNotWaitForPromotions() async throws {
        let (leases, log) = (FileLeases(), Log())
        let (a, b) = (try Target("Caches/a"), try Target("Caches/b"))
        let other = try await leases.take(b)
        leases.begin(b) { log.add("promotion") }
        let own = try await leases.take(a)
        try await FileLease.$held.withValue([own]) {
            let second = try await leases.take(b)
            other.end()
            #expect(log.all == [])
            second.end()
        }
        #expect(log.all == ["promotion"])
        own.end()
        leases.releaseExclusive(b)
        // The lease is over, though a task may still have it.
        leases.begin(b) { log.add("next") }
        let late = FileLease.$held.withValue([own]) {
            Task { try await leases.take(b).end() }
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(leases.isHeld(b))
        leases.releaseExclusive(b)
        try await late.value
        #expect(!leases.isHeld(a) && !leases.isHeld(b))
    }

    @Test func aCancelledReaderLeavesTheLine() async throws {
        let (leases, target) = (FileLeases(), try Target("Caches/a"))
        #expect(leases.acquireExclusiveIfFree(target))
        let reader = Task { try await leases.take(target) }
        for _ in 0..<100 { await Task.yield() }
        reader.cancel()
        let error = await #expect(throws: MirrorError.self) { _ = try await reader.value }
        #expect(error?.code == .cancelled)
        leases.releaseExclusive(target)
        #expect(!leases.isHeld(target))
    }

    @Test func leaseDelaysOnlyItsOwnFile() async throws {
        let (leases, log) = (FileLeases(), Log())
        let lease = try await leases.take(try Target("Caches/a"))
        leases.begin(try Target("Caches/b")) { log.add("promotion") }
        lease.end()
        #expect(log.all == ["promotion"])
    }

    /// A set that waited for one file keeps it while it looks at the others, and gives it back if one of
    /// them is read: whoever reads that one may want the first.
    @Test func aSetTakesAllFilesOrWaits() async throws {
        let leases = FileLeases()
        let targets = try ["Caches/a", "Caches/b"].map { try Target($0) }
        let taken = Mutex<[Target]>([])
        func take(holding held: Target?) -> Bool {
            leases.acquireExclusive(targets, holding: held) { target in
                taken.withLock { $0.append(target) }
            }
        }
        let first = try await leases.take(targets[0])
        let second = try await leases.take(targets[1])
        #expect(!take(holding: nil))
        first.end()
        #expect(taken.withLock { $0 } == [targets[0]])
        #expect(!take(holding: targets[0]))
        leases.releaseExclusive(targets[0])
        #expect(!leases.isHeld(targets[0]))
        second.end()
        #expect(taken.withLock { $0 } == targets)
        #expect(take(holding: targets[1]))
        #expect(targets.allSatisfy(leases.isHeld))
    }

    @Test func leasedFileIsNotFree() async throws {
        let (leases, target) = (FileLeases(), try Target("Caches/a"))
        let lease = try await leases.take(target)
        #expect(leases.isHeld(target))
        #expect(!leases.acquireExclusiveIfFree(target))
        lease.end()
        #expect(leases.acquireExclusiveIfFree(target))
        #expect(!leases.acquireExclusiveIfFree(target))
        leases.releaseExclusive(target)
        #expect(!leases.isHeld(target))
    }
}

extension FileLeases {
    /// Begins a promotion now or later, and says so when it does.
    fileprivate func begin(_ target: Target, _ begin: @escaping @Sendable () -> Void) {
        if acquireExclusive([target], orLater: { _ in begin() }) { begin() }
    }
}
