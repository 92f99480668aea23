import Testing

@testable import MirrorKit

/// Which steps of a plan are one set, and whether it has a folder to itself.
@Suite struct AtomicSetsTests {
    private func plan(
        _ manifests: [(name: String, isAtomic: Bool, paths: [String])],
        orphans: [(path: String, manifest: Int)] = [], shared: [String: [String]] = [:]
    ) throws -> Plan {
        var steps: [Step] = []
        for (number, manifest) in manifests.enumerated() {
            for (resource, path) in manifest.paths.enumerated() {
                steps.append(
                    Step(
                        target: try Target(path), manifest: number, resource: resource,
                        kind: .fetch, reason: .missing,
                        means: .transfer(part: nil, ifChangedSince: nil), existing: .nothing,
                        size: nil))
            }
        }
        let stamp = FileStamp(size: 1, modified: 1, changed: 1, inode: 1)
        let sha256 = try #require(Digest(.sha256, bytes: Array(repeating: 1, count: 32)))
        for (path, manifest) in orphans {
            steps.append(
                Step(
                    target: try Target(path), manifest: manifest, resource: nil, kind: .remove,
                    reason: .orphan(of: "m"), means: .removal,
                    existing: .ours(stamp, sha256: sha256), size: 1))
        }
        let made = try manifests.map { manifest in
            var made = Manifest(
                name: manifest.name,
                resources: try manifest.paths.map {
                    Resource(
                        target: try Target($0), url: try SourceURL("http://a.example/" + $0))
                })
            made.isAtomic = manifest.isAtomic
            return made
        }
        var plan = Plan(
            root: "/r", manifests: made, steps: steps.sorted { $0.target < $1.target },
            now: Instant(seconds: 0), orphansLeft: 0)
        for (path, owners) in shared { plan.owners[try Target(path)] = Owners(owners) }
        return plan
    }

    @Test func withoutAnAtomicManifestThereIsNoSet() throws {
        let plan = try plan([("m", false, ["Caches/a/f"])])
        #expect(AtomicSets(plan).isEmpty)
        #expect(AtomicSets(plan).set(of: 0, in: plan) == nil)
    }

    @Test(
        arguments: [
            (["Caches/a/f", "Caches/a/g"], "Caches/a"),
            (["Caches/a/b/f", "Caches/a/c/g"], "Caches/a"),
            (["Caches/a/b/f"], "Caches/a/b"),
            (["Caches/a/f", "Caches/ab/f"], nil),
            (["Caches/f"], nil),
            (["Caches/a/f", "Documents/a/f"], nil),
            (["Caches/a\u{301}/f", "Caches/\u{e1}/f"], nil),
        ] as [([String], String?)])
    func aSetsFolderHoldsAllOfIt(paths: [String], folder: String?) throws {
        let plan = try plan([("m", true, paths)])
        #expect(AtomicSets(plan).entries == [.init(owners: ["m"], folder: folder)])
    }

    @Test func anOrphanBelongsToTheSet() throws {
        let plan = try plan(
            [("m", true, ["Caches/a/b/f"])], orphans: [("Caches/a/old", 0)])
        #expect(AtomicSets(plan).entries.map(\.folder) == ["Caches/a"])
        #expect(AtomicSets(plan).set(of: 1, in: plan) == 0)
    }

    @Test(arguments: [("Caches/a/g", nil), ("Caches/b/g", "Caches/a")])
    func aFolderOfAnotherManifestIsNotExchanged(other: String, folder: String?) throws {
        let plan = try plan([("m", true, ["Caches/a/f", "Caches/a/h"]), ("n", false, [other])])
        let sets = AtomicSets(plan)
        #expect(sets.entries == [.init(owners: ["m"], folder: folder)])
        let position = try #require(plan.steps.position(of: try Target(other)))
        #expect(sets.set(of: position, in: plan) == nil)
    }

    @Test func eachAtomicManifestIsASet() throws {
        let plan = try plan([("m", true, ["Caches/a/f"]), ("n", true, ["Caches/b/f"])])
        #expect(AtomicSets(plan).entries.map(\.owners) == [["m"], ["n"]])
    }

    @Test func atomicManifestsWithASharedTargetAreOne() throws {
        let plan = try plan(
            [
                ("l", true, ["Caches/c/f"]), ("m", true, ["Caches/a/f"]),
                ("n", true, ["Caches/b/f"]),
            ],
            shared: ["Caches/b/f": ["m", "n"]])
        let sets = AtomicSets(plan)
        #expect(sets.entries.map(\.owners) == [["l"], ["m", "n"]])
        #expect(sets.entries.map(\.folder) == ["Caches/c", nil])
    }

    @Test func aSharedTargetBelongsToItsSet() throws {
        let plan = try plan(
            [("m", true, ["Caches/a/f"]), ("n", false, ["Caches/b/f"])],
            shared: ["Caches/b/f": ["m", "n"]])
        let sets = AtomicSets(plan)
        #expect(sets.set(of: 1, in: plan) == 0)
        #expect(sets.entries.map(\.folder) == [nil])
    }

    @Test func whatMakesRoomIsOfNoSet() throws {
        var plan = try plan([("m", true, ["Caches/a/f"])], orphans: [("Caches/b", 0)])
        plan.steps = StepList(
            plan.steps.map { step in
                var step = step
                if step.means == .removal { step.kind = .evicted }
                return step
            })
        let sets = AtomicSets(plan)
        #expect(sets.set(of: 1, in: plan) == nil)
        #expect(sets.entries.map(\.folder) == ["Caches/a"])
    }
}
