import Glibc
import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorParts
@testable import MirrorStore
@testable import MirrorSystem
@testable import MirrorModel

/// Several batches are on their way through the promotion at once, and each goes through all steps.
///
/// One test after another: each holds thousands of files open.
@Suite(.serialized) struct PromotionPipelineTests {
    /// More than seven batches, however many works one may hold.
    private static let count = 4_000
    private static let paths = (0..<count).map { "Caches/many/\($0 / 500)/\($0)" }

    /// What was told, by the numbers of the works.
    private final class Account: PromotionReceiver {
        private let ends = Mutex<[Int: [LandingResult]]>([:])
        private let isComplete = Semaphore()
        private let expected: Int

        init(expected: Int) { self.expected = expected }

        func promoted(_ ends: [PromotionEnd]) {
            let count = self.ends.withLock { known in
                for end in ends {
                    if case .landed(_, let result) = end.result {
                        known[end.number, default: []].append(result)
                    }
                }
                return known.count
            }
            if count == expected { isComplete.post() }
        }

        var told: [Int: [LandingResult]] { ends.withLock { $0 } }

        /// Waits until each was told of, for a minute at most.
        func wait() async throws -> Bool {
            try await DetachedThread.run { self.isComplete.wait(seconds: 60) }
        }
    }

    private func works(
        _ tree: PromotionTree, _ receiver: any PromotionReceiver
    ) throws -> [PromotionWork] {
        try Self.paths.enumerated().map { number, path in
            PromotionWork(
                task: .land(try tree.landing(path, path)), number: number, receiver: receiver)
        }
    }

    /// Submits all works and waits for their ends.
    private func promote(
        on tree: PromotionTree
    ) async throws -> [Int: [LandingResult]] {
        let account = Account(expected: Self.count)
        tree.promoter.submit(try works(tree, account))
        tree.promoter.hurry()
        #expect(try await account.wait())
        await tree.promoter.stop()
        return account.told
    }

