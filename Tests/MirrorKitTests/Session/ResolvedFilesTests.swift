import MirrorTestSupport
import Testing

@testable import MirrorKit

/// The files that lost a conflict, until a week is over.
@Suite struct ResolvedFilesTests {
    private func resolve(keeping side: ConflictSide) async throws -> (SessionRig, ResolveReport) {
        let rig = try SessionRig()
        let resource = try rig.resource("Documents/x/a", [1])
        try rig.folder.write("mine", to: "root/Documents/x/a")
        try await rig.session.sync(Manifest(name: "m", resources: [resource]))
        let report = try await ConflictResolution(of: resource.target, keeping: side)
            .carryOut(in: rig.session)
        return (rig, report)
    }

    @Test func aFileIsKeptForAWeek() async throws {
        let (rig, report) = try await resolve(keeping: .theirs)
        let path = try #require(report.setAside.first)
        #expect(rig.bytes(path) == Array("mine".utf8))
        let resolved = ResolvedFiles(try RootDirectory(opening: rig.session.root))
        let now = SystemClock.now()
        resolved.sweep(now: now.advanced(bySeconds: 6 * 86400))
        #expect(rig.bytes(path) == Array("mine".utf8))
        resolved.sweep(now: now.advanced(bySeconds: 8 * 86400))
        #expect(rig.bytes(path) == nil)
        #expect(rig.folder.names(in: "root/.mirror/resolved").isEmpty)
    }

    @Test func theManifestsVersionIsKeptToo() async throws {
        let (rig, report) = try await resolve(keeping: .mine)
        #expect(report.setAside.map { rig.bytes($0) } == [[1]])
        #expect(rig.bytes("Documents/x/a") == Array("mine".utf8))
        let target = try Target("Documents/x/a")
        let change = try await ConflictResolution(of: target, keeping: .theirs)
            .carryOut(in: rig.session)
        #expect(change.kept == .theirs)
        #expect(rig.bytes("Documents/x/a") == [1])
        #expect(try await rig.session.lookup(target)?.state == .intact)
    }
}
