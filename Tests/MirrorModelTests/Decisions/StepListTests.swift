import MirrorModel
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
            reason: .intact, means: .nothing, occupant: .recorded(sha256: resource.digests[0]),
            size: resource.size)
    }

    private static func fetch(_ resource: Resource, manifest: Int, at position: Int) -> Step {
        Step(
            target: resource.target, manifest: manifest, resource: position, kind: .fetch,
            reason: .missing, means: .transfer(part: nil, ifChangedSince: nil),
            occupant: .nothing, size: resource.size)
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

    @Test func whatIsPutTogetherIsWhatItStandsFor() throws {
        let (short, whole) = try lists(50)
        #expect(Array(short) == whole)
        #expect(short.plainKeeps == 17)
        #expect(Array(short.notable) == whole.indices.filter { $0 % 3 != 0 })
        #expect(short.indices.map { short.target(at: $0) } == whole.map(\.target))
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

    @Test func aSetOfPositionsHoldsWhatASetHolds() {
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
