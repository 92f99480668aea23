@testable import MirrorKit
import Testing

/// What is there and right, what is not there, and what options change.
@Suite struct ReconcilerOptionTests {
    typealias Rows = ReconcilerRowTests

    static func post(_ situation: inout Situation) throws {
        situation.resource.method = .post(body: try Template("type=JSON"))
    }

    // MARK: Revalidate and keep

    @Test func aDueFileIsAskedWithItsValidator() throws {
        let decision = try Rows.decide(.unpinnedDue, .row, .intact)
        #expect(decision.kind == .revalidate)
        #expect(decision.reason == .due(.always, at: DecisionCell.now))
        guard case .transfer(nil, let local?) = decision.means else {
            Issue.record("\(decision.means)")
            return
        }
        #expect(local.provenance == DecisionCell.provenance("origin"))
    }

    @Test func aDueFileWithoutValidatorIsFetchedWhole() throws {
        let decision = try Rows.decide(.unpinnedDue, .row, .intact) {
            $0.record?.validators = Validators()
        }
        #expect(decision.kind == .revalidate)
        #expect(decision.means == Rows.whole)
        #expect(decision.reason.code == "due")
        #expect(decision.reason.because.contains("fetched whole"))
    }

    @Test func aPostIsNeverConditionalAndNeverResumed() throws {
        let due = try Rows.decide(
            .unpinnedDue, .row, .intact, part: .fitting, changing: Self.post)
        #expect(due.kind == .revalidate)
        #expect(due.means == Rows.whole)
        let absent = try Rows.decide(
            .unpinnedDue, .row, .absent, part: .fitting, changing: Self.post)
        #expect(absent.kind == .fetch)
        #expect(absent.means == Rows.whole)
    }

    @Test func anInterruptedUpdateUsesPartAndCondition() throws {
        let decision = try Rows.decide(.unpinnedDue, .row, .intact, part: .fitting)
        guard case .transfer(let part?, let local?) = decision.means else {
            Issue.record("\(decision.means)")
            return
        }
        #expect(part.loggedLength == 40)
        #expect(local.isConfirmable)
    }

    @Test func aFreshFileSaysUntilWhen() throws {
        let decision = try Rows.decide(.unpinnedFresh, .row, .intact)
        #expect(decision.kind == .keep)
        #expect(decision.means == .nothing)
        #expect(decision.reason == .fresh(until: DecisionCell.now.advanced(bySeconds: 3540)))
    }

    @Test func aTouchedFileIsAdoptedWithoutARequest() throws {
        for wish in [DecisionCell.Wish.pinnedToRecorded, .sha512UnknownToRow, .unpinnedFresh] {
            let decision = try Rows.decide(wish, .row, .touched)
            #expect(decision.kind == .keep)
            #expect(decision.reason == .touched)
            #expect(decision.means == .adoption(sha256: try Content.recorded.digest(.sha256)))
        }
    }

    @Test(arguments: Area.allCases) func aStrangerWithThePinnedBytesIsAdopted(area: Area) throws {
        let decision = try Rows.decide(.sha512OfAnother, .nothing, .wantedBytes, area)
        #expect(decision.kind == .keep)
        #expect(decision.reason == .unrecorded)
        #expect(decision.means == .adoption(sha256: try Content.another.digest(.sha256)))
    }

    @Test(arguments: Area.allCases) func driftToTheWantedBytesIsAdopted(area: Area) throws {
        let decision = try Rows.decide(.pinnedToAnother, .row, .wantedBytes, area)
        #expect(decision.kind == .keep)
        #expect(decision.reason == .unrecorded)
    }

    @Test func aTargetThatChangesHandsIsAdopted() throws {
        let decision = try Rows.decide(.pinnedToRecorded, .row, .intact) {
            $0.record?.owners = Owners("other")
        }
        #expect(decision.reason == .ownedBefore(by: "other"))
        #expect(decision.means == .adoption(sha256: try Content.recorded.digest(.sha256)))
    }

    @Test func aNewModeIsSaidAsSuch() throws {
        let decision = try Rows.decide(.pinnedToRecorded, .row, .intact) {
            $0.resource.isExecutable = true
        }
        #expect(decision.kind == .keep)
        #expect(decision.reason == .modeChanged(isExecutable: true))
    }

    @Test func weakDigestsAreNoPin() throws {
        let decision = try Rows.decide(.unpinnedDue, .row, .intact) {
            $0.resource.digests = [try Content.recorded.digest(.md5)]
        }
        #expect(decision.kind == .revalidate)
    }

    // MARK: Not there

