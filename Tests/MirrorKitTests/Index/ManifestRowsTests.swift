@testable import MirrorKit
import Testing

/// Rows of manifests, and what they own.
@Suite struct ManifestRowsTests {
    private let folder: TemporaryFolder
    private let root: RootDirectory
    private let start = Instant(seconds: 1_000)

    init() throws {
        folder = try TemporaryFolder()
        root = try RootDirectory(opening: folder.path)
    }

    private func manifests(_ index: Index) throws -> [ManifestRecord] {
        try index.read { (database: inout Database) throws(IndexError) in
            try database.manifests()
        }
    }

    @Test func everyKindOfPlaceComesBack() throws {
        let index = try Index.open(root, now: start)
        let places: [ManifestPlace] = [
            .relative("../m.json"), .either(relative: "../ci/m.json", absolute: "/w/ci/m.json"),
            .absolute("/etc/m.json"), .url(SourceKey(text: "https://a/m.json")),
        ]
        let records = places.enumerated().map { ManifestRecord(name: "\($0)", place: $1) }
        try index.write { (batch: inout Database) throws(IndexError) in
            for record in records { try batch.put(record) }
        }
        #expect(try manifests(index) == records)
    }

    @Test func impossibleManifestPlaceIsDamage() {
        #expect(ManifestPlace(kind: "url", location: nil, beside: nil) == nil)
        #expect(ManifestPlace(kind: "path", location: nil, beside: nil) == nil)
        #expect(ManifestPlace(kind: "tape", location: "/a", beside: nil) == nil)
    }

    @Test func aForgottenManifestLeavesSharedRows() throws {
        let index = try Index.open(root, now: start)
        var shared = try fullRecord("Caches/shared", owner: "a")
        shared.owners = Owners(["a", "b"])
        let records = [try fullRecord("Caches/own", owner: "a"), shared]
        try index.put(records)
        try index.put([ManifestRecord(name: "a", place: .absolute("/a.json"))])
        try index.forgetManifest(named: "a")
        #expect(try index.record(for: try Target("Caches/own")) == nil)
        #expect(try index.record(for: try Target("Caches/shared"))?.owners == Owners("b"))
        #expect(try manifests(index).isEmpty)
    }

    @Test func renamedManifestKeepsAllItsRows() throws {
        let index = try Index.open(root, now: start)
        var shared = try fullRecord("Caches/shared", owner: "a")
        shared.owners = Owners(["a", "c"])
        try index.put([try fullRecord("Caches/own", owner: "a"), shared])
        try index.put([ManifestRecord(name: "a", place: .absolute("/a.json"))])
        try index.renameManifests([(old: "a", new: "b")])
        #expect(try index.record(for: try Target("Caches/own"))?.owners == Owners("b"))
        #expect(try index.record(for: try Target("Caches/shared"))?.owners == Owners(["b", "c"]))
        #expect(try manifests(index).isEmpty)
    }
}
