import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Testing

/// The quick ways of a scan decide what the slow way decides.
@Suite(.timeLimit(.minutes(15))) struct ScanPathsTests {
    /// A plan as it can be compared.
    private struct Made: Equatable {
        var steps: [Step]
        var orphans: Int
        var owned: [String: Int]
        var forgotten: [Target]

        init(_ plan: Plan) {
            steps = Array(plan.steps)
            orphans = plan.orphansLeft
            owned = plan.owned
            forgotten = plan.forgotten
        }
    }

    private let folder: TemporaryFolder
    private let session: MirrorSession

    init() throws {
        folder = try TemporaryFolder()
        session = try MirrorSession(root: folder.path + "/root")
    }

    private func bytes(_ number: Int, _ version: Int) -> [UInt8] {
        Array("file \(number), version \(version)\n".utf8)
    }

    private func resource(
        _ number: Int, version: Int, _ random: inout SplitMix64
    ) throws -> Resource {
        let area = number % 4 == 0 ? "Documents" : "Caches"
        let target = try Target("\(area)/\(number / 7)/\(number).txt")
        let bytes = bytes(number, version)
        var resource = Resource(
            target: target, url: try SourceURL("https://h.example/\(number)"))
        resource.refresh = .never
        switch Int.random(in: 0..<8, using: &random) {
        case 0: break
        case 1: resource.size = Int64(bytes.count)
        case 2: resource.digests = [ByteHasher.digest(.sha512, of: bytes)]
        case 3: resource.digests = [ByteHasher.digest(.sha256, of: bytes)]
        default:
            resource.digests = [ByteHasher.digest(.sha256, of: bytes)]
            resource.size = Int64(bytes.count)
        }
        resource.isExecutable = Int.random(in: 0..<20, using: &random) == 0
        return resource
    }

    private func plan(
        _ manifests: [Manifest], splitting many: Int, prunes: Bool = false,
        everythingIsDue: Bool = false, isSlow: Bool = false
    ) async throws -> Made {
        var options = PlanOptions()
        options.prune = prunes
        options.refresh = everythingIsDue
        // Where anything at all is to be fetched again, no row is taken at its word.
        if isSlow { options.refetch = [try Target("Caches/nowhere")] }
        let root = try RootDirectory(opening: session.root)
        let scan = try Scan(
            manifests: manifests, options: options, root: root,
            index: try Index.openForReading(root), now: ScanPathsTests.now,
            splitting: many, isCancelled: { false })
        return Made(try scan.plan(for: "root"))
    }

    @Test(arguments: 1...6) func everyScanPathGivesTheSamePlan(_ seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        // What is there is adopted, so that the index knows it.
        var first: [Resource] = []
        for number in 0..<150 {
            var resource = try resource(number, version: 1, &random)
            resource.digests = [ByteHasher.digest(.sha256, of: bytes(number, 1))]
            try folder.write(bytes(number, 1), to: "root/" + resource.target.path)
            first.append(resource)
        }
        try await session.sync(Manifest(name: "one", resources: Array(first[..<120])))
        try await session.sync(Manifest(name: "two", resources: Array(first[120...])))
        // Then the tree, and what is wanted, change.
        for number in 0..<150 {
            let path = "root/" + first[number].target.path
            switch Int.random(in: 0..<12, using: &random) {
            case 0: try folder.write(bytes(number, 2), to: path)
            case 1: try folder.write(bytes(number, 1), to: path)
            case 2: #expect(unlink(folder.path + "/" + path) == 0)
            default: break
            }
        }
        var wanted: [[Resource]] = [[], []]
        for number in 0..<190 where Int.random(in: 0..<10, using: &random) > 0 {
            let version = Int.random(in: 0..<9, using: &random) == 0 ? 2 : 1
            let isMoved = Int.random(in: 0..<9, using: &random) == 0
            var resource = try resource(number, version: version, &random)
            if isMoved { resource.target = try Target("Caches/moved/\(number)") }
            wanted[Int.random(in: 0..<5, using: &random) == 0 ? 1 : 0].append(resource)
        }
        wanted[0].shuffle(using: &random)
        let manifests = zip(["one", "two"], wanted).map { Manifest(name: $0, resources: $1) }
        for prunes in [false, true] {
            for chosen in [manifests, [manifests[0]]] {
                let slow = try await plan(
                    chosen, splitting: .max, prunes: prunes, isSlow: true)
                let quick = try await plan(chosen, splitting: .max, prunes: prunes)
                let halved = try await plan(chosen, splitting: 2, prunes: prunes)
                #expect(slow == quick)
                #expect(quick == halved)
                #expect(quick.steps.map(\.target) == quick.steps.map(\.target).sorted())
                #expect(Set(quick.steps.map(\.kind)).isSuperset(of: [.keep, .update, .repair]))
            }
        }
    }

    private static let now = Instant(seconds: 1_800_000_000)

    /// What a source said of a version, in each form that decides whether it is asked again.
    private func answered(
        _ record: IndexRecord, by source: SourceURL, _ random: inout SplitMix64
    ) throws -> IndexRecord {
        var record = record
        func isOneIn(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
        let text = isOneIn(8) ? "https://other.example/" : source.requestText
        record.provenance =
            isOneIn(8) ? nil : Provenance(source: SourceKey(text: text), answeredBy: text)
        let tag = try #require(EntityTag(isOneIn(3) ? "W/\"1\"" : "\"1\""))
        switch Int.random(in: 0..<4, using: &random) {
        case 0: record.validators = Validators()
        case 1: record.validators = Validators(entityTag: tag)
        case 2: record.validators = Validators(lastModified: HTTPDate(seconds: 3))
        default: record.validators = Validators(entityTag: tag, strong: .entityTag(tag))
        }
        let now = ScanPathsTests.now
        record.confirmedAt = now.advanced(bySeconds: .random(in: -100...20, using: &random))
        record.freshUntil =
            isOneIn(3) ? nil : now.advanced(bySeconds: .random(in: -60...60, using: &random))
        record.isExecutable = isOneIn(12)
        if isOneIn(12) { record.owners = Owners(["one", "elsewhere"]) }
        return record
    }

    /// Files that nothing pins, whose sources are asked or not.
    @Test(arguments: 1...8) func everyScanPathAsksTheSameSources(_ seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        var first: [Resource] = []
        for number in 0..<200 {
            var resource = try resource(number, version: 1, &random)
            resource.digests = [ByteHasher.digest(.sha256, of: bytes(number, 1))]
            try folder.write(bytes(number, 1), to: "root/" + resource.target.path)
            first.append(resource)
        }
        try await session.sync(Manifest(name: "one", resources: first))
        var rows: [IndexRecord] = []
        let root = try RootDirectory(opening: session.root)
        let index = try Index.open(root, now: ScanPathsTests.now)
        for resource in first {
            let record = try #require(try index.record(for: resource.target))
            rows.append(try answered(record, by: resource.primary.url, &random))
        }
        try index.write { [rows] (batch: inout Database) throws(IndexError) in
            for row in rows { try batch.put(row) }
        }
        try index.close()
        for number in 0..<200 where Int.random(in: 0..<9, using: &random) == 0 {
            let path = "root/" + first[number].target.path
            switch Int.random(in: 0..<3, using: &random) {
            case 0: try folder.write(bytes(number, 2), to: path)
            case 1: try folder.write(bytes(number, 1), to: path)
            default: #expect(unlink(folder.path + "/" + path) == 0)
            }
        }
        let refreshes: [Refresh] = [.always, .never, .http, .after(.seconds(30))]
        let wanted = first.map { resource in
            var resource = resource
            resource.digests = []
            resource.size = Int.random(in: 0..<3, using: &random) == 0 ? 19 : nil
            resource.refresh = refreshes.randomElement(using: &random) ?? .always
            resource.isExecutable = Int.random(in: 0..<15, using: &random) == 0
            return resource
        }
        var kinds: Set<Step.Kind> = []
        for everythingIsDue in [false, true] {
            let manifests = [Manifest(name: "one", resources: wanted)]
            func made(_ many: Int, isSlow: Bool = false) async throws -> Made {
                try await plan(
                    manifests, splitting: many, everythingIsDue: everythingIsDue, isSlow: isSlow)
            }
            let slow = try await made(.max, isSlow: true)
            let quick = try await made(.max)
            #expect(slow == quick)
            #expect(try await made(2) == quick)
            kinds.formUnion(quick.steps.map(\.kind))
        }
        #expect(kinds.isSuperset(of: [.keep, .revalidate, .update, .repair, .fetch]))
    }
}
