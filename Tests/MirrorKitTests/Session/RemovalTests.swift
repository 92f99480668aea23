import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Orphans that cannot be removed.
@Suite(.timeLimit(.minutes(15))) struct RemovalTests {
    @Test func anOrphanChangedAfterThePlanIsKept() async throws {
        let rig = try SessionRig()
        let kept = try rig.resource("Caches/kept", [1])
        let orphan = try rig.resource("Caches/orphan", [2])
        try await rig.session.sync(Manifest(name: "m", resources: [kept, orphan]))
        var planning = PlanOptions()
        planning.prune = true
        let plan = try await rig.session.plan(
            Manifest(name: "m", resources: [kept]), options: planning)
        #expect(plan.steps.contains { $0.kind == .remove })
        try rig.folder.write([3], to: "root/Caches/orphan")
        var failures: [Event.Failed] = []
        var summary = Summary()
        for try await event in rig.session.execute(plan) {
            switch event.body {
            case .failed(let failed): failures.append(failed)
            case .summary(let last): summary = last
            default: break
            }
        }
        #expect(failures.map(\.target.path) == ["Caches/orphan"])
        #expect(failures.first?.error.code == .conflict)
        #expect(failures.first?.step == .remove)
        #expect(rig.bytes("Caches/orphan") == [3])
        #expect(summary.exit == 1)
        // An orphan is no resource.
        #expect(summary[.failed] == 0)
        #expect(summary.orphans == 1)
        #expect(summary.removed == 0)
    }

    /// As on a file system that folds case: every spelling leads to one file.
    @Test(
        arguments: [
            ("Caches/Map", "Caches/map", "Caches/mAP"),
            ("Caches/STRASSE/a", "Caches/straße/A", "Caches/STRASSE/A"),
            ("Caches/КАРТА", "Caches/карта", "Caches/КАРТа"),
            ("Caches/Maps/12", "Caches/maps/12", "Caches/mAPS/12"),
        ], [true, false])
    func aChangeOfCaseRemovesNoFile(
        spellings: (old: String, new: String, other: String), isPinned: Bool
    ) async throws {
        let (old, new, other) = spellings
        let rig = try SessionRig()
        var resource = try rig.resource("Caches/source", [1])
        resource.target = try Target(old)
        if isPinned { resource.digests = [ByteHasher.digest(.sha256, of: [1])] }
        try await rig.session.sync(Manifest(name: "m", resources: [resource]))
        for name in [new, other] {
            mkdir(rig.folder.path + "/root/" + PathText.folder(of: name), 0o755)
            #expect(link(rig.folder.path + "/root/" + old, rig.folder.path + "/root/" + name) == 0)
        }
        var planning = PlanOptions()
        planning.prune = true
        // It is one file, and counts once.
        planning.quota = 1
        resource.target = try Target(new)
        let manifest = Manifest(name: "m", resources: [resource])
        let plan = try await rig.session.plan(manifest, options: planning)
        #expect(plan.steps.map(\.kind) == [isPinned ? .keep : .fetch])
        for try await _ in rig.session.execute(plan) {}
        #expect(rig.bytes(new) == [1])
        #expect(rig.bytes(old) == [1])
        let next = try await rig.session.plan(manifest, options: planning)
        #expect(next.steps.count == 1)
        #expect(next.steps.first?.target.path == new)
        for try await _ in rig.session.execute(next) {}
        #expect(rig.bytes(new) == [1])
        // Its row is gone by now, so that without the other names there is nothing to do but to keep it.
        for name in [old, other] { unlink(rig.folder.path + "/root/" + name) }
        let last = try await rig.session.plan(manifest, options: planning)
        #expect(last.forgotten.isEmpty)
    }

    @Test func aRespelledFilesOldNameIsForgotten() async throws {
        let rig = try SessionRig()
        let folder = rig.folder.path + "/root/"
        var resource = try rig.resource("Caches/Map", [1])
        try await rig.session.sync(Manifest(name: "m", resources: [resource]))
        for name in ["Caches/map", "Caches/mAP"] {
            #expect(link(folder + "Caches/Map", folder + name) == 0)
        }
        _ = try rig.resource("Caches/Map", [2])
        resource.target = try Target("Caches/map")
        let manifest = Manifest(name: "m", resources: [resource])
        var planning = PlanOptions()
        planning.prune = true
        let plan = try await rig.session.plan(manifest, options: planning)
        for try await _ in rig.session.execute(plan) {}
        #expect(rig.bytes("Caches/map") == [2])
        // Where case is folded, the old name leads to the new file now.
        for name in ["Caches/Map", "Caches/mAP"] {
            unlink(folder + name)
            #expect(link(folder + "Caches/map", folder + name) == 0)
        }
        let next = try await rig.session.plan(manifest, options: planning)
        #expect(next.forgotten.map(\.path) == ["Caches/Map"])
        #expect(!next.steps.contains { $0.kind == .remove })
        for try await _ in rig.session.execute(next) {}
        #expect(rig.bytes("Caches/map") == [2])
        #expect(try await rig.session.plan(manifest, options: planning).forgotten.isEmpty)
    }

    @Test func theOldSpellingIsNoSourceOfAnother() async throws {
        let rig = try SessionRig()
        let folder = rig.folder.path + "/root/"
        var resource = try rig.resource("Caches/Map", [1])
        resource.digests = [ByteHasher.digest(.sha256, of: [1])]
        try await rig.session.sync(Manifest(name: "m", resources: [resource]))
        for name in ["Caches/map", "Caches/mAP"] {
            #expect(link(folder + "Caches/Map", folder + name) == 0)
        }
        // A link changes the time of the last change, which the row is to know.
        try await rig.session.sync(Manifest(name: "m", resources: [resource]))
        var another = resource
        another.target = try Target("Documents/another")
        resource.target = try Target("Caches/map")
        let plan = try await rig.session.plan(Manifest(name: "m", resources: [resource, another]))
        #expect(plan.forgotten.map(\.path) == ["Caches/Map"])
        let step = try #require(plan.steps.first { $0.target == another.target })
        #expect(step.means != .copy(of: try Target("Caches/Map")))
        for try await _ in rig.session.execute(plan) {}
        #expect(rig.bytes("Documents/another") == [1])
    }

    @Test func anAdoptedFilesOtherNameGoes() async throws {
        let rig = try SessionRig()
        var resource = try rig.resource("Caches/old", [1])
        resource.digests = [ByteHasher.digest(.sha256, of: [1])]
        try await rig.session.sync(Manifest(name: "m", resources: [resource]))
        resource.target = try Target("Caches/new")
        #expect(
            link(rig.folder.path + "/root/Caches/old", rig.folder.path + "/root/Caches/new") == 0)
        var planning = PlanOptions()
        planning.prune = true
        let plan = try await rig.session.plan(
            Manifest(name: "m", resources: [resource]), options: planning)
        #expect(plan.steps.map(\.kind) == [.keep, .remove])
        for try await _ in rig.session.execute(plan) {}
        #expect(rig.bytes("Caches/new") == [1])
        #expect(rig.bytes("Caches/old") == nil)
    }
}
