@testable import MirrorKit
import Testing

/// What happens with a verified body, by what its step found at the target.
@Suite struct ArrivalTests {
    static func judge(
        _ wish: DecisionCell.Wish, _ index: DecisionCell.Index, _ tree: DecisionCell.Tree,
        _ area: Area = .caches, part: DecisionCell.Part = .none,
        option: DecisionCell.Option = .none, arriving content: Content, tag: String? = nil,
        wasResumed: Bool = false, changing: (inout Situation) throws -> Void = { _ in }
    ) throws -> (stays: Bool, outcome: Outcome, reason: Reason) {
        let decision = try ReconcilerRowTests.decide(
            wish, index, tree, area, part: part, option: option, changing: changing)
        let step = Step(
            target: try Target("\(area.rawValue)/a.bin"), manifest: 0, resource: 0,
            kind: decision.kind, reason: decision.reason, means: decision.means,
            existing: decision.existing, size: nil)
        return step.arrival(
            of: try content.digest(.sha256),
            validators: Validators(entityTag: tag.flatMap(EntityTag.init)),
            wasResumed: wasResumed)
    }

    @Test(arguments: [
        DecisionCell.Wish.unpinnedDue, .unpinnedFromAnotherSource, .unpinnedOfAnotherSize,
    ])
    func equalBytesLeaveTheFileAlone(wish: DecisionCell.Wish) throws {
        for tree in [DecisionCell.Tree.intact, .touched] {
            let arrival = try Self.judge(wish, .row, tree, arriving: .recorded)
            #expect(arrival == (true, .unchanged, .sameBytes))
        }
    }

    @Test func afterALostIndexEqualBytesAreUnchanged() throws {
        let arrival = try Self.judge(
            .unpinnedDue, .nothing, .intact, .documents, arriving: .recorded)
        #expect(arrival == (true, .unchanged, .sameBytes))
    }

    @Test(arguments: Area.allCases) func aStrangerWithOtherBytesIsAConflict(area: Area) throws {
        let unpinned = try Self.judge(.unpinnedDue, .nothing, .drifted, area, arriving: .recorded)
        #expect(unpinned == (false, .conflict, .untrackedOfUnknownVersion))
        let pinned = try Self.judge(
            .pinnedToRecorded, .nothing, .drifted, area, arriving: .recorded)
        #expect(pinned == (false, .conflict, .untracked))
    }

    @Test func anEditedDocumentStaysWhenOurVersionArrives() throws {
        let arrival = try Self.judge(
            .unpinnedDue, .row, .drifted, .documents, arriving: .recorded)
        #expect(arrival == (true, .edited, .sameBytes))
    }

    /// `refresh` is `always` by default and many servers send no validator: the edit must survive.
    @Test func anEditStaysWithoutAValidatorToo() throws {
        let arrival = try Self.judge(
            .unpinnedDue, .row, .drifted, .documents, arriving: .recorded
        ) { $0.record?.validators = Validators() }
        #expect(arrival == (true, .edited, .sameBytes))
        let unknown = try Self.judge(
            .unpinnedDue, .row, .drifted, .documents, arriving: .recorded
        ) { $0.record?.provenance = nil }
        #expect(unknown == (true, .edited, .sameBytes))
        let post = try Self.judge(
            .unpinnedDue, .row, .drifted, .documents, arriving: .recorded,
            changing: ReconcilerOptionTests.post)
        #expect(post == (true, .edited, .sameBytes))
    }

    @Test func anEditBecomesAConflictWithAnotherVersion() throws {
        let arrival = try Self.judge(.unpinnedDue, .row, .drifted, .documents, arriving: .another)
        #expect(arrival == (false, .conflict, .editedAndChanged))
    }

    @Test func theEditItselfFromTheServerIsUnchanged() throws {
        let arrival = try Self.judge(.unpinnedDue, .row, .drifted, .documents, arriving: .edited)
        #expect(arrival == (true, .unchanged, .sameBytes))
    }

    @Test func anEditOfAnotherPinConflicts() throws {
        let arrival = try Self.judge(
            .pinnedToAnother, .row, .drifted, .documents, arriving: .another)
        #expect(arrival == (false, .conflict, .editedAndChanged))
    }

    @Test func aChangedTagExplainsAnUpdate() throws {
        let (old, new) = (try #require(EntityTag("\"v1\"")), try #require(EntityTag("\"v2\"")))
        let changed = try Self.judge(
            .unpinnedDue, .row, .intact, arriving: .another, tag: "\"v2\"")
        #expect(changed == (false, .updated, .entityTagChanged(from: old, to: new)))
        let same = try Self.judge(.unpinnedDue, .row, .intact, arriving: .another, tag: "\"v1\"")
        #expect(same == (false, .updated, .bytesChanged))
        let none = try Self.judge(.unpinnedDue, .row, .intact, arriving: .another)
        #expect(none == (false, .updated, .bytesChanged))
    }

    @Test(arguments: [false, true]) func onlyAMissingFileIsCalledResumed(wasResumed: Bool) throws {
        let missing = try Self.judge(
            .pinnedToAnother, .nothing, .absent, part: .fitting, arriving: .another,
            wasResumed: wasResumed)
        #expect(
            missing == (false, wasResumed ? .resumed : .fetched, .partAvailable(bytes: 40)))
        let repaired = try Self.judge(
            .pinnedToRecorded, .row, .drifted, part: .fitting, arriving: .recorded,
            wasResumed: wasResumed)
        #expect(repaired == (false, .repaired, .drifted))
        let updated = try Self.judge(
            .unpinnedFromAnotherSource, .row, .intact, part: .fitting, arriving: .another,
            wasResumed: wasResumed)
        #expect(updated == (false, .updated, .sourceChanged(to: DecisionCell.key("new"))))
    }

    @Test func refetchingOverAnEditKeepsTheEditAside() throws {
        let arrival = try Self.judge(
            .pinnedToRecorded, .row, .drifted, .documents, option: .refetched, arriving: .recorded)
        #expect(arrival == (false, .conflict, .refetchAsked))
    }

    @Test func localBytesAreCopiedOrMoved() throws {
        let copy = try Self.judge(
            .pinnedToAnother, .nothing, .absent, option: .localSource, arriving: .another)
        #expect(copy == (false, .copied, .sameBytesAt(try Target("Caches/twin.bin"))))
        let move = try Self.judge(
            .pinnedToAnother, .nothing, .absent, option: .prunes, arriving: .another)
        #expect(move == (false, .moved, .orphanHasBytes(try Target("Caches/old.bin"))))
    }
}
