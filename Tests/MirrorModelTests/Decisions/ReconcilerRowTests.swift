@testable import MirrorKit
import Testing

/// Each promise of the plan by its name; one cell each, and what is said about it.
@Suite struct ReconcilerRowTests {
    static func decide(
        _ wish: DecisionCell.Wish, _ index: DecisionCell.Index, _ tree: DecisionCell.Tree,
        _ area: Area = .caches, part: DecisionCell.Part = .none,
        option: DecisionCell.Option = .none, changing: (inout Situation) throws -> Void = { _ in }
    ) throws -> Decision {
        let cell = DecisionCell(
            wish: wish, index: index, tree: tree, part: part, area: area, option: option)
        var situation = try cell.situation()
        try changing(&situation)
        return try cell.reconciler().step(for: situation, now: DecisionCell.now)
    }

    static let whole = Step.Means.transfer(part: nil, ifChangedSince: nil)

    @Test(arguments: [Int64(0), 1, 100, 102, 500])
    func anotherDeclaredSizeIsAnotherVersion(size: Int64) throws {
        #expect(Content.recorded.size == 101)
        let decision = try Self.decide(.unpinnedFresh, .row, .intact) { $0.resource.size = size }
        #expect(decision.kind == .update)
        #expect(decision.reason == .sizeChanged(from: 101, to: size))
        let same = try Self.decide(.unpinnedFresh, .row, .intact) { $0.resource.size = 101 }
        #expect(same.kind == .keep)
    }

