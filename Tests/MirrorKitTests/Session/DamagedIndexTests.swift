@testable import MirrorKit
import MirrorTestSupport
import Testing

/// An index that is too large to be read when it is opened, and proves to be damaged later.
@Suite(.timeLimit(.minutes(15))) struct DamagedIndexTests {
    private static let count = 1500

    /// A tree with so many rows that the index is not read as a whole, and its manifest.
    private func synced(_ rig: SessionRig) async throws -> Manifest {
        let bytes: [UInt8] = [1, 2, 3]
        let digest = ByteHasher.digest(.sha256, of: bytes)
        let resources = try (0..<DamagedIndexTests.count).map { number in
            var resource = try rig.resource("Caches/f\(1000 + number)", bytes)
            resource.digests = [digest]
            return resource
        }
        let manifest = Manifest(name: "m", resources: resources)
        try await rig.session.sync(manifest)
        let size = rig.bytes(".mirror/index.sqlite")?.count ?? 0
        #expect(size > Database.smallEnoughToVerify)
        return manifest
    }

    @Test(arguments: [
        "UPDATE files SET sha256 = x'00' WHERE path = 'Caches/f1700'",
        "UPDATE files SET path = '../f1700' WHERE path = 'Caches/f1700'",
    ])
    func nonsenseFoundByThePlanIsHealed(sql: String) async throws {
        let rig = try SessionRig()
        let manifest = try await synced(rig)
        let root = try RootDirectory(opening: rig.folder.path + "/root")
        let index = try Index.open(root, now: Instant(seconds: 0))
        try index.write { (batch: inout Database) throws(IndexError) in try batch.run(sql) }
        try index.close()

        let notices = try await rig.session.withPlan(of: [manifest]) { _ in
            await rig.session.notices()
        }
        #expect(notices.contains { $0.contains("kept as .mirror/index.sqlite.damaged-") })
        try await healed(rig, manifest)
    }

    @Test func lostPagesAreHealedInTheSameRun() async throws {
        let rig = try SessionRig()
        let manifest = try await synced(rig)
        let path = ".mirror/index.sqlite"
        var bytes = try #require(rig.bytes(path))
        // The header and the schema stay, every page behind them is rubbish.
        for at in 32 << 10..<bytes.count { bytes[at] = UInt8(truncatingIfNeeded: at &* 31) }
        try rig.folder.write(bytes, to: "root/" + path)

        try await healed(rig, manifest)
    }

    /// One damaged key makes SQLite deliver rows out of their order, which it does not say.
    @Test func rowsOutOfOrderOrphanNothing() async throws {
        let rig = try SessionRig()
        let manifest = try await synced(rig)
        try rename("Caches/f1700", "Caches/f9700", in: rig)

        var planning = PlanOptions()
        planning.prune = true
        let summary = try await rig.session.sync(manifest, planning: planning)
        #expect(summary.exit == 0)
        #expect(summary.removed == 0)
        #expect(summary[.adopted] == DamagedIndexTests.count)
        #expect(rig.folder.names(in: "root/Caches").count == DamagedIndexTests.count)
    }

    /// Two cursors see rows that are in order, and miss those between them.
    @Test(arguments: [1749, 1750]) func aRowBetweenTwoRangesIsMissed(number: Int) async throws {
        let rig = try SessionRig()
        let manifest = try await synced(rig)
        try rename("Caches/f\(number)", "Caches/f9\(number % 1000)", in: rig)

        let root = try RootDirectory(opening: rig.folder.path + "/root")
        let error = #expect(throws: MirrorError.self) {
            let scan = try Scan(
                manifests: [manifest], options: PlanOptions(), root: root,
                index: try Index.openForReading(root), now: Instant(seconds: 0),
                splitting: 2, isCancelled: { false })
            _ = try scan.plan(for: "root")
        }
        #expect(error?.message.contains("damaged") == true)
    }

    @Test func verificationSeesThatRowsAreOutOfOrder() async throws {
        let rig = try SessionRig()
        let manifest = try await synced(rig)
        try rename("Caches/f1700", "Caches/f9700", in: rig)
        await #expect(throws: MirrorError.self) { try await rig.session.verify([manifest]) }
    }

    /// Writes another key over a key, wherever it stands.
    private func rename(_ key: String, _ other: String, in rig: SessionRig) throws {
        let path = ".mirror/index.sqlite"
        var bytes = try #require(rig.bytes(path))
        var found = 0
        for at in bytes.indices where bytes[at...].starts(with: key.utf8) {
            bytes.replaceSubrange(at..<(at + key.utf8.count), with: other.utf8)
            found += 1
        }
        #expect(found > 0)
        try rig.folder.write(bytes, to: "root/" + path)
    }

    /// One run moves the index aside and knows every file again; the next finds nothing to do.
    private func healed(_ rig: SessionRig, _ manifest: Manifest) async throws {
        let summary = try await rig.session.sync(manifest)
        #expect(summary.exit == 0)
        #expect(summary[.adopted] == DamagedIndexTests.count)
        #expect(
            rig.folder.names(in: "root/.mirror").contains { $0.hasPrefix("index.sqlite.damaged-") })
        let next = try await rig.session.sync(manifest)
        #expect(next[.kept] == DamagedIndexTests.count)
    }
}
