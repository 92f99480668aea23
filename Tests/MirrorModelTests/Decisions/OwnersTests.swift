@testable import MirrorKit
import Testing

/// Who owns a target, and who does so from now on.
@Suite struct OwnersTests {
    @Test func namesAreKeptInOrderAndOnce() {
        #expect(Owners(["b", "a", "b"]).names == ["a", "b"])
        #expect(Owners(["b", "a"]).text == "a\u{1F}b")
        #expect(Owners("a").text == "a")
        #expect(Owners([String]()).isEmpty)
    }

    @Test func peopleReadThemAsAList() {
        #expect(Owners(["c", "a", "b"]).description == "a, b and c")
        #expect(Owners(["a", "b"]).description == "a and b")
        #expect(Owners("a").description == "a")
    }

    @Test func aFileStemCannotForgeASecondOwner() {
        #expect(Owners("a\u{1F}b").names.count == 1)
        #expect(!Owners("a\u{1F}b").contains("b"))
    }

    @Test func ownerIsRemovedOrRenamed() {
        let both = Owners(["a", "b"])
        #expect(both.without("a") == Owners("b"))
        #expect(both.without("c") == both)
        #expect(both.renaming("a", to: "z") == Owners(["b", "z"]))
        #expect(both.renaming("a", to: "b") == Owners("b"))
        #expect(Owners("ab").renaming("a", to: "z") == Owners("ab"))
    }

    /// What is recorded, who wants it, what the others say, and who owns it then; nil is a refusal.
    struct Case: Sendable {
        var recorded: [String]?
        var wanting: [String]
        var others: [String: Owners.Position] = [:]
        var takesOver = false
        var owners: [String]?
    }

    @Test(arguments: [
        Case(recorded: nil, wanting: ["a"], owners: ["a"]),
        Case(recorded: ["a"], wanting: ["a"], owners: ["a"]),
        Case(recorded: ["b"], wanting: ["a"], others: ["b": .silent], owners: ["a"]),
        Case(recorded: ["b"], wanting: ["a"], others: ["b": .agrees], owners: ["a", "b"]),
        Case(recorded: ["b"], wanting: ["a"], others: ["b": .disputes], owners: nil),
        Case(
            recorded: ["b"], wanting: ["a"], others: ["b": .disputes], takesOver: true,
            owners: ["a"]),
        Case(
            recorded: ["b", "c"], wanting: ["a"], others: ["b": .disputes, "c": .agrees],
            takesOver: true, owners: ["a", "c"]),
        Case(recorded: ["a", "b"], wanting: ["a"], others: ["b": .agrees], owners: ["a", "b"]),
        Case(recorded: ["a"], wanting: ["a", "b"], owners: ["a", "b"]),
        Case(
            recorded: ["b"], wanting: ["a"], others: ["b": .agrees], takesOver: true,
            owners: ["a", "b"]),
    ])
    func agreeingManifestsOwnTheFile(_ row: Case) {
        let owners = Owners.merging(
            recorded: row.recorded.map { Owners($0) }, wanting: row.wanting,
            takesOver: row.takesOver
        ) { row.others[$0] ?? .silent }
        #expect(owners == row.owners.map { Owners($0) })
    }

    @Test func unownedFilesAreLeftAlone() {
        #expect(Owners("b").left { $0 == "a" } == nil)
        #expect(Owners(["a", "b"]).left { $0 == "a" } == Owners("b"))
        #expect(Owners("a").left { $0 == "a" }?.isEmpty == true)
    }
}

/// When two manifests can own one target.
@Suite struct TargetDifferenceTests {
    private func resource(_ digests: [Digest], isExecutable: Bool = false) throws -> Resource {
        var resource = Resource(
            target: try Target("Caches/a"), url: try SourceURL("https://h.example/a"))
        resource.digests = digests
        resource.isExecutable = isExecutable
        return resource
    }

    private func digest(_ algorithm: DigestAlgorithm, _ byte: UInt8) throws -> Digest {
        try #require(
            Digest(algorithm, bytes: Array(repeating: byte, count: algorithm.byteCount)))
    }

    @Test func theSameDigestIsNoDifference() throws {
        let one = try digest(.sha256, 1)
        #expect(TargetDifference.between(try resource([one]), try resource([one])) == nil)
    }

    @Test func differentDigestsAreADifference() throws {
        let (one, two) = (try digest(.sha256, 1), try digest(.sha256, 2))
        #expect(
            TargetDifference.between(try resource([one]), try resource([two]))
                == .digests(one, two))
    }

    @Test func oneContradictionOutweighsOneAgreement() throws {
        let one = [try digest(.sha256, 1), try digest(.sha512, 1)]
        let two = [try digest(.sha256, 1), try digest(.sha512, 2)]
        #expect(TargetDifference.between(try resource(one), try resource(two)) != nil)
    }

    @Test func unpinnedIsAlwaysADifference() throws {
        let one = try resource([try digest(.sha256, 1)])
        #expect(TargetDifference.between(one, try resource([])) == .unpinned)
        #expect(TargetDifference.between(try resource([]), try resource([])) == .unpinned)
        let weak = try resource([try digest(.md5, 1)])
        #expect(TargetDifference.between(weak, weak) == .unpinned)
    }

    @Test func theModeMustBeTheSame() throws {
        let one = [try digest(.sha256, 1)]
        #expect(
            TargetDifference.between(
                try resource(one), try resource(one, isExecutable: true)) == .mode)
    }

    @Test func twoDigestsProveEqualBytes() throws {
        let (short, long) = (try digest(.sha256, 1), try digest(.sha512, 1))
        let (one, two) = (try resource([short]), try resource([long]))
        #expect(TargetDifference.between(one, two) == .incomparable(short, long))
        var record = IndexRecord(
            target: try Target("Caches/a"), owner: "a",
            stamp: FileStamp(size: 1, modified: 0, changed: 0, inode: 0), sha256: short,
            verified: .digest, promotedAt: Instant(milliseconds: 0))
        #expect(TargetDifference.between(one, two, record: record) != nil)
        record.otherDigest = long
        #expect(TargetDifference.between(one, two, record: record) == nil)
    }
}
