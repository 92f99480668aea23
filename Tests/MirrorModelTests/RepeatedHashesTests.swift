import MirrorTestSupport
import Testing

@testable import MirrorKit

@Suite struct RepeatedHashesTests {
    private func repeated(_ hashes: [UInt64]) -> Set<UInt64> {
        var known = RepeatedHashes(expecting: 10)
        for hash in hashes { known.insert(hash) }
        known.find()
        return known.repeated
    }

    @Test func repeatedHashIsFound() {
        #expect(repeated([7, 8, 7, 9, 0, .max, 7]) == [7])
        #expect(repeated([]).isEmpty)
    }

    @Test func zeroIsAHashLikeOthers() {
        #expect(repeated([0, 2]).isEmpty)
        var known = RepeatedHashes(expecting: 2)
        known.insert(0)
        known.insert(0)
        known.find()
        #expect(known.contains(0))
        #expect(!known.contains(2))
    }

    @Test func amongManyAllThatComeAgainAreFound() {
        var random = SplitMix64(seed: 5)
        let values = (0..<50_000).map { _ in random.next() }
        let again = stride(from: 0, to: values.count, by: 97).map { values[$0] }
        #expect(repeated(values).isEmpty)
        #expect(repeated(values + again) == Set(again))
    }

    @Test func hashesOfOnePlaceAreToldApart() {
        let values = (1...5000).map { UInt64($0) << 20 | 3 }
        #expect(repeated(values).isEmpty)
        #expect(repeated(values + values) == Set(values))
    }
}