    @Test func besideAPinAWeakDigestSaysNothing() throws {
        let other = try Content.another.digest(.md5)
        let changing: (inout Situation) throws -> Void = {
            $0.record?.otherDigest = try Content.recorded.digest(.md5)
            $0.resource.digests.append(other)
        }
        #expect(try Self.decide(.pinnedToRecorded, .row, .intact, changing: changing).kind == .keep)
        let unpinned = try Self.decide(.unpinnedFresh, .row, .intact, changing: changing)
        #expect(unpinned.kind == .update)
        #expect(
            unpinned.reason == .digestChanged(from: try Content.recorded.digest(.md5), to: other))
    }

    /// A weak digest that the row does not know is compared with the bytes.
    @Test(arguments: [DecisionCell.Wish.unpinnedFresh, .unpinnedDue])
    func aLaterWeakDigestIsProvenByBytes(wish: DecisionCell.Wish) throws {
        func decide(_ declared: Content, _ option: DecisionCell.Option = .none) throws -> Decision {
            try Self.decide(wish, .row, .intact, option: option) {
                $0.resource.digests = [try declared.digest(.md5)]
                $0.digests = [
                    try Content.recorded.digest(.sha256), try Content.recorded.digest(.md5),
                ]
            }
        }
        let same = try decide(.recorded)
        #expect(same.kind == .keep)
        #expect(same.reason == .proven)
        #expect(same.means == .adoption(sha256: try Content.recorded.digest(.sha256)))
        let other = try decide(.another)
        #expect(other.kind == .update)
        #expect(
            other.reason
                == .digestChanged(
                    from: try Content.recorded.digest(.md5), to: try Content.another.digest(.md5)))
        // Who wants every source asked has it asked.
        #expect(try decide(.recorded, .everythingIsDue).kind == .revalidate)
    }

    // MARK: Conflicts

    @Test func driftConflictsWhenAnotherVersionIsWanted() throws {
        let decision = try Self.decide(.pinnedToAnother, .row, .drifted, .documents)
        #expect(decision.kind == .conflict)
        #expect(decision.reason == .editedAndChanged)
        #expect(decision.means == Self.whole)
        let edited = try Content.edited.digest(.sha256)
        #expect(
            decision.existing == .foreign(DecisionCell.stamp(.edited, inode: 8), sha256: edited))
    }

    @Test(arguments: Area.allCases)
    func aStrangerWithoutPinnedBytesConflicts(area: Area) throws {
        let decision = try Self.decide(.pinnedToRecorded, .nothing, .drifted, area)
        #expect(decision.kind == .conflict)
        #expect(decision.reason == .untracked)
    }

    @Test(arguments: Area.allCases)
    func aStrangerOfAnotherSizeConflicts(area: Area) throws {
        let decision = try Self.decide(.unpinnedOfAnotherSize, .nothing, .intact, area)
        #expect(decision.kind == .conflict)
    }

    @Test func aStrangerIsComparedWithTheServersBytes() throws {
        let decision = try Self.decide(.unpinnedFresh, .nothing, .intact, .documents)
        #expect(decision.kind == .fetch)
        #expect(decision.reason == .untrackedOfUnknownVersion)
        #expect(decision.means == Self.whole)
        guard case .foreign = decision.existing else {
            Issue.record("\(decision.existing)")
            return
        }
    }

    @Test(arguments: Area.allCases)
    func anUnreadFileIsNotPlannedAway(area: Area) throws {
        let untracked = try Self.decide(.pinnedToAnother, .nothing, .drifted, area) {
            $0.digests = []
        }
        #expect(untracked.kind == .conflict)
        #expect(untracked.means == .nothing)
    }

    @Test(arguments: [DecisionCell.Option.none, .refetched])
    func aChangedUnreadDocumentIsNotPlannedAway(option: DecisionCell.Option) throws {
        let edit = try Self.decide(.pinnedToAnother, .row, .drifted, .documents, option: option) {
            $0.digests = []
        }
        #expect(edit.kind == .conflict)
        #expect(edit.means == .nothing)
        #expect(edit.reason == .unread)
    }

    @Test(arguments: Area.allCases)
    func anUnreadableFileStaysUntilRefetched(area: Area) throws {
        let left = try Self.decide(.pinnedToAnother, .row, .drifted, area) {
            $0.digests = []
            $0.isUnreadable = true
        }
        #expect(left.reason == .unreadable)
        #expect(left.means == .nothing)
        let anew = try Self.decide(.pinnedToAnother, .row, .drifted, area, option: .refetched) {
            $0.digests = []
            $0.isUnreadable = true
        }
        #expect(anew.kind == .fetch)
        let stamp = DecisionCell.stamp(.edited, inode: 8)
        // Nobody knows whose bytes they are.
        #expect(
            anew.existing == (area == .documents ? .foreign(stamp, sha256: nil) : .drifted(stamp)))
        let stranger = try Self.decide(
            .pinnedToAnother, .nothing, .drifted, area, option: .refetched
        ) {
            $0.digests = []
            $0.isUnreadable = true
        }
        #expect(stranger.existing == .foreign(stamp, sha256: nil))
    }

    @Test(arguments: Area.allCases, [DecisionCell.Option.none, .refetched, .everythingIsDue])
    func aFolderAtTheTargetIsLeft(area: Area, option: DecisionCell.Option) throws {
        let decision = try Self.decide(.pinnedToAnother, .row, .folder, area, option: option)
        #expect(decision.kind == .conflict)
        #expect(decision.reason == .obstructed(.folder))
        #expect(decision.means == .nothing)
    }

    // MARK: Edited

    @Test func driftIsKeptWhileItsVersionIsWanted() throws {
        let decision = try Self.decide(.pinnedToRecorded, .row, .drifted, .documents)
        #expect(decision.kind == .edited)
        #expect(decision.means == .nothing)
    }

    @Test func aPinInAnotherAlgorithmStaysWanted() throws {
        let decision = try Self.decide(.sha512UnknownToRow, .row, .drifted, .documents) {
            $0.resource.digests.append(try Content.recorded.digest(.sha256))
        }
        #expect(decision.kind == .edited)
    }

    @Test func aDueEditIsAskedWithOurValidator() throws {
        let decision = try Self.decide(.unpinnedDue, .row, .drifted, .documents)
        #expect(decision.kind == .edited)
        guard case .transfer(nil, let local?) = decision.means else {
            Issue.record("\(decision.means)")
            return
        }
        #expect(local.validators == (try DecisionCell.validators()))
        #expect(local.sha256 == (try Content.recorded.digest(.sha256)))
        #expect(local.isConfirmable)
    }

    @Test func anEditWithoutValidatorsAwaitsTheBytes() throws {
        let decision = try Self.decide(.unpinnedDue, .row, .drifted, .documents) {
            $0.record?.validators = Validators()
        }
        guard case .transfer(nil, let local?) = decision.means else {
            Issue.record("\(decision.means)")
            return
        }
        #expect(!local.isConfirmable)
        #expect(local.sha256 == (try Content.recorded.digest(.sha256)))
    }

    @Test func anEditOfUnknownSourceDoesNotConflict() throws {
        let forget = { (situation: inout Situation) -> Void in situation.record?.provenance = nil }
        let due = try Self.decide(.unpinnedDue, .row, .drifted, .documents, changing: forget)
        #expect(due.kind == .edited)
        let fresh = try Self.decide(.unpinnedFresh, .row, .drifted, .documents, changing: forget)
        #expect(fresh.kind == .edited)
        #expect(fresh.means == .nothing)
    }

    // MARK: Update and repair

    @Test func anotherPinnedDigestIsAnUpdate() throws {
        let decision = try Self.decide(.pinnedToAnother, .row, .intact)
        let (old, new) = (try Content.recorded.digest(.sha256), try Content.another.digest(.sha256))
        #expect(decision.kind == .update)
        #expect(decision.reason == .digestChanged(from: old, to: new))
    }

    @Test func anotherSizeUpdatesWithoutCondition() throws {
        let decision = try Self.decide(.unpinnedOfAnotherSize, .row, .intact)
        #expect(decision.kind == .update)
        #expect(decision.reason == .sizeChanged(from: Content.recorded.size, to: 500))
        #expect(decision.means == Self.whole)
    }

    @Test func anotherSourceUpdatesUnpinnedFilesOnly() throws {
        let unpinned = try Self.decide(.unpinnedFromAnotherSource, .row, .intact)
        #expect(unpinned.kind == .update)
        #expect(unpinned.reason == .sourceChanged(to: DecisionCell.key("new")))
        let pinned = try Self.decide(.pinnedToRecorded, .row, .intact) {
            $0.sources = [DecisionCell.key("new")]
        }
        #expect(pinned.kind == .keep)
    }

    @Test func aMirrorsVersionIsTheSameResource() throws {
        let decision = try Self.decide(.unpinnedFromAnotherSource, .row, .intact) {
            $0.sources.append(DecisionCell.key("origin"))
        }
        #expect(decision.kind == .keep)
    }

    @Test(arguments: [Area.caches, .tmp])
    func driftOutsideDocumentsIsRepaired(area: Area) throws {
        for wish in [DecisionCell.Wish.pinnedToRecorded, .pinnedToAnother, .unpinnedFresh] {
            let decision = try Self.decide(wish, .row, .drifted, area)
            #expect(decision.kind == .repair)
            #expect(decision.reason == .drifted)
            #expect(decision.existing == .drifted(DecisionCell.stamp(.edited, inode: 8)))
        }
    }

    @Test func updateAndRepairUsePartsAndCopies() throws {
        for tree in [DecisionCell.Tree.intact, .drifted] {
            let part = try Self.decide(.pinnedToAnother, .row, tree, part: .fitting)
            guard case .transfer(_?, nil) = part.means else {
                Issue.record("\(part.means)")
                return
            }
            let copy = try Self.decide(.pinnedToAnother, .row, tree, option: .localSource)
            #expect(copy.means == .copy(of: try Target("Caches/twin.bin")))
        }
    }

    /// Silent corruption: the stamp is the row's, and `--verify` read other bytes.
    @Test func otherBytesUnderTheSameStampAreDrift() throws {
        let other = try Content.edited.digest(.sha256)
        let cache = try Self.decide(.pinnedToRecorded, .row, .intact) { $0.digests = [other] }
        #expect(cache.kind == .repair)
        let document = try Self.decide(.pinnedToRecorded, .row, .intact, .documents) {
            $0.digests = [other]
        }
        #expect(document.kind == .edited)
    }
}
