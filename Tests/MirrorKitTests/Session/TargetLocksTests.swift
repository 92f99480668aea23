@testable import MirrorKit
import Synchronization
import Testing

/// What waits for what when a file is read, fetched and replaced at the same time.
@Suite(.timeLimit(.minutes(15))) struct TargetLocksTests {
    private final class Log: Sendable {
        private let words = Mutex<[String]>([])
        func add(_ word: String) { words.withLock { $0.append(word) } }
        var all: [String] { words.withLock { $0 } }
    }

    @Test func aPromotionWaitsForTheLastReader() async throws {
        let (locks, log, target) = (TargetLocks(), Log(), try Target("Caches/a"))
        let first = try await locks.read(target)
        let second = try await locks.read(target)
        locks.begin(target) { log.add("promotion") }
        #expect(log.all == [])
        first.end()
        #expect(log.all == [])
        second.end()
        #expect(log.all == ["promotion"])
        #expect(locks.isInUse(target))
        locks.unlock([target])
        #expect(!locks.isInUse(target))
    }

    @Test func promotionsFollowEachOther() throws {
        let (locks, log, target) = (TargetLocks(), Log(), try Target("Caches/a"))
        locks.begin(target) { log.add("first") }
        locks.begin(target) { log.add("second") }
        #expect(log.all == ["first"])
        locks.unlock([target])
        #expect(log.all == ["first", "second"])
    }

    @Test func aReaderWaitsForAPromotionUnderWay() async throws {
        let (locks, log, target) = (TargetLocks(), Log(), try Target("Caches/a"))
        locks.begin(target) { log.add("promotion") }
        let reader = Task {
            let lease = try await locks.read(target)
            log.add("reader")
            lease.end()
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(log.all == ["promotion"])
        locks.unlock([target])
        try await reader.value
        #expect(log.all == ["promotion", "reader"])
        #expect(!locks.isInUse(target))
    }

    /// Otherwise readers that overlap would keep a promotion out for ever.
    @Test func aPromotionGoesBeforeReadersThatComeLater() async throws {
        let (locks, log, target) = (TargetLocks(), Log(), try Target("Caches/a"))
        let first = try await locks.read(target)
        locks.begin(target) { log.add("promotion") }
        let asking = Log()
        let readers = (0..<3).map { _ in
            Task {
                asking.add("reader")
                let lease = try await locks.read(target)
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
        locks.begin(target) { log.add("second promotion") }
        locks.unlock([target])
        for reader in readers { try await reader.value.end() }
        #expect(
            log.all.sorted() == ["promotion", "reader", "reader", "reader", "second promotion"])
        #expect(log.all.last == "second promotion")
        locks.unlock([target])
        #expect(!locks.isInUse(target))
    }

    /// The promotion in front of it waits for that file, perhaps, or for somebody who waits for it.
    @Test func aReadingTaskDoesNotWaitForPromotions() async throws {
        let (locks, log) = (TargetLocks(), Log())
        let (a, b) = (try Target("Caches/a"), try Target("Caches/b"))
        let other = try await locks.read(b)
        locks.begin(b) { log.add("promotion") }
        let own = try await locks.read(a)
        try await FileLease.$held.withValue([own]) {
            let second = try await locks.read(b)
            other.end()
            #expect(log.all == [])
            second.end()
        }
        #expect(log.all == ["promotion"])
        own.end()
        locks.unlock([b])
        // The lease is over, though a task may still have it.
        locks.begin(b) { log.add("next") }
        let late = FileLease.$held.withValue([own]) {
            Task { try await locks.read(b).end() }
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(locks.isInUse(b))
        locks.unlock([b])
        try await late.value
        #expect(!locks.isInUse(a) && !locks.isInUse(b))
    }

    @Test func aCancelledReaderLeavesTheLine() async throws {
        let (locks, target) = (TargetLocks(), try Target("Caches/a"))
        #expect(locks.lockIfFree(target))
        let reader = Task { try await locks.read(target) }
        for _ in 0..<100 { await Task.yield() }
        reader.cancel()
        let error = await #expect(throws: MirrorError.self) { _ = try await reader.value }
        #expect(error?.code == .cancelled)
        locks.unlock([target])
        #expect(!locks.isInUse(target))
    }

    @Test func leaseDelaysOnlyItsOwnFile() async throws {
        let (locks, log) = (TargetLocks(), Log())
        let lease = try await locks.read(try Target("Caches/a"))
        locks.begin(try Target("Caches/b")) { log.add("promotion") }
        lease.end()
        #expect(log.all == ["promotion"])
    }

    /// A set that waits for one file holds none of the others: whoever reads that one may want them.
    @Test func aSetLocksAllFilesOrWaits() async throws {
        let (locks, log) = (TargetLocks(), Log())
        let targets = try ["Caches/a", "Caches/b"].map { try Target($0) }
        let first = try await locks.read(targets[0])
        let second = try await locks.read(targets[1])
        #expect(!locks.lock(targets) { log.add($0 == nil ? "granted" : "refused") })
        first.end()
        #expect(!locks.isInUse(targets[0]))
        #expect(log.all == [])
        let third = try await locks.read(targets[0])
        second.end()
        #expect(!locks.isInUse(targets[1]))
        third.end()
        #expect(log.all == ["granted"])
        #expect(targets.allSatisfy(locks.isInUse))
        locks.unlock(targets)
        #expect(!targets.contains(where: locks.isInUse))
    }

    @Test func aSetGivesUpWhereSomeFileIsAlwaysRead() async throws {
        let (locks, log) = (TargetLocks(), Log())
        let targets = try ["Caches/a", "Caches/b"].map { try Target($0) }
        var reading = [try await locks.read(targets[0]), try await locks.read(targets[1])]
        #expect(!locks.lock(targets) { log.add($0 == nil ? "granted" : "refused") })
        for turn in 0..<2000 where log.all.isEmpty {
            reading[turn % 2].end()
            reading[turn % 2] = try await locks.read(targets[turn % 2])
        }
        #expect(log.all == ["refused"])
        for lease in reading { lease.end() }
        #expect(!targets.contains(where: locks.isInUse))
    }

    @Test func aClaimDoesNotConcernReadersAndWriters() async throws {
        let (locks, target) = (TargetLocks(), try Target("Caches/a"))
        let mailbox = Mailbox<RunMessage>()
        let (own, other) = (RunRegister.id(of: 0, position: 4), RunRegister.id(of: 1, position: 7))
        #expect(locks.claim([(target, own)], waiting: mailbox) == [])
        #expect(!locks.isInUse(target))
        try await locks.read(target).end()
        #expect(locks.lockIfFree(target))
        locks.unlock([target])
        #expect(locks.claim([(target, other)], waiting: mailbox) == [7])
        locks.release(target, by: own, nil)
        guard case .inputs(let inputs)? = mailbox.take().first, case .joined(7, nil)? = inputs.first
        else {
            Issue.record("the step that waits was not told")
            return
        }
        #expect(locks.claim([(target, other)], waiting: mailbox) == [])
        locks.release(target, by: other, nil)
    }

    @Test func stepsThatClaimTogetherGetAllOrNone() throws {
        let (locks, mailbox) = (TargetLocks(), Mailbox<RunMessage>())
        let targets = try ["Caches/a", "Caches/b"].map { try Target($0) }
        let all = targets.enumerated().map { ($1, RunRegister.id(of: 1, position: $0)) }
        #expect(locks.claim([(targets[1], 0)], waiting: mailbox) == [])
        #expect(locks.claim(all, waiting: mailbox) == [1])
        #expect(locks.claim([(targets[0], 0)], waiting: mailbox) == [], "the run holds none")
        locks.release(targets[0], by: 0, nil)
        locks.release(targets[1], by: 0, nil)
        #expect(locks.claim(all, waiting: mailbox) == [])
        #expect(!locks.claim(named: targets[0], by: 9))
    }

    @Test func leasedFileIsNotFree() async throws {
        let (locks, target) = (TargetLocks(), try Target("Caches/a"))
        let lease = try await locks.read(target)
        #expect(locks.isInUse(target))
        #expect(!locks.lockIfFree(target))
        lease.end()
        #expect(locks.lockIfFree(target))
        #expect(!locks.lockIfFree(target))
        locks.unlock([target])
        #expect(!locks.isInUse(target))
    }
}

extension TargetLocks {
    /// Begins a promotion now or later, and says so when it does.
    fileprivate func begin(_ target: Target, _ begin: @escaping @Sendable () -> Void) {
        if lock([target], orLater: { _ in begin() }) { begin() }
    }
}
