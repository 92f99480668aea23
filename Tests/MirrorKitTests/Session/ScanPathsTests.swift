import Glibc
import MirrorModel
import MirrorTestSupport
import Testing

@testable import MirrorKit
@testable import MirrorStore
@testable import MirrorSystem

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
        _ manifests: [Manifest], splitting many: Int, prunes: Bool = false, isSlow: Bool = false
    ) async throws -> Made {
        var options = PlanOptions()
        options.prunes = prunes
        // Where anything at all is to be fetched again, no row is taken at its word.
        if isSlow { options.refetched = [try Target("Caches/nowhere")] }
        let root = try RootDirectory(opening: session.root)
        let scan = try Scan(
            manifests: manifests, options: options, root: root,
            index: try Index.openForReading(root).index, now: Instant(seconds: 1_800_000_000),
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
}
