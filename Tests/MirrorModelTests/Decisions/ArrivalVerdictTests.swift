import MirrorModel
import Testing

/// What happens with a verified body, by what its step found at the target.
@Suite struct ArrivalVerdictTests {
    static func judge(
        _ wish: DecisionCell.Wish, _ index: DecisionCell.Index, _ tree: DecisionCell.Tree,
        _ area: Area = .caches, part: DecisionCell.Part = .none,
        option: DecisionCell.Option = .none, arriving content: Content, tag: String? = nil,
        wasResumed: Bool = false, changing: (inout Situation) throws -> Void = { _ in }
    ) throws -> ArrivalVerdict {
        let decision = try ReconcilerRowTests.decide(
            wish, index, tree, area, part: part, option: option, changing: changing)
        let step = Step(
            target: try Target("\(area.rawValue)/a.bin"), manifest: 0, resource: 0,
            kind: decision.kind, reason: decision.reason, means: decision.means,
            existing: decision.existing, size: nil)
        return ArrivalVerdict.judge(
            step, sha256: try content.digest(.sha256),
            validators: Validators(entityTag: tag.flatMap(EntityTag.init)),
            wasResumed: wasResumed)
    }

    @Test(arguments: [
        DecisionCell.Wish.unpinnedDue, .unpinnedFromAnotherSource, .unpinnedOfAnotherSize,
    ])
    func theBytesThatWeHaveLeaveTheFileAlone(wish: DecisionCell.Wish) throws {
        for tree in [DecisionCell.Tree.intact, .touched] {
            let verdict = try Self.judge(wish, .row, tree, arriving: .recorded)
            #expect(verdict == .leave(.unchanged, .sameBytes))
        }
    }

    @Test func afterALostIndexTheSameBytesAreUnchanged() throws {
        let verdict = try Self.judge(
            .unpinnedDue, .nothing, .intact, .documents, arriving: .recorded)
        #expect(verdict == .leave(.unchanged, .sameBytes))
    }

    @Test(arguments: Area.allCases) func aStrangerWithOtherBytesIsAConflict(area: Area) throws {
        let unpinned = try Self.judge(.unpinnedDue, .nothing, .drifted, area, arriving: .recorded)
        #expect(unpinned == .land(.conflict, .untrackedOfUnknownVersion))
        let pinned = try Self.judge(
            .pinnedToRecorded, .nothing, .drifted, area, arriving: .recorded)
        #expect(pinned == .land(.conflict, .untracked))
    }

    @Test func anEditedDocumentStaysWhenOurVersionArrives() throws {
        let verdict = try Self.judge(
            .unpinnedDue, .row, .drifted, .documents, arriving: .recorded)
        #expect(verdict == .leave(.edited, .sameBytes))
    }

    /// `refresh` is `always` by default and many servers send no validator: the edit must survive.
    @Test func anEditedDocumentStaysAlsoWhereThereIsNoValidator() throws {
        let verdict = try Self.judge(
            .unpinnedDue, .row, .drifted, .documents, arriving: .recorded
        ) { $0.record?.validators = Validators() }
        #expect(verdict == .leave(.edited, .sameBytes))
        let unknown = try Self.judge(
            .unpinnedDue, .row, .drifted, .documents, arriving: .recorded
        ) { $0.record?.provenance = nil }
        #expect(unknown == .leave(.edited, .sameBytes))
        let post = try Self.judge(
            .unpinnedDue, .row, .drifted, .documents, arriving: .recorded,
            changing: ReconcilerOptionTests.post)
        #expect(post == .leave(.edited, .sameBytes))
    }

    @Test func anEditedDocumentIsAConflictWhenAnotherVersionArrives() throws {
        let verdict = try Self.judge(.unpinnedDue, .row, .drifted, .documents, arriving: .another)
        #expect(verdict == .land(.conflict, .editedAndChanged))
    }

    @Test func theEditItselfFromTheServerIsUnchanged() throws {
        let verdict = try Self.judge(.unpinnedDue, .row, .drifted, .documents, arriving: .edited)
        #expect(verdict == .leave(.unchanged, .sameBytes))
    }

    @Test func anEditedDocumentOfAnotherPinIsAConflict() throws {
        let verdict = try Self.judge(
            .pinnedToAnother, .row, .drifted, .documents, arriving: .another)
        #expect(verdict == .land(.conflict, .editedAndChanged))
    }

    @Test func aChangedTagIsTheReasonOfAnUpdate() throws {
        let (old, new) = (try #require(EntityTag("\"v1\"")), try #require(EntityTag("\"v2\"")))
        let changed = try Self.judge(
            .unpinnedDue, .row, .intact, arriving: .another, tag: "\"v2\"")
        #expect(changed == .land(.updated, .entityTagChanged(from: old, to: new)))
        let same = try Self.judge(.unpinnedDue, .row, .intact, arriving: .another, tag: "\"v1\"")
        #expect(same == .land(.updated, .bytesChanged))
        let none = try Self.judge(.unpinnedDue, .row, .intact, arriving: .another)
        #expect(none == .land(.updated, .bytesChanged))
    }

    @Test(arguments: [false, true]) func onlyAMissingFileIsCalledResumed(wasResumed: Bool) throws {
        let missing = try Self.judge(
            .pinnedToAnother, .nothing, .absent, part: .fitting, arriving: .another,
            wasResumed: wasResumed)
        #expect(
            missing == .land(wasResumed ? .resumed : .fetched, .partAvailable(bytes: 40)))
        let repaired = try Self.judge(
            .pinnedToRecorded, .row, .drifted, part: .fitting, arriving: .recorded,
            wasResumed: wasResumed)
        #expect(repaired == .land(.repaired, .drifted))
        let updated = try Self.judge(
            .unpinnedFromAnotherSource, .row, .intact, part: .fitting, arriving: .another,
            wasResumed: wasResumed)
        #expect(updated == .land(.updated, .sourceChanged(to: DecisionCell.key("new"))))
    }

    @Test func refetchingOverAnEditKeepsTheEditAside() throws {
        let verdict = try Self.judge(
            .pinnedToRecorded, .row, .drifted, .documents, option: .refetched, arriving: .recorded)
        #expect(verdict == .land(.conflict, .refetchAsked))
    }

    @Test func whatComesFromTheTreeIsCopiedOrMoved() throws {
        let copy = try Self.judge(
            .pinnedToAnother, .nothing, .absent, option: .localSource, arriving: .another)
        #expect(copy == .land(.copied, .sameBytesAt(try Target("Caches/twin.bin"))))
        let move = try Self.judge(
            .pinnedToAnother, .nothing, .absent, option: .prunes, arriving: .another)
        #expect(move == .land(.moved, .orphanHasBytes(try Target("Caches/old.bin"))))
    }
}
