import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

@Suite struct PartTests {
    let folder: TemporaryFolder
    let target: Target
    let root: RootDirectory
    let index: Index
    let store: TreePartStore

    init() throws {
        folder = try TemporaryFolder()
        target = try Target("Caches/a.bin")
        root = try RootDirectory(opening: folder.path)
        index = try Index.open(root, now: Instant(seconds: 0))
        store = TreePartStore(root: root, index: index)
    }

    private func record(_ identity: PartIdentity = .anonymous) -> PartRecord {
        PartRecord(
            name: PartRecord.freshName(for: target, identity: identity), target: target,
            identity: identity, total: 100,
            provenance: Provenance(
                source: SourceKey(text: "https://a/b"), answeredBy: "https://a/b"),
            validators: Validators(entityTag: EntityTag("\"1\"")))
    }

    @Test func concurrentPartNamesAreDifferent() async throws {
        let target = try Target("Caches/a")
        let names = await withTaskGroup(of: [String].self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<200).map { _ in PartRecord.passingName(for: target) } }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(names).count == 1600)
        #expect(names.allSatisfy { PartRecord.isName($0) })
    }

    @Test func everyGenerationHasItsOwnName() throws {
        let first = PartRecord.freshName(for: target, identity: .anonymous)
        #expect(first != PartRecord.freshName(for: target, identity: .anonymous))
        #expect(PartRecord.isName(first))
        #expect(first.hasPrefix("a.bin."))
        #expect(first.utf8.count == 5 + 1 + 32 + 5)
    }

    @Test func aLongNameIsCutToFit() throws {
        let long = try Target("Caches/" + String(repeating: "é", count: 120))
        let name = PartRecord.freshName(for: long, identity: .anonymous)
        #expect(name.utf8.count == 160 + 1 + 32 + 5)
    }

    @Test func theKeyNamesWhatTheBytesBelongTo() {
        func name(_ identity: PartIdentity) -> String {
            PartRecord.name(for: target, identity: identity, generation: [1])
        }
        let from = Provenance(source: SourceKey(text: "https://a/b"), answeredBy: "https://a/b")
        let identities: [PartIdentity] = [
            .anonymous, .digest(ByteHasher.digest(.sha256, of: [1])),
            .digest(ByteHasher.digest(.sha256, of: [2])),
            .version(from, .lastModified(HTTPDate(seconds: 1))),
            .version(from, .lastModified(HTTPDate(seconds: 2))),
        ]
        #expect(Set(identities.map(name)).count == identities.count)
    }

    @Test func theKeyNamesTheTarget() throws {
        let targets = try ["Caches/a.bin", "Caches/b/a.bin", "Documents/a.bin"].map {
            try Target($0)
        }
        let names = targets.map { PartRecord.name(for: $0, identity: .anonymous, generation: [1]) }
        #expect(Set(names).count == targets.count)
        #expect(names.allSatisfy { $0.hasPrefix("a.bin.") })
    }

    @Test func aPartWithTwoNamesStaysClosed() throws {
        let record = record()
        try store.create(record).write([1, 2, 3], at: 0)
        #expect(try store.open(record) != nil)
        #expect(
            link(folder.path + "/tmp/" + record.name, folder.path + "/second") == 0)
        #expect(try store.open(record) == nil)
    }

    @Test func preallocationDoesNotLengthenAPart() throws {
        let part = try store.create(record())
        part.reserve(0..<8 << 20)
        try part.write([1, 2, 3], at: 0)
        #expect(try part.size() == 3)
        var status = stat()
        try #require(fstat(part.descriptor, &status) == 0)
        let gains = FileSystemKind(of: root.descriptor).gainsByReserving
        #expect((Int64(status.st_blocks) * 512 >= 8 << 20) == gains)
    }

    @Test func aPartIsReopenedWithItsBytes() throws {
        let record = record()
        let file = try store.create(record)
        try file.write([1, 2, 3], at: 0)
        let again = try #require(try store.open(record))
        #expect(try again.size() == 3)
        try store.discard(part: record.name)
        #expect(try store.open(record) == nil)
        #expect(folder.names(in: "tmp").isEmpty)
    }

    @Test func aPartWithoutARowIsNotOpened() throws {
        let record = record()
        try folder.write("x", to: "tmp/" + record.name)
        #expect(try store.open(record) == nil)
    }

    @Test func aPartThatIsALinkStaysClosed() throws {
        let record = record()
        _ = try store.create(record)
        let path = folder.path + "/tmp/" + record.name
        link(path, folder.path + "/tmp/second")
        #expect(try store.open(record) == nil)
        unlink(path)
        symlink("second", path)
        #expect(try store.open(record) == nil)
    }

    /// On a slow line nothing may be promoted for hours.
    @Test func milestonesAloneDoNotLetTheLogGrow() throws {
        let record = record()
        let file = try store.create(record)
        try file.write([1], at: 0)
        for length in 1...6000 {
            let digest = ByteHasher.digest(.sha256, of: Array("\(length)".utf8))
            try store.log(
                Milestone(length: Int64(length), sha256: digest), part: record.name)
        }
        let log = try #require(folder.bytes(of: ".mirror/index.sqlite-wal"))
        #expect(log.count < 10 << 20)
    }

    @Test func trustEndsAtTheLastHoldingMilestone() throws {
        var record = record()
        let file = try store.create(record)
        let bytes = [UInt8](0..<100)
        try file.write(bytes, at: 0)
        for length in [10, 40, 90] {
            let milestone = Milestone(
                length: Int64(length),
                sha256: ByteHasher.digest(.sha256, of: Array(bytes[..<length])))
            try store.log(milestone, part: record.name)
        }
        // A power cut kept the length and lost a page.
        try file.write([0, 0, 0, 0, 0], at: 60)
        record = try #require(
            try index.read { (database: inout Database) throws(IndexError) in
                try database.parts(for: record.target)
            }.first)
        #expect(record.milestones.map(\.length) == [10, 40, 90])
        guard var trusted = try TrustedPart.establish(record, file: file, other: .md5) else {
            Issue.record("nobody cancelled")
            return
        }
        let length = trusted.length
        #expect(length == 40)
        #expect(try file.size() == 40)
        trusted.sha256.update(Array(bytes[40...]))
        let whole = trusted.sha256.snapshot()
        #expect(whole == ByteHasher.digest(.sha256, of: bytes))
        let second = trusted.other?.snapshot()
        #expect(second == ByteHasher.digest(.md5, of: Array(bytes[..<40])))
    }

    @Test func aPartWithoutMilestonesIsCutToNothing() throws {
        let record = record()
        let file = try store.create(record)
        try file.write([1, 2, 3], at: 0)
        let length = try TrustedPart.establish(record, file: file, other: nil)?.length
        #expect(length == 0)
        #expect(try file.size() == 0)
    }

    @Test func aShortPartKeepsMilestonesThatFit() throws {
        var record = record()
        let file = try store.create(record)
        try file.write([1, 2, 3], at: 0)
        let held: Int64 = 3
        record.milestones = [
            Milestone(length: held, sha256: ByteHasher.digest(.sha256, of: [1, 2, 3])),
            Milestone(length: held + 5, sha256: ByteHasher.digest(.sha256, of: [])),
        ]
        let length = try TrustedPart.establish(record, file: file, other: nil)?.length
        #expect(length == held)
    }
}
