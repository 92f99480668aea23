@testable import MirrorKit
import MirrorTestSupport
import Testing

/// The table by which files are found by their digests, while a run changes the index.
@Suite struct DigestSearchTests {
    private let folder: TemporaryFolder
    private let index: Index
    private let watch: IndexWatch
    private let start = Instant(seconds: 1000)

    init() throws {
        folder = try TemporaryFolder()
        let root = try RootDirectory(opening: folder.path)
        index = try Index.open(root, now: start)
        watch = try IndexWatch(root)
    }

    private func put(_ path: String, _ bytes: [UInt8]) throws -> Digest {
        let record = try fullRecord(path, bytes: bytes)
        try index.write { (batch: inout Database) throws(IndexError) in
            try batch.put(record)
        }
        return record.sha256
    }

    private func answer(_ search: DigestSearch, _ digest: Digest) throws -> String {
        switch try search.files(with: digest) {
        case .found(let files): files.map(\.target.path).joined(separator: " ")
        case .absent: "absent"
        case .unknown: "unknown"
        case .notNow: "not now"
        }
    }

    @Test func theTableIsMadeWhenItIsNeeded() throws {
        let search = DigestSearch(watch, shortestRest: .zero)
        let digest = try put("Caches/a", [1])
        #expect(try answer(search, digest) == "unknown")
        try search.prepare(CancellationFlag())
        #expect(try answer(search, digest) == "Caches/a")
        #expect(try answer(search, ByteHasher.digest(.sha256, of: [9])) == "absent")
    }

    /// A hundred requests that wait for the table read the index once, also if a run commits meanwhile.
    @Test func aRecentTableIsNotMadeAgain() throws {
        let search = DigestSearch(watch, shortestRest: .seconds(3600))
        _ = try put("Caches/a", [1])
        try search.prepare(CancellationFlag())
        let later = try put("Caches/b", [2])
        #expect(try answer(search, later) == "not now")
        try search.prepare(CancellationFlag())
        #expect(try answer(search, later) == "not now")
    }
}