    @Test func eachBatchGoesThroughAllStepsWhileAnotherIsOnItsWay() async throws {
        let steps = Mutex<[PromotionStep]>([])
        let tree = try PromotionTree(
            PromotionProbe(goesOn: { step in
                steps.withLock { $0.append(step) }
                return true
            }))
        let told = try await promote(on: tree)
        #expect(told.count == Self.count)
        #expect(told.values.allSatisfy { $0.count == 1 && $0[0].failure == nil })
        for path in Self.paths {
            let row = try #require(try tree.record(path))
            #expect(try tree.look(path) == .file(row.stamp, sha256: nil))
        }
        #expect(try tree.intents().isEmpty)
        let order: [PromotionStep] = [
            .staged, .intended, .flushedBytes, .placed, .flushedNames, .cleaned, .indexed,
        ]
        let taken = steps.withLock { $0 }
        let batches = taken.count / order.count
        #expect(batches > 7)
        for step in order { #expect(taken.count { $0 == step } == batches, "\(step)") }
        // No batch is further in a step than in the one before it.
        for end in taken.indices {
            let counts = order.map { step in taken[...end].count { $0 == step } }
            #expect(counts == counts.sorted(by: >), "after \(taken[end])")
        }
        // The second batch has written its bytes before the first one's names are on the disk.
        let second = try #require(taken.indices.filter { taken[$0] == .staged }.dropFirst().first)
        #expect(second < (try #require(taken.firstIndex(of: .flushedNames))))
    }

    /// A failed flush says nothing of any batch that waited for it.
    @Test(arguments: 1...5)
    func afterAFailedFlushEveryBatchOnItsWayFails(failing: Int) async throws {
        let flushes = Atomic(0)
        var probe = PromotionProbe()
        probe.flushError = {
            let count = flushes.add(1, ordering: .relaxed).newValue
            return count == failing ? Errno(number: EIO, call: "syncfs", path: "disk") : nil
        }
        let tree = try PromotionTree(probe)
        let told = try await promote(on: tree)
        #expect(flushes.load(ordering: .relaxed) == failing)
        #expect(told.count == Self.count)
        #expect(told.values.allSatisfy { $0.count == 1 })
        // The fifth flush is that of the first batch's rows.
        #expect(told.values.allSatisfy { $0[0].failure?.code == .inputOutput })
    }

    /// What was reported is there after a crash, and every other file is there wholly or not at all.
    @Test(
        arguments: [
            PromotionStep.staged, .intended, .flushedBytes, .placed, .flushedNames, .cleaned,
            .indexed,
        ], [2, 3, 7])
    func aCrashLeavesEachFileThereOrNot(step: PromotionStep, batch: Int) async throws {
        let folder = try TemporaryFolder()
        let seen = Atomic(0)
        let probe = PromotionProbe(goesOn: {
            $0 != step || seen.add(1, ordering: .relaxed).newValue < batch
        })
        let told = try await promote(on: PromotionTree(folder, probe))
        #expect(told.values.allSatisfy { $0.count == 1 })
        let tree = try PromotionTree(folder)
        let settled = try Recovery.settle(tree.root, tree.index, now: PromotionTree.time)
        #expect(settled.conflicts.isEmpty)
        #expect(try tree.intents().isEmpty)
        #expect(tree.folder.names(in: "tmp").isEmpty)
        let landed = Set(told.filter { $0.value[0].failure == nil }.keys)
        // Two batches begin for each step of an older one: the first is told of before the third one's
        // names are known to last, and before the seventh writes its bytes.
        let isEarly =
            switch batch {
            case 2: step != .indexed
            case 3: [.staged, .intended, .flushedBytes, .placed].contains(step)
            default: false
            }
        #expect(landed.isEmpty == isEarly)
        for (number, path) in Self.paths.enumerated() {
            let row = try tree.record(path)
            if landed.contains(number) { #expect(row != nil) }
            #expect(tree.folder.text(of: path) == row.map { _ in path })
            if let row { #expect(try tree.look(path) == .file(row.stamp, sha256: nil)) }
        }
        await tree.promoter.stop()
    }

    /// A removal takes its emptied folder along: nobody may have begun there.
    @Test func nothingIsBegunBesideARemoval() async throws {
        let tree = try PromotionTree()
        let old = try await tree.put("Caches/many/0/old", "old")
        let account = Account(expected: Self.count)
        let removal = Removal(target: old.target, stamp: old.stamp)
        let works = try works(tree, account)
        let heard = PromotionListener { ends in
            for case .removed(let error) in ends.map(\.result) { #expect(error == nil) }
        }
        // The folder's new files are in the second batch after that of the removal: it would write them
        // before the folder goes, and name them afterwards.
        let new = works.prefix(500)
        let others = works.dropFirst(500)
        tree.promoter.submit(
            [PromotionWork(task: .remove(removal), number: 0, receiver: heard)]
                + others.prefix(511) + new + others.dropFirst(511))
        tree.promoter.hurry()
        #expect(try await account.wait())
        #expect(account.told.values.allSatisfy { $0[0].failure == nil })
        await tree.promoter.stop()
    }

    /// A removal in a later batch waits for those that are on their way.
    @Test func aRemovalWaitsForTheBatchesBeforeIt() async throws {
        let steps = Mutex<[PromotionStep]>([])
        let tree = try PromotionTree(
            PromotionProbe(goesOn: { step in
                steps.withLock { $0.append(step) }
                return true
            }))
        let old = try await tree.put("Caches/many/old", "old")
        steps.withLock { $0 = [] }
        let account = Account(expected: Self.count)
        let heard = PromotionListener { ends in
            for case .removed(let error) in ends.map(\.result) { #expect(error == nil) }
        }
        let removal = Removal(target: old.target, stamp: old.stamp)
        let works = try works(tree, account)
        // The first of the fourth batch.
        tree.promoter.submit(
            works.prefix(768)
                + [PromotionWork(task: .remove(removal), number: 0, receiver: heard)]
                + works.dropFirst(768))
        tree.promoter.hurry()
        #expect(try await account.wait())
        await tree.promoter.stop()
        let taken = steps.withLock { $0 }
        let staged = taken.indices.filter { taken[$0] == .staged }
        #expect(staged.count > 4)
        #expect(taken[..<staged[3]].count { $0 == .indexed } == 3)
        #expect(taken[..<staged[4]].count { $0 == .indexed } == 4)
    }

    /// What was begun is waited for, also when the work beside it fails.
    @Test(arguments: [false, true])
    func aFlushBesideWorkIsWaitedFor(fails: Bool) throws {
        let isOver = Atomic(false)
        let flushes = try FlushThread { () throws(Errno) in
            usleep(50_000)
            isOver.store(true, ordering: .sequentiallyConsistent)
        }
        defer { flushes.stop() }
        for _ in 1...2 {
            isOver.store(false, ordering: .sequentiallyConsistent)
            var fault: PromotionFault?
            do {
                try flushes.flush { () throws(PromotionFault) in if fails { throw .stopped } }
            } catch { fault = error }
            let wasOver = isOver.load(ordering: .sequentiallyConsistent)
            #expect(wasOver)
            #expect((fault != nil) == fails)
        }
    }

    @Test func aFlushThatFailedStaysFailed() throws {
        let isFirst = Atomic(true)
        let flushes = try FlushThread { () throws(Errno) in
            if isFirst.exchange(false, ordering: .relaxed) {
                throw Errno(number: EIO, call: "syncfs", path: "disk")
            }
        }
        defer { flushes.stop() }
        for _ in 1...2 {
            #expect(throws: PromotionFault.self) {
                try flushes.flush { () throws(PromotionFault) in }
            }
        }
    }
}
