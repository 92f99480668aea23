@testable import MirrorKit
import Testing

/// Which unfinished download may be continued.
@Suite struct PartFitTests {
    static func part(
        _ identity: PartIdentity, lengths: [Int64] = [40], total: Int64? = nil
    ) throws -> PartRecord {
        var part = PartRecord(
            name: "a.bin.0.part", target: try Target("Caches/a.bin"), identity: identity,
            total: total, provenance: DecisionCell.provenance("origin"), validators: Validators())
        part.milestones = try lengths.map {
            Milestone(length: $0, sha256: try Content.another.digest(.sha256))
        }
        return part
    }

    /// The offset that a missing file is fetched from; 0 when no part fits.
    static func offset(
        _ wish: DecisionCell.Wish, _ parts: PartRecord...,
        changing: (inout Situation) throws -> Void = { _ in }
    ) throws -> Int64 {
        let decision = try ReconcilerRowTests.decide(wish, .nothing, .absent) {
            $0.parts = parts
            try changing(&$0)
        }
        guard case .transfer(let part, _) = decision.means else { return -1 }
        #expect(decision.kind == (part == nil ? .fetch : .resume))
        return part?.loggedLength ?? 0
    }

    static func version(_ name: String) throws -> PartIdentity {
        let tag = try #require(EntityTag("\"v2\""))
        return .version(DecisionCell.provenance(name), .entityTag(tag))
    }

    @Test func aPinnedPartOutlivesItsURL() throws {
        let part = try Self.part(.digest(try Content.another.digest(.sha256)))
        let offset = try Self.offset(.pinnedToAnother, part) {
            $0.sources = [DecisionCell.key("presigned")]
        }
        #expect(offset == 40)
    }

    @Test func aPartOfAnotherVersionIsDropped() throws {
        let part = try Self.part(.digest(try Content.recorded.digest(.sha256)))
        #expect(try Self.offset(.pinnedToAnother, part) == 0)
    }

    @Test func aWeakDigestContinuesNothing() throws {
        let md5 = try Content.another.digest(.md5)
        let offset = try Self.offset(.unpinnedDue, try Self.part(.digest(md5))) {
            $0.resource.digests = [md5]
        }
        #expect(offset == 0)
    }

    @Test func anUnpinnedPartBelongsToASource() throws {
        #expect(try Self.offset(.unpinnedDue, try Self.part(Self.version("origin"))) == 40)
        #expect(try Self.offset(.unpinnedDue, try Self.part(Self.version("elsewhere"))) == 0)
    }

    @Test func anUnpinnedPartDoesNotServeAPin() throws {
        #expect(try Self.offset(.pinnedToAnother, try Self.part(Self.version("origin"))) == 0)
    }

    @Test func anAnonymousPartIsNeverContinued() throws {
        for wish in [DecisionCell.Wish.pinnedToAnother, .unpinnedDue] {
            #expect(try Self.offset(wish, try Self.part(.anonymous)) == 0)
        }
    }

    @Test func aPartWithoutMilestonesIsWorthless() throws {
        let identity = PartIdentity.digest(try Content.another.digest(.sha256))
        #expect(try Self.offset(.pinnedToAnother, try Self.part(identity, lengths: [])) == 0)
        #expect(try Self.offset(.pinnedToAnother, try Self.part(identity, lengths: [0])) == 0)
    }

    @Test func theLongestFittingPartIsTaken() throws {
        let identity = PartIdentity.digest(try Content.another.digest(.sha256))
        let offset = try Self.offset(
            .pinnedToAnother, try Self.part(identity, lengths: [10, 20]),
            try Self.part(identity, lengths: [10, 60]), try Self.part(.anonymous, lengths: [90]))
        #expect(offset == 60)
    }

    @Test(arguments: [(40, nil, 40), (40, 50, 40), (40, 60, 0), (50, nil, 50), (51, nil, 0)])
    func aPartFitsTheDeclaredSize(length: Int64, total: Int64?, expected: Int64) throws {
        let identity = PartIdentity.digest(try Content.another.digest(.sha256))
        let part = try Self.part(identity, lengths: [length], total: total)
        let offset = try Self.offset(.pinnedToAnother, part) { $0.resource.size = 50 }
        #expect(offset == expected)
    }

    @Test func aPartLongerThanTheWholeIsWorthless() throws {
        let identity = PartIdentity.digest(try Content.another.digest(.sha256))
        #expect(
            try Self.offset(.pinnedToAnother, try Self.part(identity, lengths: [40], total: 30))
                == 0)
    }
}
