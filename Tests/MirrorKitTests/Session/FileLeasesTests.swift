import MirrorModel
import Synchronization
import Testing

@testable import MirrorKit

/// Who waits for whom when a file is read and replaced at the same time.
@Suite(.timeLimit(.minutes(15))) struct FileLeasesTests {
    private final class Log: Sendable {
        private let words = Mutex<[String]>([])
        func add(_ word: String) { words.withLock { $0.append(word) } }
        var all: [String] { words.withLock { $0 } }
    }

    @Test func aLandingWaitsForTheLastReader() async throws {
        let (leases, log, target) = (FileLeases(), Log(), try Target("Caches/a"))
        await leases.take(target)
        await leases.take(target)
        leases.begin(target) { log.add("landing") }
        #expect(log.all == [])
        leases.give(target)
        #expect(log.all == [])
        leases.give(target)
        #expect(log.all == ["landing"])
        #expect(leases.isHeld(target))
        leases.releaseExclusive(target)
        #expect(!leases.isHeld(target))
    }

    @Test func landingsFollowEachOther() throws {
        let (leases, log, target) = (FileLeases(), Log(), try Target("Caches/a"))
        leases.begin(target) { log.add("first") }
        leases.begin(target) { log.add("second") }
        #expect(log.all == ["first"])
        leases.releaseExclusive(target)
        #expect(log.all == ["first", "second"])
    }

    @Test func aReaderWaitsForALandingThatHasBegun() async throws {
        let (leases, log, target) = (FileLeases(), Log(), try Target("Caches/a"))
        leases.begin(target) { log.add("landing") }
        let reader = Task {
            await leases.take(target)
            log.add("reader")
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(log.all == ["landing"])
        leases.releaseExclusive(target)
        await reader.value
        #expect(log.all == ["landing", "reader"])
    }

    @Test func leaseDelaysOnlyItsOwnFile() async throws {
        let (leases, log) = (FileLeases(), Log())
        await leases.take(try Target("Caches/a"))
        leases.begin(try Target("Caches/b")) { log.add("landing") }
        #expect(log.all == ["landing"])
    }

    /// A set that waited for one file keeps it while it looks at the others, and gives it back if one of
    /// them is read: whoever reads that one may want the first.
    @Test func aSetTakesAllOfItsFilesOrWaits() async throws {
        let leases = FileLeases()
        let targets = try ["Caches/a", "Caches/b"].map { try Target($0) }
        let taken = Mutex<[Target]>([])
        func take(holding held: Target?) -> Bool {
            leases.acquireExclusive(targets, holding: held) { target in
                taken.withLock { $0.append(target) }
            }
        }
        await leases.take(targets[0])
        await leases.take(targets[1])
        #expect(!take(holding: nil))
        leases.give(targets[0])
        #expect(taken.withLock { $0 } == [targets[0]])
        #expect(!take(holding: targets[0]))
        leases.releaseExclusive(targets[0])
        #expect(!leases.isHeld(targets[0]))
        leases.give(targets[1])
        #expect(taken.withLock { $0 } == targets)
        #expect(take(holding: targets[1]))
        #expect(targets.allSatisfy(leases.isHeld))
    }

    @Test func leasedFileIsNotFree() async throws {
        let (leases, target) = (FileLeases(), try Target("Caches/a"))
        await leases.take(target)
        #expect(leases.isHeld(target))
        #expect(!leases.acquireExclusiveIfFree(target))
        leases.give(target)
        #expect(leases.acquireExclusiveIfFree(target))
        #expect(!leases.acquireExclusiveIfFree(target))
        leases.releaseExclusive(target)
        #expect(!leases.isHeld(target))
    }
}

extension FileLeases {
    /// Begins a landing now or later, and says so when it does.
    fileprivate func begin(_ target: Target, _ begin: @escaping @Sendable () -> Void) {
        if acquireExclusive([target], orLater: { _ in begin() }) { begin() }
    }
}
