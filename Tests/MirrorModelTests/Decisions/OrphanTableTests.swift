import MirrorTestSupport
import Testing

@testable import MirrorKit

/// Orphans that are kept compactly are the rows that they were, and so are the steps that remove them.
@Suite struct OrphanTableTests {
    private static func digest(_ number: Int, _ algorithm: DigestAlgorithm = .sha256) throws
        -> Digest
    {
        let bytes = (0..<algorithm.byteCount).map { UInt8(truncatingIfNeeded: number &* 7 &+ $0) }
        return try #require(Digest(algorithm, bytes: bytes))
    }

    private static func row(_ number: Int) throws -> IndexRecord {
        IndexRecord(
            target: try Target("Caches/\(1000 + number)"), owner: number % 2 == 0 ? "a" : "b",
            stamp: FileStamp(
                size: Int64(number), modified: 5, changed: Int64(-number), inode: .max),
            sha256: try digest(number), verified: .digest, promotedAt: Instant(milliseconds: 1))
    }

    private func table(_ numbers: Range<Int>) throws -> OrphanTable {
        var table = OrphanTable()
        for number in numbers {
            let row = try Self.row(number)
            table.append(row, stamp: row.stamp, manifest: number % 2)
        }
        return table
    }

    @Test func tablesOneAfterTheOtherHoldTheirRows() throws {
        var table = try table(0..<20)
        table.append(contentsOf: try self.table(20..<50))
        table.append(contentsOf: OrphanTable())
        #expect(table.count == 50)
        for (number, orphan) in table.enumerated() {
            let row = try Self.row(number)
            #expect(orphan.target == row.target && orphan.target == table.target(at: number))
            #expect(orphan.stamp == row.stamp && orphan.sha256 == row.sha256)
            #expect(orphan.manifest == number % 2)
        }
    }

    @Test func orphansAreFoundByDigestOrSource() throws {
        let source = SourceKey(text: "https://h.example/x")
        var row = try Self.row(1)
        row.otherDigest = try Self.digest(2, .sha512)
        row.provenance = Provenance(source: source, answeredBy: "https://h.example")
        var table = OrphanTable()
        table.append(row, stamp: row.stamp, manifest: 0)
        row.validators = Validators(strong: .lastModified(HTTPDate(seconds: 1)))
        table.append(row, stamp: row.stamp, manifest: 0)
        let none = SortedHashes([])
        func isFound(_ position: Int, _ digest: Digest) -> Bool {
            table.mayHave(at: position, digests: SortedHashes([digest.start]), sources: none)
        }
        #expect(isFound(0, try Self.digest(1)))
        #expect(isFound(0, try Self.digest(2, .sha512)))
        #expect(!isFound(0, try Self.digest(3)))
        let sources = SortedHashes([OrphanTable.hash(of: source)])
        // Without a strong validator nobody can tell that the source has these bytes still.
        #expect(!table.mayHave(at: 0, digests: none, sources: sources))
        #expect(table.mayHave(at: 1, digests: none, sources: sources))
    }

    @Test func aRemovalIsPutTogetherFromItsOrphan() throws {
        let manifests = try ["a", "b"].map { name in
            Manifest(name: name, resources: [try resource("Caches/0")])
        }
        var list = StepList(of: manifests)
        list.take(try table(0..<4))
        list.appendPlainFetch(manifest: 1, resource: 0)
        for orphan in [1, 2] { list.appendRemoval(ofOrphan: orphan) }
        let expected = try [1, 2].map { number in
            let row = try Self.row(number)
            return Step(
                target: row.target, manifest: number % 2, resource: nil, kind: .remove,
                reason: .orphan(of: row.owners.text), means: .removal,
                existing: .ours(row.stamp, sha256: row.sha256), size: row.stamp.size)
        }
        #expect(Array(list.dropFirst()) == expected)
        #expect(list.indices.map { list.target(at: $0) } == list.map(\.target))
        #expect(list.indices.filter(list.isRemoval) == [1, 2])
        #expect(list.resource(at: 1) == nil)
        #expect(list.position(of: expected[1].target) == 2)
        #expect(Array(list.removals) == expected)
        var copy = StepList(of: manifests)
        for position in list.indices { copy.append(stepAt: position, of: list) }
        #expect(Array(copy) == Array(list))
        #expect(Array(copy.removals) == expected)
        list.replace(at: 1, with: expected[1])
        #expect(list[1] == expected[1])
    }

    @Test func anAdoptionNamesItsReasonAndOwner() throws {
        let count = 5000
        let manifests = [
            Manifest(
                name: "a", resources: try (0..<count).map { try resource("Caches/\(10_000 + $0)") })
        ]
        let known: [Reason] = [
            .touched, .unrecorded, .modeChanged(isExecutable: false),
            .modeChanged(isExecutable: true), .proven,
        ]
        // More owners before than there are numbers for, and in each half others.
        let steps = (0..<count).map { number in
            let resource = manifests[0].resources[number]
            let sha256 = resource.digests[0]
            return Step(
                target: resource.target, manifest: 0, resource: number, kind: .keep,
                reason: number < known.count
                    ? known[number]
                    : number % 2 == 0
                        ? .ownedBefore(by: "m\(number)")
                        : .ownedTogether(by: Owners(["a", "m\(number)"])),
                means: .adoption(sha256: sha256),
                existing: .ours(
                    FileStamp(size: 3, modified: 1, changed: 2, inode: 3), sha256: sha256),
                size: 3)
        }
        for middle in [0, 10, 300, 4600] {
            var first = StepList(of: manifests)
            var second = first
            for step in steps[..<middle] { first.append(step) }
            for step in steps[middle...] { second.append(step) }
            first.append(contentsOf: second)
            #expect(Array(first) == steps)
        }
    }

    private func resource(_ path: String) throws -> Resource {
        var resource = Resource(
            target: try Target(path), url: try SourceURL("https://h.example/\(path)"))
        resource.digests = [try Self.digest(path.utf8.count)]
        resource.size = 3
        return resource
    }
}
