@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Steps that are put together from their resources are the steps that they stand for.
@Suite struct StepListTests {
    private static func resource(_ number: Int) throws -> Resource {
        var resource = Resource(
            target: try Target("Caches/\(100 + number)"),
            url: try SourceURL("https://h.example/\(number)"))
        let bytes = (0..<32).map { UInt8(truncatingIfNeeded: number &* 7 &+ $0) }
        resource.digests = [try #require(Digest(.sha256, bytes: bytes))]
        resource.size = Int64(number)
        return resource
    }

    private static func keep(_ resource: Resource, manifest: Int, at position: Int) -> Step {
        Step(
            target: resource.target, manifest: manifest, resource: position, kind: .keep,
            reason: .intact, means: .nothing, existing: .recorded(sha256: resource.digests[0]),
            size: resource.size)
    }

    private static func fetch(_ resource: Resource, manifest: Int, at position: Int) -> Step {
        Step(
            target: resource.target, manifest: manifest, resource: position, kind: .fetch,
            reason: .missing, means: .transfer(part: nil, ifChangedSince: nil),
            existing: .nothing, size: resource.size)
    }

    /// A list over two manifests, and the same steps as they are; kinds take turns.
    private func lists(_ count: Int) throws -> (short: StepList, whole: [Step]) {
        let manifests = try manifests(count)
        let resources = manifests[0].resources
        var short = StepList(of: manifests)
        var whole: [Step] = []
        for (position, resource) in resources.enumerated() {
            let manifest = position % 2
            switch position % 3 {
            case 0:
                short.appendPlainKeep(manifest: manifest, resource: position)
                whole.append(Self.keep(resource, manifest: manifest, at: position))
            case 1:
                short.appendPlainFetch(manifest: manifest, resource: position)
                whole.append(Self.fetch(resource, manifest: manifest, at: position))
            default:
                var step = Self.keep(resource, manifest: manifest, at: position)
                step.reason = .touched
                short.append(step)
                whole.append(step)
            }
        }
        return (short, whole)
    }

    @Test func compactStepEqualsItsFullForm() throws {
        let (short, whole) = try lists(50)
        #expect(Array(short) == whole)
        #expect(short.plainKeeps == 17)
        #expect(Array(short.notable) == whole.indices.filter { $0 % 3 != 0 })
        #expect(short.indices.map { short.target(at: $0) } == whole.map(\.target))
    }

    @Test func wholeStepsBecomePlainWhereEqual() throws {
        let manifests = try manifests(6)
        let resources = Array(manifests[0].resources)
        let stamp = FileStamp(size: 3, modified: 2, changed: -1, inode: .max)
        var steps = resources.enumerated().map { Self.keep($1, manifest: 1, at: $0) }
        steps[1].size = 77
        steps[2].existing = .recorded(sha256: resources[1].digests[0])
        // The resource at 4 has another size than the file: that step stays as it is.
        for (position, reason) in [(3, Reason.unrecorded), (4, .touched)] {
            let sha256 = resources[position].digests[0]
            steps[position].reason = reason
            steps[position].means = .adoption(sha256: sha256)
            steps[position].existing = .ours(stamp, sha256: sha256)
        }
        steps[5].manifest = 2
        steps[2].reason = .fresh(until: Instant(milliseconds: 5))
        var list = StepList(of: manifests)
        for step in steps { list.append(step) }
        #expect(Array(list) == steps)
        #expect(list.plainKeeps == 1)
        #expect(list.isPlainKeep(at: 0))
        #expect(list.indices.map { list.target(at: $0) } == steps.map(\.target))
        var copy = StepList(of: manifests)
        for position in list.indices { copy.append(stepAt: position, of: list) }
        #expect(Array(copy) == steps)
        #expect(copy.plainKeeps == 1)
        copy.replace(at: 4, with: steps[0])
        #expect(copy[4] == steps[0])
        var twice = list
        twice.append(contentsOf: list)
        #expect(Array(twice) == steps + steps)
        #expect(twice.plainKeeps == 2)
    }

    @Test func aStepIsFoundByItsTarget() throws {
        let (short, whole) = try lists(50)
        for (position, step) in whole.enumerated() {
            #expect(short.position(of: step.target) == position)
        }
        #expect(short.position(of: try Target("Caches/099")) == nil)
        #expect(short.position(of: try Target("Caches/1005")) == nil)
        #expect(short.position(of: try Target("Documents/a")) == nil)
        #expect(StepList().position(of: whole[0].target) == nil)
    }

    @Test func anotherStepTakesThePlaceOfEachKind() throws {
        var (short, whole) = try lists(9)
        for position in whole.indices {
            whole[position].reason = .refetchAsked
            short.replace(at: position, with: whole[position])
            #expect(Array(short) == whole)
        }
        #expect(short.plainKeeps == 0)
        #expect(Array(short.notable) == Array(whole.indices))
    }

    @Test func listsOneAfterTheOtherAreOne() throws {
        let (short, whole) = try lists(40)
        var halves = StepList(of: try manifests(40))
        var first = halves
        var second = halves
        for position in short.indices {
            if position < 17 {
                first.append(stepAt: position, of: short)
            } else {
                second.append(stepAt: position, of: short)
            }
        }
        halves.append(contentsOf: first)
        halves.append(contentsOf: second)
        #expect(Array(halves) == whole)
        #expect(halves.plainKeeps == short.plainKeeps)
    }

    private func manifests(_ count: Int) throws -> [Manifest] {
        let resources = try (0..<count).map(Self.resource)
        return ["a", "b"].map { Manifest(name: $0, resources: resources) }
    }

    @Test func aPositionSetBehavesLikeASet() {
        var random = SplitMix64(seed: 3)
        var positions = PositionSet()
        var known: Set<Int> = []
        for _ in 0..<2000 {
            let position = Int.random(in: 0..<500, using: &random)
            if Bool.random(using: &random) {
                positions.insert([position])
                known.insert(position)
            } else {
                #expect(positions.remove(position) == (known.remove(position) != nil))
            }
            #expect(positions.count == known.count)
            #expect(positions.isEmpty == known.isEmpty)
        }
        #expect((0..<600).allSatisfy { positions.contains($0) == known.contains($0) })
        positions.removeAll()
        #expect(positions.isEmpty && !positions.contains(3))
    }
}
