@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Drift that no stamp tells of, as of a disk that lost bytes: found where every file is read.
@Suite(.timeLimit(.minutes(15))) struct RehashingPlanTests {
    @Test(arguments: [true, false])
    func changedBytesUnderOneStampAreFound(isPinned: Bool) async throws {
        let rig = try SessionRig()
        var resource = try rig.resource("Caches/a.bin", [1, 2, 3])
        resource.refresh = .never
        if isPinned { resource.digests = [ByteHasher.digest(.sha256, of: [1, 2, 3])] }
        let manifest = Manifest(name: "m", resources: [resource])
        try await rig.session.sync(manifest)
        try rig.folder.write([1, 9, 3], to: "root/Caches/a.bin")
        // The row gets the stamp that the file has now: only the bytes differ.
        let root = try RootDirectory(opening: rig.folder.path + "/root")
        let index = try Index.open(root, now: Instant(seconds: 0))
        let stamp = try root.openFile("Caches/a.bin").status(path: "Caches/a.bin").stamp
        try index.write { (batch: inout Database) throws(IndexError) in
            guard var record = try batch.record(for: resource.target) else { return }
            record.stamp = stamp
            try batch.put(record)
        }
        try index.close()

        let trusting = try await rig.session.plan(manifest)
        #expect(trusting.steps.map(\.kind) == [.keep])
        var options = PlanOptions()
        options.verify = true
        let reading = try await rig.session.plan(manifest, options: options)
        #expect(reading.steps.map(\.kind) == [.repair])
    }
}
