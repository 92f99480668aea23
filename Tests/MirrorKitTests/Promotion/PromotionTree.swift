import MirrorTestSupport
import Synchronization

@testable import MirrorKit

/// A root with an index and a promoter, for tests of promotion.
final class PromotionTree: Sendable {
    static let time = Instant(milliseconds: 1_795_233_360_000)
    let folder: TemporaryFolder
    let root: RootDirectory
    let index: Index
    let promoter: Promoter

    convenience init(
        in parent: String = "/tmp",
        _ probe: PromotionProbe = PromotionProbe()
    ) throws {
        let folder = try TemporaryFolder(in: parent)
        try self.init(folder, probe)
    }

    /// Opens a tree that is there already, as the next run does.
    init(
        _ folder: TemporaryFolder,
        _ probe: PromotionProbe = PromotionProbe(), unfinished: [UnfinishedSet] = [],
        shard: Shard = .whole
    ) throws {
        self.folder = folder
        root = try RootDirectory(opening: folder.path, shard: shard)
        index = try Index.open(root, now: PromotionTree.time)
        promoter = try Promoter(
            root: root, index: index, now: { PromotionTree.time }, probe: probe,
            unfinished: unfinished)
    }

    /// The stamp of a part as it is now.
    func stamp(ofPart name: String) throws -> FileStamp {
        try root.openFile("tmp/" + name).status(path: name).stamp
    }

    /// A promotion of text.
    func promotion(
        _ path: String, _ text: String, content: Promotion.Content? = nil,
        over expected: Promotion.ExpectedFile = .nothing, onConflict: ConflictPolicy = .rename,
        isExecutable: Bool = false, serverName: ServerNameKey? = nil
    ) throws -> Promotion {
        let bytes = Array(text.utf8)
        let record = IndexRecord(
            target: try Target(path), owner: "m",
            stamp: FileStamp(size: Int64(bytes.count), modified: 0, changed: 0, inode: 0),
            sha256: ByteHasher.digest(.sha256, of: bytes), verified: .size,
            promotedAt: PromotionTree.time)
        return Promotion(
            target: record.target, content: content ?? .memory(bytes), record: record,
            expected: expected, modified: 1_000_000_000, isExecutable: isExecutable,
            onConflict: onConflict, serverName: serverName)
    }

    /// A promotion of a part with a row, as a transfer makes it.
    func promotionOfPart(_ path: String, _ text: String) throws -> Promotion {
        let target = try Target(path)
        let digest = ByteHasher.digest(.sha256, of: Array(text.utf8))
        let name = PartRecord.freshName(for: target, identity: .digest(digest))
        let provenance = Provenance(
            source: SourceKey(text: "s"), answeredBy: "http://a.example/f")
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(
                PartRecord(
                    name: name, target: target, identity: .digest(digest), total: nil,
                    provenance: provenance, validators: Validators()))
        }
        try folder.write(Array(text.utf8), to: "tmp/" + name)
        var expected = Promotion.ExpectedFile.nothing
        if let row = try record(path) { expected = .ours(row.stamp) }
        return try promotion(
            path, text, content: .part(name, try stamp(ofPart: name)), over: expected)
    }

    /// Promotes one promotion and waits for its end.
    func promote(_ promotion: Promotion) async -> PromotionResult {
        await withCheckedContinuation { continuation in
            submit(promotion) { continuation.resume(returning: $0) }
            promoter.hurry()
        }
    }

    /// Begins a promotion; the closure hears how it ended.
    func submit(_ promotion: Promotion, _ end: @escaping @Sendable (PromotionResult) -> Void) {
        let listener = PromotionListener { results in
            for case .promoted(_, let result) in results { end(result) }
        }
        promoter.submit([PromotionWork(task: .promote(promotion), number: 0, receiver: listener)])
    }

    /// Promotes text that must promote, and gives its row.
    @discardableResult
    func put(
        _ path: String, _ text: String, over expected: Promotion.ExpectedFile = .nothing
    ) async throws -> IndexRecord {
        switch await promote(try promotion(path, text, over: expected)) {
        case .promoted(let promotion, let stamp, _): return promotion.record(stamp: stamp)
        case .failed(let error): throw error
        }
    }

    /// Confirms a row and waits for the end; nil when it was confirmed.
    func confirm(_ confirmed: Confirmed) async -> MirrorError? {
        await withCheckedContinuation { continuation in
            let listener = PromotionListener { results in
                for case .confirmed(_, let error) in results {
                    continuation.resume(returning: error)
                }
            }
            promoter.submit([
                PromotionWork(task: .confirm(confirmed), number: 0, receiver: listener)
            ])
            promoter.hurry()
        }
    }

    /// Removes a file and waits for the end.
    func remove(_ path: String, stamp: FileStamp?) async throws -> MirrorError? {
        let removal = Removal(target: try Target(path), stamp: stamp)
        return await withCheckedContinuation { continuation in
            let listener = PromotionListener { results in
                for case .removed(_, let error) in results {
                    continuation.resume(returning: error)
                }
            }
            promoter.submit([PromotionWork(task: .remove(removal), number: 0, receiver: listener)])
            promoter.hurry()
        }
    }

    /// The row of a target.
    func record(_ path: String) throws -> IndexRecord? {
        let target = try Target(path)
        return try index.read { (database: inout Database) throws(IndexError) in
            try database.record(for: target)
        }
    }

    /// The target that is remembered for a resource whose name a server chooses, and whether nothing
    /// is proposed any more.
    func serverName(_ key: ServerNameKey) throws -> (path: String?, isSettled: Bool) {
        try index.read { (database: inout Database) throws(IndexError) in
            (
                try database.serverName(of: key)?.path,
                try database.number("SELECT count(*) FROM meta WHERE key LIKE 'name %'") == 0
            )
        }
    }

    /// What is at a target now.
    func look(_ path: String) throws -> LocalFile {
        var scan = StatCursor(root)
        return try scan.look(at: Target(path))
    }

    /// The intents that are left.
    func intents() throws -> [PromotionIntent] {
        try index.read { (database: inout Database) throws(IndexError) in
            try database.intents()
        }
    }
}

/// Hears how works of the promotion ended.
final class PromotionListener: PromotionReceiver {
    private let hear: @Sendable ([RunInput]) -> Void

    init(_ hear: @escaping @Sendable ([RunInput]) -> Void) { self.hear = hear }

    func promoted(_ works: [PromotionWork], _ results: [RunInput]) { hear(results) }
}

extension PromotionResult {
    /// Why it failed; nil when it promoted.
    var failure: MirrorError? { if case .failed(let error) = self { error } else { nil } }

    /// Where other people's bytes went.
    var conflict: String? {
        if case .promoted(_, _, let conflict) = self { conflict?.path } else { nil }
    }
}
