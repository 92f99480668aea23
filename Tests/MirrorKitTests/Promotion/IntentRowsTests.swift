import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Intents in the index.
@Suite struct IntentRowsTests {
    private let folder: TemporaryFolder
    private let index: Index

    init() throws {
        folder = try TemporaryFolder()
        index = try Index.open(
            try RootDirectory(opening: folder.path), now: PromotionTree.time
        )
    }

    private static func intent(_ path: String, isFull: Bool) throws -> PromotionIntent {
        var record = try fullRecord(path)
        if !isFull {
            record = IndexRecord(
                target: record.target, owner: "ä", stamp: record.stamp, sha256: record.sha256,
                verified: .digest, promotedAt: record.promotedAt)
        }
        return PromotionIntent(
            kind: isFull ? .move : .promotion, staged: isFull ? "Documents/old" : "tmp/a.part",
            aside: isFull ? nil : "Caches/.b.mirror-00", stagedInode: .max, replaces: isFull,
            record: record)
    }

    private func put(_ intents: [PromotionIntent]) throws(IndexError) -> [Int64] {
        try index.write { (batch: inout Database) throws(IndexError) in
            var numbers: [Int64] = []
            for intent in intents { numbers.append(try batch.put(intent)) }
            return numbers
        }
    }

    private func read() throws(IndexError) -> [PromotionIntent] {
        try index.read { (database: inout Database) throws(IndexError) in
            try database.intents()
        }
    }

    @Test func eachColumnOfAnIntentComesBack() throws {
        var intents = [
            try Self.intent("Documents/a", isFull: true),
            try Self.intent("Caches/b", isFull: false),
        ]
        let numbers = try put(intents)
        for (at, number) in numbers.enumerated() { intents[at].id = number }
        #expect(try read() == intents)
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.removeIntents([numbers[0]])
        }
        #expect(try read() == [intents[1]])
    }

    /// A hidden name is longer than that of the target that it stands beside.
    @Test func hiddenNamesBesideTheLongestPathComeBack() throws {
        let folders = Array(repeating: String(repeating: "n", count: 250), count: 12)
        let start = "Documents/" + folders.joined(separator: "/") + "/"
        let path = start + String(repeating: "f", count: Target.longestPath - start.utf8.count)
        let target = try Target(path)
        var intent = try Self.intent(path, isFull: true)
        intent = PromotionIntent(
            kind: .promotion, staged: target.freshHiddenPath(),
            aside: target.freshHiddenPath(), stagedInode: 1, replaces: true,
            record: intent.record)
        intent.id = try put([intent])[0]
        #expect(try read() == [intent])
    }

    @Test func damagedIntentsAreFoundAtOpening() throws {
        _ = try put([try Self.intent("Documents/a", isFull: true)])
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.run("UPDATE intents SET kind = 'perhaps'")
        }
        try index.close()
        let opened = try Index.open(
            try RootDirectory(opening: folder.path), now: PromotionTree.time)
        #expect(opened.notice?.contains("damaged") == true)
    }
}
