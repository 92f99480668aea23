import Glibc
import MirrorTestSupport
import Testing

@testable import MirrorKit

/// A plan that is carried out after the tree has changed, or in another root.
@Suite(.timeLimit(.minutes(15))) struct OldPlanTests {
    private let bytes = TestBytes.make(70_000, seed: 1)

    /// A file that is pinned, one that is fresh, and a manifest of both.
    private func synced(_ rig: SessionRig) async throws -> Manifest {
        var pinned = try rig.resource("Caches/pinned.bin", bytes)
        pinned.size = Int64(bytes.count)
        pinned.digests = [ByteHasher.digest(.sha256, of: bytes)]
        var fresh = try rig.resource("Documents/fresh.bin", [1, 2, 3])
        fresh.refresh = .never
        let manifest = Manifest(name: "m", resources: [pinned, fresh])
        _ = try await rig.session.sync(manifest)
        return manifest
    }

    private func remove(_ path: String, _ rig: SessionRig) {
        #expect(unlink(rig.session.root + "/" + path) == 0)
    }

    private struct Ends {
        var done: [String: Outcome] = [:]
        var failed: [String: MirrorError] = [:]
        var summary = Summary()
    }

    private func ends(
        of plan: Plan, in session: MirrorSession, reportsKept: Bool = true
    ) async throws -> Ends {
        var options = RunOptions()
        options.reportsKept = reportsKept
        var ends = Ends()
        for try await event in session.execute(plan, options: options) {
            switch event.body {
            case .done(let done): ends.done[done.target.path] = done.outcome
            case .failed(let failed): ends.failed[failed.target.path] = failed.error
            case .summary(let summary): ends.summary = summary
            default: break
            }
        }
        return ends
    }

    @Test(arguments: ["Caches/pinned.bin", "Documents/fresh.bin"], [true, false])
    func aFileThatIsGoneIsNotKept(path: String, reportsKept: Bool) async throws {
        let rig = try SessionRig()
        let manifest = try await synced(rig)
        let plan = try await rig.session.plan(manifest)
        #expect(plan.steps.map(\.kind) == [.keep, .keep])
        remove(path, rig)
        let ends = try await ends(of: plan, in: rig.session, reportsKept: reportsKept)
        #expect(ends.failed.keys.sorted() == [path])
        #expect(ends.failed[path]?.code == .sourceChanged)
        #expect(ends.failed[path]?.message.contains("removed") == true)
        #expect(ends.done.count == (reportsKept ? 1 : 0))
        #expect(ends.summary[.kept] == 1)
        #expect(ends.summary[.failed] == 1)
        #expect(ends.summary.resources == 2)
        #expect(ends.summary.exit == 69)
        // A new plan brings the file back.
        #expect(try await rig.session.sync(manifest).exit == 0)
        #expect(rig.bytes(path) != nil)
    }

    @Test(arguments: ["Caches/pinned.bin", "Documents/fresh.bin"])
    func aFileThatWasEditedIsNotKept(path: String) async throws {
        let rig = try SessionRig()
        let plan = try await rig.session.plan(try await synced(rig))
        try rig.folder.write("edited", to: "root/" + path)
        let ends = try await ends(of: plan, in: rig.session)
        #expect(ends.failed[path]?.code == .sourceChanged)
        #expect(ends.failed[path]?.message.contains("changed") == true)
        #expect(ends.summary[.kept] == 1)
        #expect(ends.summary.exit == 69)
    }

    /// The file is as its row says, and that is another version's row by now.
    @Test func filesReplacedByAnotherRunAreNotKept() async throws {
        let rig = try SessionRig()
        let manifest = try await synced(rig)
        let plan = try await rig.session.plan(manifest)
        let other = try rig.resource("Caches/pinned.bin", [4, 5, 6])
        var planning = PlanOptions()
        planning.refetch = [other.target]
        _ = try await rig.session.sync(
            Manifest(name: "m", resources: [other]), planning: planning)
        #expect(rig.bytes("Caches/pinned.bin") == [4, 5, 6])
        let ends = try await ends(of: plan, in: rig.session)
        #expect(ends.failed["Caches/pinned.bin"]?.code == .sourceChanged)
    }

    @Test func oldPlansKeepUntouchedFiles() async throws {
        let rig = try SessionRig()
        let manifest = try await synced(rig)
        let plan = try await rig.session.plan(manifest)
        for _ in 1...2 {
            let ends = try await ends(of: plan, in: rig.session)
            #expect(ends.done == ["Caches/pinned.bin": .kept, "Documents/fresh.bin": .kept])
            #expect(ends.summary.exit == 0)
        }
    }

    @Test func whatIsGoneIsNotConfirmed() async throws {
        let rig = try SessionRig()
        let resource = try rig.resource("Caches/due.bin", bytes)
        let manifest = Manifest(name: "m", resources: [resource])
        _ = try await rig.session.sync(manifest)
        let plan = try await rig.session.plan(manifest)
        #expect(plan.steps.map(\.kind) == [.revalidate])
        remove("Caches/due.bin", rig)
        let ends = try await ends(of: plan, in: rig.session)
        #expect(rig.origin.requests.last == "GET /due.bin 304")
        #expect(ends.done.isEmpty)
        #expect(ends.failed["Caches/due.bin"]?.code == .sourceChanged)
        #expect(ends.summary.exit == 69)
        #expect(try await rig.session.sync(manifest)[.fetched] == 1)
    }

    @Test func whatIsGoneIsNotStale() async throws {
        let rig = try SessionRig()
        let resource = try rig.resource("Caches/due.bin", bytes)
        let manifest = Manifest(name: "m", resources: [resource])
        _ = try await rig.session.sync(manifest)
        let plan = try await rig.session.plan(manifest)
        remove("Caches/due.bin", rig)
        var options = RunOptions()
        options.offline = true
        options.staleOK = true
        var summary = Summary()
        for try await event in rig.session.execute(plan, options: options) {
            if case .summary(let last) = event.body { summary = last }
        }
        #expect(summary[.stale] == 0)
        #expect(summary[.failed] == 1)
        #expect(summary.exit == 69)
    }

    @Test func aVanishedEditIsNotReportedAsKept() async throws {
        let rig = try SessionRig()
        let manifest = try await synced(rig)
        try rig.folder.write("edited", to: "root/Documents/fresh.bin")
        let plan = try await rig.session.plan(manifest)
        #expect(plan.steps.map(\.kind) == [.keep, .edited])
        remove("Documents/fresh.bin", rig)
        let ends = try await ends(of: plan, in: rig.session)
        #expect(ends.failed["Documents/fresh.bin"]?.code == .sourceChanged)
        #expect(ends.summary[.edited] == 0)
    }

    @Test(arguments: [true, false])
    func aPlanRunsInItsOwnRootOnly(isThere: Bool) async throws {
        let rig = try SessionRig()
        let plan = try await rig.session.plan(try await synced(rig))
        let path = rig.folder.path + "/other"
        if isThere { try rig.folder.write("", to: "other/file") }
        let other = try MirrorSession(root: path)
        let error = await #expect(throws: MirrorError.self) {
            for try await _ in other.execute(plan) {}
        }
        #expect(error?.code == .rootUnusable)
        #expect(error?.message.contains(rig.session.root) == true)
        // Nothing was made there.
        #expect(rig.folder.names(in: "other") == (isThere ? ["file"] : []))
    }

    /// Where there was no folder when the plan was made, its path says which root was meant.
    @Test func aPlanBelongsToItsMissingRoot() async throws {
        let rig = try SessionRig()
        let manifest = Manifest(
            name: "m", resources: [try rig.resource("Caches/a.bin", [1, 2, 3])])
        let plan = try await rig.session.plan(manifest)
        let other = try MirrorSession(root: rig.folder.path + "/other")
        let error = await #expect(throws: MirrorError.self) {
            for try await _ in other.execute(plan) {}
        }
        #expect(error?.code == .rootUnusable)
        #expect(try await ends(of: plan, in: rig.session).summary.exit == 0)
        #expect(rig.bytes("Caches/a.bin") == [1, 2, 3])
    }

    @Test func theFolderCountsAndNotItsPath() async throws {
        let rig = try SessionRig()
        let manifest = try await synced(rig)
        let plan = try await rig.session.plan(manifest)
        let respelled = try MirrorSession(root: rig.folder.path + "/./root")
        #expect(try await ends(of: plan, in: respelled).summary.exit == 0)
        #expect(rename(rig.session.root, rig.folder.path + "/moved") == 0)
        let moved = try MirrorSession(root: rig.folder.path + "/moved")
        #expect(try await ends(of: plan, in: moved).summary.exit == 0)
        // Another folder in its place is not the one that was planned for.
        try rig.folder.write("", to: "root/file")
        let error = await #expect(throws: MirrorError.self) {
            for try await _ in rig.session.execute(plan) {}
        }
        #expect(error?.code == .rootUnusable)
    }
}