    @Test func anOrphanIsRenamedWhenPruningElseCopied() throws {
        let old = try Target("Caches/old.bin")
        for wish in [DecisionCell.Wish.pinnedToAnother, .unpinnedFresh, .unpinnedDue] {
            let pruned = try Rows.decide(wish, .nothing, .absent, option: .prunes)
            #expect(pruned.kind == .move)
            #expect(pruned.means == .move(of: old))
            let kept = try Rows.decide(wish, .nothing, .absent, option: .orphan)
            #expect(kept.kind == .move)
            #expect(kept.means == .copy(of: old))
            #expect(kept.reason == .orphanHasBytes(old))
        }
    }

    @Test func aWeakOrphanIsNotTheUnpinnedFile() throws {
        let decision = try Rows.decide(.unpinnedFresh, .nothing, .absent, option: .prunes) {
            $0.orphan?.validators = Validators(entityTag: EntityTag("W/\"v1\""))
        }
        #expect(decision.kind == .fetch)
    }

    @Test func aForeignOrphanIsNotUsed() throws {
        let unpinned = try Rows.decide(.unpinnedFresh, .nothing, .absent, option: .prunes) {
            $0.orphan?.provenance = DecisionCell.provenance("elsewhere")
        }
        #expect(unpinned.kind == .fetch)
        let pinned = try Rows.decide(.pinnedToAnother, .nothing, .absent, option: .prunes) {
            $0.orphan?.sha256 = try Content.edited.digest(.sha256)
        }
        #expect(pinned.kind == .fetch)
    }

    @Test func aPostIsNotAnsweredByAnOrphan() throws {
        let decision = try Rows.decide(
            .unpinnedFresh, .nothing, .absent, option: .prunes, changing: Self.post)
        #expect(decision.kind == .fetch)
    }

    @Test func refreshTakesNoRenamedFile() throws {
        let cell = DecisionCell(
            wish: .unpinnedFresh, index: .nothing, tree: .absent, part: .none, area: .caches,
            option: .prunes)
        var reconciler = try cell.reconciler()
        reconciler.everythingIsDue = true
        #expect(reconciler.step(for: try cell.situation(), now: DecisionCell.now).kind == .fetch)
    }

    @Test func orphansDonorsAndPartsComeInOrder() throws {
        let localSource = try Target("Caches/twin.bin")
        let all = try Rows.decide(
            .pinnedToAnother, .nothing, .absent, part: .fitting, option: .prunes
        ) { $0.localSource = localSource }
        #expect(all.kind == .move)
        let two = try Rows.decide(
            .pinnedToAnother, .nothing, .absent, part: .fitting, option: .localSource)
        #expect(two.kind == .copy)
        #expect(two.means == .copy(of: localSource))
        let one = try Rows.decide(.pinnedToAnother, .nothing, .absent, part: .fitting)
        #expect(one.kind == .resume)
        #expect(one.reason == .partAvailable(bytes: 40))
        let none = try Rows.decide(.pinnedToAnother, .nothing, .absent)
        #expect(none.kind == .fetch)
        #expect(none.reason == .missing)
    }

    @Test func aMissingFileIsFetchedWithoutCondition() throws {
        for wish in DecisionCell.Wish.allCases {
            let decision = try Rows.decide(wish, .row, .absent)
            #expect(decision.kind == .fetch)
            #expect(decision.means == Rows.whole)
        }
    }

    // MARK: Options

    @Test func everythingDueExceptPinnedFiles() throws {
        let fresh = try Rows.decide(.unpinnedFresh, .row, .intact, option: .everythingIsDue)
        #expect(fresh.kind == .revalidate)
        #expect(fresh.reason == .due(.asked, at: DecisionCell.now))
        let pinned = try Rows.decide(.pinnedToRecorded, .row, .intact, option: .everythingIsDue)
        #expect(pinned.kind == .keep)
    }

    @Test(arguments: [DecisionCell.Tree.absent, .intact, .touched, .drifted])
    func whatIsRefetchedComesWholeFromItsSource(tree: DecisionCell.Tree) throws {
        let decision = try Rows.decide(
            .pinnedToRecorded, .row, tree, .documents, part: .fitting, option: .refetched
        ) { $0.localSource = try Target("Caches/twin.bin") }
        #expect(decision.kind == .fetch)
        #expect(decision.reason == .refetchAsked)
        #expect(decision.means == Rows.whole)
    }

    @Test func refetchingTouchesNoOtherTarget() throws {
        var reconciler = Reconciler()
        reconciler.refetched = [try Target("Caches/b.bin")]
        let cell = DecisionCell(
            wish: .pinnedToRecorded, index: .row, tree: .intact, part: .none, area: .caches,
            option: .none)
        #expect(reconciler.step(for: try cell.situation(), now: DecisionCell.now).kind == .keep)
    }
}
