import Glibc
import MirrorKit
import MirrorModel
import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorSystem

/// The walk that lends intact files tells the same of a tree as the walk that makes strings of all.
@Suite(.timeLimit(.minutes(15))) struct FileWalkTests {
    private final class Collected: Sendable {
        let lines = Mutex<[String]>([])
        let lent = Mutex<[String]>([])

        func add(_ write: (inout JSONWriter) -> Void, isLent: Bool = false) {
            var json = JSONWriter()
            write(&json)
            let line = String(decoding: json.bytes, as: UTF8.self)
            lines.withLock { $0.append(line) }
            if isLent { lent.withLock { $0.append(line) } }
        }
    }

    /// All files by the first walk, by the second, and those that the second lent.
    private func walks(
        _ session: MirrorSession, _ manifests: [Manifest], only tags: Set<String> = []
    ) async throws -> (made: [String], lending: [String], lent: [String]) {
        let (made, lending) = (Collected(), Collected())
        try await session.forEachFile(of: manifests, only: tags) { file in made.add(file.write) }
        try await session.forEachFile(of: manifests, only: tags) { file in
            lending.add({ file.write(to: &$0) }, isLent: true)
        } _: { file in
            lending.add(file.write)
        }
        return (
            made.lines.withLock { $0 }, lending.lines.withLock { $0 }, lending.lent.withLock { $0 }
        )
    }

    /// A manifest of one resource of each kind.
    private func manifest(_ rig: SessionRig) throws -> Manifest {
        var resources: [Resource] = []
        for (name, refresh) in [
            ("pinned", Refresh.never), ("always", .always), ("daily", .after(seconds: 86400)),
            ("http", .http), ("edited", .always), ("removed", .always), ("tagged", .always),
        ] {
            let bytes = Array(name.utf8)
            var resource = try rig.resource("Caches/\(name)", bytes)
            resource.refresh = refresh
            if name == "pinned" {
                resource.size = Int64(bytes.count)
                resource.digests = [ByteHasher.digest(.sha256, of: bytes)]
            }
            if name == "tagged" { resource.tags = ["t"] }
            resources.append(resource)
        }
        return Manifest(name: "m", resources: resources)
    }

    @Test func bothWalksTellTheSame() async throws {
        let rig = try SessionRig()
        let manifest = try manifest(rig)
        try await rig.session.sync(manifest)
        try rig.folder.write("mine", to: "root/Caches/edited")
        #expect(unlink(rig.folder.path + "/root/Caches/removed") == 0)
        let all = try await walks(rig.session, [manifest])
        #expect(all.made == all.lending)
        #expect(all.made.count == 7)
        #expect(all.lent.count == 5, "\(all.lent)")
        #expect(all.lent.count { $0.contains(#""fresh":"due""#) } == 3, "\(all.lent)")
        let selected = try await walks(rig.session, [manifest], only: ["t"])
        #expect(selected.made == selected.lending)
        #expect(selected.lent.count == 1)
        // Without a manifest at hand nothing is wanted, and nothing is lent.
        let unasked = try await walks(rig.session, [])
        #expect(unasked.made == unasked.lending)
        #expect(unasked.lent.isEmpty)
    }
}
