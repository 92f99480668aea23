import MirrorTestSupport
import Synchronization
import Testing

@testable import MirrorKit

/// What is left of a look at a tree when it is over.
@Suite(.timeLimit(.minutes(15))) struct ReadingTests {
    @Test func readingLeavesNoSQLiteFiles() async throws {
        let rig = try SessionRig()
        let resource = try rig.resource("Caches/a.bin", TestBytes.make(1000, seed: 1))
        try await rig.session.sync(Manifest(name: "m", resources: [resource]))
        let reader = try MirrorSession(root: rig.folder.path + "/root")
        let kept = Box<Index?>(nil)
        let during = try await reader.reading { view in
            kept.value.withLock { $0 = view.index }
            let record = try view.index?.record(for: resource.target)
            #expect(record != nil)
            return rig.folder.names(in: "root/.mirror")
        }
        #expect(during.contains("index.sqlite-wal"))
        let left = rig.folder.names(in: "root/.mirror").filter { !$0.hasPrefix("runs/") }
        #expect(left.sorted() == ["index.sqlite", "lock"])
        #expect(kept.value.withLock { $0 } != nil)
    }
}
