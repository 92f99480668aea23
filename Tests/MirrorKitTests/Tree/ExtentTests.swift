import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Parts whose bytes do not all begin at the start.
@Suite struct ExtentTests {
    let folder: TemporaryFolder
    let target: Target
    let index: Index
    let store: TreePartStore
    let bytes = TestBytes.make(1000, seed: 5)

    init() throws {
        folder = try TemporaryFolder()
        target = try Target("Caches/a.bin")
        let root = try RootDirectory(opening: folder.path)
        index = try Index.open(root, now: Instant(seconds: 0))
        store = TreePartStore(root: root, index: index)
    }

    /// A part with these ranges written and logged.
    private func part(_ ranges: [Range<Int>]) throws -> (PartRecord, PartFile) {
        let record = PartRecord(
            name: PartRecord.freshName(for: target, identity: .anonymous), target: target,
            identity: .anonymous, total: 1000,
            provenance: Provenance(
                source: SourceKey(text: "https://a/b"), answeredBy: "https://a/b"),
            validators: Validators(entityTag: EntityTag("\"1\"")))
        let file = try store.create(record)
        for range in ranges {
            try file.write(Array(bytes[range]), at: Int64(range.lowerBound))
            for length in Set([range.count / 2, range.count]) where length > 0 {
                let slice = Array(bytes[range.lowerBound..<range.lowerBound + length])
                try store.log(
                    Milestone(
                        length: Int64(length), sha256: ByteHasher.digest(.sha256, of: slice)),
                    from: Int64(range.lowerBound), part: record.name)
            }
        }
        return (try logged(record), file)
    }

    private func logged(_ record: PartRecord) throws -> PartRecord {
        try #require(
            try index.read { (database: inout Database) throws(IndexError) in
                try database.parts(for: record.target)
            }.first)
    }

    private func trust(
        _ record: PartRecord, _ file: PartFile
    ) throws -> (length: Int64, rangesBeyond: [Range<Int64>], sha256: Digest) {
        let trusted = try TrustedPart.establish(record, file: file, other: .md5)
        guard let trusted else { throw Errno(number: 4, call: "test", path: "") }
        return (trusted.length, trusted.rangesBeyond, trusted.sha256.snapshot())
    }

    @Test func extentsComeBackWithTheirMilestones() throws {
        let (record, _) = try part([0..<100, 300..<500, 700..<800])
        #expect(record.milestones.map(\.length) == [50, 100])
        #expect(record.extents.map(\.range) == [300..<500, 700..<800])
        #expect(record.extents.first?.milestones.map(\.length) == [100, 200])
        #expect(record.loggedBytes == 400)
        try store.discard(part: record.name)
        for table in ["extents", "milestones", "part_provenances", "parts"] {
            let left = try index.read { (database: inout Database) throws(IndexError) in
                try database.number("SELECT count(*) FROM \(table)")
            }
            #expect(left == 0, "\(table)")
        }
    }

    @Test func aForgottenPartsMilestoneIsNotKept() throws {
        let (record, _) = try part([0..<100])
        try store.discard(part: record.name)
        let digest = ByteHasher.digest(.sha256, of: [])
        try store.log(Milestone(length: 1, sha256: digest), from: 5, part: record.name)
        let left = try index.read { (database: inout Database) throws(IndexError) in
            try database.number("SELECT count(*) FROM extents")
        }
        #expect(left == 0)
    }

    @Test func extentsAreTrustedWithinTheirDigests() throws {
        let (record, file) = try part([0..<100, 300..<500, 700..<800])
        try file.write([bytes[450] ^ 1], at: 450)
        let trusted = try trust(record, file)
        #expect(trusted.length == 100)
        #expect(trusted.rangesBeyond == [300..<400, 700..<800])
        #expect(try file.size() == 800)
    }

    /// A damaged row may say anything.
    @Test(arguments: [(Int64(1) << 62, Int64(1) << 62), (.max, 1), (1, .max)])
    func anExtentBeyondAllNumbersIsNotTrusted(start: Int64, length: Int64) throws {
        var (record, file) = try part([0..<100, 300..<500])
        let digest = ByteHasher.digest(.sha256, of: [])
        record.extents.append(
            Extent(start: start, milestones: [Milestone(length: length, sha256: digest)]))
        #expect(try trust(record, file).rangesBeyond == [300..<500])
    }

    @Test func lengthAloneProvesNothing() throws {
        let (record, file) = try part([0..<100, 300..<500])
        try file.truncate(to: 400)
        try file.truncate(to: 1000)
        let trusted = try trust(record, file)
        #expect(trusted.rangesBeyond == [300..<400])
        #expect(try file.size() == 400)
    }

    @Test func anExtentAtTheFrontContinues() throws {
        let (record, file) = try part([0..<100, 100..<400, 400..<500, 600..<700])
        let trusted = try trust(record, file)
        #expect(trusted.length == 500)
        #expect(trusted.rangesBeyond == [600..<700])
        #expect(trusted.sha256 == ByteHasher.digest(.sha256, of: Array(bytes[..<500])))
    }

    @Test func anOverlappedExtentContinues() throws {
        let (record, file) = try part([0..<200, 100..<400, 600..<700])
        let trusted = try trust(record, file)
        #expect(trusted.length == 400)
        #expect(trusted.rangesBeyond == [600..<700])
        #expect(trusted.sha256 == ByteHasher.digest(.sha256, of: Array(bytes[..<400])))
    }

    /// The file holds a zero there, and no digest speaks of it.
    @Test func extentsAroundAMissingByteAreTwo() throws {
        let (record, file) = try part([0..<100, 101..<200, 300..<400, 401..<500])
        let trusted = try trust(record, file)
        #expect(trusted.length == 100)
        #expect(trusted.rangesBeyond == [101..<200, 300..<400, 401..<500])
        #expect(trusted.sha256 == ByteHasher.digest(.sha256, of: Array(bytes[..<100])))
    }

    @Test func extentsWithoutAFrontAreKept() throws {
        let (record, file) = try part([0..<100, 300..<500])
        try file.write([bytes[0] ^ 1], at: 0)
        let trusted = try trust(record, file)
        #expect(trusted.length == 0)
        #expect(trusted.rangesBeyond == [300..<500])
    }
}
