@testable import MirrorKit
import Testing

/// Which file is a conflict copy, and how a conflict ends.
@Suite struct ConflictEndingTests {
    private func copy(_ target: String, _ name: String) throws -> ConflictCopy {
        ConflictCopy(target: try Target(target), copy: try Target(name), size: 1)
    }

    @Test(arguments: [
        ("a.mirror-conflict-20261121T035600Z.txt", "a.txt"),
        ("a.mirror-conflict-20261121T035600Z-12.txt", "a.txt"),
        ("a.mirror-conflict-20261121T035600Z", "a"),
        (
            "a.mirror-conflict-20261121T035600Z.mirror-conflict-20261122T035600Z.txt",
            "a.mirror-conflict-20261121T035600Z.txt"
        ),
        ("a.mirror-conflict-20261121T035600Z-.txt", nil),
        ("a.mirror-conflict-2026-11-21.txt", nil),
        ("a.mirror-conflict-notes.txt", nil),
        (".mirror-conflict-20261121T035600Z.txt", nil),
        ("a.txt", nil),
    ])
    func theNameTellsTheTarget(_ name: String, _ target: String?) throws {
        let found = ConflictCopy.target(of: name, in: "Documents", long: [])
        #expect(found?.name == target)
    }

    @Test func cutNamesAreResolvedByFolderTargets() throws {
        let target = try Target("Documents/" + String(repeating: "n", count: 240) + ".txt")
        let other = try Target("Documents/" + String(repeating: "m", count: 240) + ".txt")
        let copy = try #require(
            ConflictCopy.make(for: target, at: Instant(seconds: 1_000_000), attempt: 3))
        #expect(
            ConflictCopy.target(of: copy.name, in: "Documents", long: [other, target]) == target)
        // Whoever asks may know a target twice, and the copy, too.
        let known = [target, other, target, copy]
        #expect(ConflictCopy.target(of: copy.name, in: "Documents", long: known) == target)
    }

    /// A copy's bytes would be given to another target, and that one's removed.
    @Test func aLongTargetIsNotTheWholeName() throws {
        let long = try Target("Documents/abb" + String(repeating: "b", count: 230) + ".txt")
        let target = try Target("Documents/a.txt")
        let copy = try #require(ConflictCopy.make(for: target, at: Instant(seconds: 5)))
        #expect(ConflictCopy.target(of: copy.name, in: "Documents", long: [long]) == target)
    }

    @Test func aNameCutFromTwoTargetsIsAmbiguous() throws {
        let stem = String(repeating: "n", count: 240)
        let twins = [try Target("Documents/\(stem)1.txt"), try Target("Documents/\(stem)2.txt")]
        let copy = try #require(ConflictCopy.make(for: twins[0], at: Instant(seconds: 5)))
        #expect(copy == ConflictCopy.make(for: twins[1], at: Instant(seconds: 5)))
        #expect(ConflictCopy.target(of: copy.name, in: "Documents", long: twins) == nil)
    }

    @Test func everyNameThatIsMadeIsKnown() throws {
        for path in ["Documents/a.txt", "Caches/x/.hidden", "tmp/no extension"] {
            let target = try Target(path)
            let copy = try #require(ConflictCopy.make(for: target, at: Instant(seconds: 5)))
            #expect(ConflictCopy.mayBe(copy.name))
            #expect(ConflictCopy.target(of: copy.name, in: target.folder, long: []) == target)
        }
    }

    @Test func theirsRemovesAllCopies() throws {
        let copies = [
            try copy("Documents/a", "Documents/a1"), try copy("Documents/a", "Documents/a2"),
        ]
        let ending = try ResolveReport.decide(
            try Target("Documents/a"), keeping: .theirs, among: copies, root: "/r")
        #expect(ending.removed == copies)
        #expect(ending.restored == nil)
    }

    @Test func mineTakesTheOnlyOrNamedCopy() throws {
        let copies = [
            try copy("Documents/a", "Documents/a1"), try copy("Documents/a", "Documents/a2"),
        ]
        let error = #expect(throws: MirrorError.self) {
            try ResolveReport.decide(
                try Target("Documents/a"), keeping: .mine, among: copies, root: "/r")
        }
        #expect(error?.message.contains("Documents/a1, Documents/a2") == true)
        let ending = try ResolveReport.decide(
            try Target("Documents/a2"), keeping: .mine, among: copies, root: "/r")
        #expect(ending.restored == copies[1])
        #expect(ending.removed.isEmpty)
        #expect(ending.target == copies[1].target)
    }

    @Test func whatWouldBeFetchedAgainIsNotRestored() throws {
        let error = #expect(throws: MirrorError.self) {
            try ResolveReport.decide(
                try Target("Caches/a"), keeping: .mine, among: [try copy("Caches/a", "Caches/a1")],
                root: "/r")
        }
        #expect(error?.remedy == Remedy(.keepTheirs))
    }

    @Test func anotherTargetSuggestsTheNearest() throws {
        let copies = [try copy("Documents/rules.txt", "Documents/r1")]
        let error = #expect(throws: MirrorError.self) {
            try ResolveReport.decide(
                try Target("Documents/rule.txt"), keeping: .theirs, among: copies, root: "/r")
        }
        #expect(error?.message.hasSuffix("Did you mean Documents/rules.txt?") == true)
    }
}
