import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// The first success fixes the name that a server chose: with the file's row, or not at all.
@Suite struct ServerNameTests {
    private let key: ServerNameKey

    init() throws {
        key = ServerNameKey(
            owner: "m", folder: "Caches/in", source: try SourceURL("https://a.example/dl?id=1"))
    }

    @Test func theFirstSuccessFixesAName() async throws {
        let tree = try PromotionTree()
        let first = try tree.promotion("Caches/in/first", "1", serverName: key)
        #expect(await tree.promote(first).failure == nil)
        #expect(try tree.serverName(key) == ("Caches/in/first", true))
        let second = try tree.promotion("Caches/in/second", "2", serverName: key)
        #expect(await tree.promote(second).failure == nil)
        #expect(try tree.serverName(key) == ("Caches/in/first", true))
        await tree.promoter.stop()
    }

    @Test(arguments: [true, false])
    func aPromotionThatFailsFixesNoName(allowsUnnamedFiles: Bool) async throws {
        var probe = PromotionProbe()
        probe.allowsUnnamedFiles = allowsUnnamedFiles
        let tree = try PromotionTree(try TemporaryFolder(), probe)
        try tree.folder.write("x", to: "Caches/in/first/inner")
        let first = try tree.promotion("Caches/in/first", "1", serverName: key)
        #expect(await tree.promote(first).failure?.code == .obstructed)
        #expect(try tree.serverName(key).path == nil)
        let second = try tree.promotion("Caches/in/second", "2", serverName: key)
        #expect(await tree.promote(second).failure == nil)
        #expect(try tree.serverName(key).path == "Caches/in/second")
        await tree.promoter.stop()
        // The first intent may be left, and with it what it proposed.
        let next = try PromotionTree(tree.folder)
        _ = try Recovery.settle(next.root, next.index, now: PromotionTree.time)
        #expect(try next.serverName(key) == ("Caches/in/second", true))
        await next.promoter.stop()
    }

    @Test func aFileThatIsAdoptedFixesItsName() async throws {
        let tree = try PromotionTree()
        try tree.folder.write("1", to: "Caches/in/dl")
        guard case .file(let stamp) = try tree.look("Caches/in/dl") else { return }
        var record = try tree.promotion("Caches/in/dl", "1").record
        record.stamp = stamp
        let confirmed = Confirmed(record, isAdoption: true, serverName: key)
        #expect(await tree.confirm(confirmed) == nil)
        #expect(try tree.serverName(key) == ("Caches/in/dl", true))
        await tree.promoter.stop()
    }

    /// Without a name a file would be fetched again, under the next name that the server suggests.
    @Test(arguments: PromotionStep.allCases)
    func aCrashFixesNoNameWithoutItsFile(step: PromotionStep) async throws {
        let folder = try TemporaryFolder()
        let tree = try PromotionTree(folder, PromotionProbe(goesOn: { $0 != step }))
        _ = await tree.promote(try tree.promotion("Caches/in/first", "1", serverName: key))
        await tree.promoter.stop()
        let next = try PromotionTree(folder)
        _ = try Recovery.settle(next.root, next.index, now: PromotionTree.time)
        let isThere = folder.text(of: "Caches/in/first") != nil
        #expect(try next.serverName(key) == (isThere ? "Caches/in/first" : nil, true))
        await next.promoter.stop()
    }

    /// A name that was fixed before outlives an attempt that a crash undid.
    @Test func aCrashLeavesAFixedName() async throws {
        let folder = try TemporaryFolder()
        let before = try PromotionTree(folder)
        _ = await before.promote(try before.promotion("Caches/in/first", "1", serverName: key))
        await before.promoter.stop()
        unlink(folder.path + "/Caches/in/first")
        let tree = try PromotionTree(folder, PromotionProbe(goesOn: { $0 != .intended }))
        _ = await tree.promote(try tree.promotion("Caches/in/first", "2", serverName: key))
        await tree.promoter.stop()
        let next = try PromotionTree(folder)
        _ = try Recovery.settle(next.root, next.index, now: PromotionTree.time)
        #expect(try next.serverName(key) == ("Caches/in/first", true))
        await next.promoter.stop()
    }

    @Test(arguments: PromotionStep.allCases)
    func aSetFixesANameWithItsCommit(step: PromotionStep) async throws {
        let folder = try TemporaryFolder()
        let tree = try PromotionTree(folder, PromotionProbe(goesOn: { $0 != step }))
        _ = await promoteSet("Caches/in/first", on: tree)
        await tree.promoter.stop()
        let next = try PromotionTree(folder)
        _ = try Recovery.settle(next.root, next.index, now: PromotionTree.time)
        let isThere = folder.text(of: "Caches/in/first") != nil
        #expect(try next.serverName(key) == (isThere ? "Caches/in/first" : nil, true))
        await next.promoter.stop()
    }

    @Test func aSetThatIsLeftFixesNoName() async throws {
        var probe = PromotionProbe()
        probe.flushError = { Errno(number: EIO, call: "syncfs", path: "x") }
        let tree = try PromotionTree(try TemporaryFolder(), probe)
        let result = await promoteSet("Caches/in/first", on: tree)
        if case .promoted = result { Issue.record("promoted") }
        #expect(try tree.serverName(key) == (nil, true))
        await tree.promoter.stop()
    }

    private func promoteSet(_ path: String, on tree: PromotionTree) async -> SetResult? {
        await withCheckedContinuation { continuation in
            let listener = PromotionListener { results in
                for case .setEnded(_, let result) in results {
                    continuation.resume(returning: result)
                }
            }
            guard let promotion = try? tree.promotion(path, "1", serverName: key) else {
                return continuation.resume(returning: nil)
            }
            let set = SetContents(
                number: 0, set: .init(owners: ["m"], folder: nil),
                promotions: [(0, promotion)], removals: [])
            tree.promoter.submit([
                PromotionWork(task: .promoteSet(set), number: 0, receiver: listener)
            ])
            tree.promoter.hurry()
        }
    }
}
