import Glibc
import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

/// Many works are promoted in batches, one after the other, and each batch goes through all steps.
@Suite struct PromotionBatchTests {
    /// More than two batches, however many works one may hold.
    private static let count = 600
    private static let paths = (0..<count).map { "Caches/many/\($0 / 100)/\($0)" }
    private static let order: [PromotionStep] = [
        .staged, .intended, .flushedBytes, .placed, .flushedNames, .cleaned, .indexed,
    ]

    /// What was told, by the numbers of the works.
    private final class Account: PromotionReceiver {
        private let ends = Mutex<[Int: [PromotionResult]]>([:])
        private let isComplete = Semaphore()
        private let expected: Int

        init(expected: Int) { self.expected = expected }

        func promoted(_ works: [PromotionWork], _ results: [RunInput]) {
            let count = ends.withLock { known in
                for case .promoted(let number, let result) in results {
                    known[number, default: []].append(result)
                }
                return known.count
            }
            if count == expected { isComplete.post() }
        }

        var told: [Int: [PromotionResult]] { ends.withLock { $0 } }

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
                task: .promote(try tree.promotion(path, path)), number: number, receiver: receiver)
        }
    }

    /// Submits all works and waits for their ends.
    private func promote(
        on tree: PromotionTree
    ) async throws -> [Int: [PromotionResult]] {
        let account = Account(expected: Self.count)
        tree.promoter.submit(try works(tree, account))
        tree.promoter.hurry()
        #expect(try await account.wait())
        await tree.promoter.stop()
        return account.told
    }

    @Test func eachBatchEndsBeforeTheNextBegins() async throws {
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
            #expect(try tree.look(path) == .file(row.stamp))
        }
        #expect(try tree.intents().isEmpty)
        let taken = steps.withLock { $0 }
        let batches = taken.count / Self.order.count
        #expect(batches > 2)
        #expect(taken == Array(repeatElement(Self.order, count: batches).joined()))
    }

    /// Another process of the root removes folders that it finds empty.
    @Test(arguments: ["Caches/d/e/f", "Documents/d/e/f"])
    func aFolderThatIsRemovedMeanwhileIsMadeAgain(path: String) async throws {
        let folder = try TemporaryFolder()
        let removals = Atomic(0)
        let probe = PromotionProbe(goesOn: { step in
            let area = folder.path + "/" + path.prefix { $0 != "/" }
            if step == .flushedBytes, rmdir(area + "/d/e") == 0, rmdir(area + "/d") == 0 {
                removals.add(1, ordering: .relaxed)
            }
            return true
        })
        let tree = try PromotionTree(folder, probe)
        let part = try tree.promotionOfPart(path + "2", "part")
        for promotion in [try tree.promotion(path, "memory"), part] {
            #expect(await tree.promote(promotion).failure == nil)
            #expect(unlink(folder.path + "/" + promotion.target.path) == 0)
        }
        #expect(removals.load(ordering: .relaxed) == 2)
        #expect(try tree.intents().isEmpty)
        await tree.promoter.stop()
    }

    /// The third flush is that of the second batch's bytes.
    @Test(arguments: 1...4)
    func afterAFailedFlushEveryLaterWorkFails(failing: Int) async throws {
        let flushes = Atomic(0)
        var probe = PromotionProbe()
        probe.flushError = {
            let count = flushes.add(1, ordering: .relaxed).newValue
            return count == failing ? Errno(number: EIO, call: "syncfs", path: "disk") : nil
        }
        let told = try await promote(on: PromotionTree(probe))
        #expect(flushes.load(ordering: .relaxed) == failing)
        #expect(told.count == Self.count)
        #expect(told.values.allSatisfy { $0.count == 1 })
        let failed = told.values.compactMap { $0[0].failure?.code }
        #expect(failed.allSatisfy { $0 == .inputOutput })
        #expect((failed.count == Self.count) == (failing < 3))
    }

    /// What was reported is there after a crash, and every other file is there wholly or not at all.
    @Test(arguments: order, [1, 2])
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
        let promoted = Set(told.filter { $0.value[0].failure == nil }.keys)
        #expect(promoted.isEmpty == (batch == 1))
        for (number, path) in Self.paths.enumerated() {
            let row = try tree.record(path)
            if promoted.contains(number) { #expect(row != nil) }
            #expect(tree.folder.text(of: path) == row.map { _ in path })
            if let row { #expect(try tree.look(path) == .file(row.stamp)) }
        }
        await tree.promoter.stop()
    }
}
