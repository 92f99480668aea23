import MirrorTestSupport
import Testing

@testable import MirrorKit

@Suite struct PieceCheckTests {
    private let bytes = TestBytes.make(250, seed: 1)

    private func expectation(_ bytes: [UInt8], pinned: Bool = false) throws
        -> MirrorKit.Expectation
    {
        let digests = stride(from: 0, to: bytes.count, by: 100).map {
            ByteHasher.digest(.sha256, of: Array(bytes[$0..<min($0 + 100, bytes.count)]))
        }
        return Expectation(
            digests: pinned ? [ByteHasher.digest(.sha256, of: bytes)] : [],
            pieces: Pieces(length: 100, digests: digests))
    }

    private func check(_ bytes: [UInt8], _ expectation: MirrorKit.Expectation, step: Int) -> Bool? {
        var check = PieceCheck(expectation)
        for start in stride(from: 0, to: bytes.count, by: step) {
            bytes[start..<min(start + step, bytes.count)].withUnsafeBytes { check.take($0) }
        }
        return check.end()
    }

    @Test(arguments: [1, 7, 100, 101, 250])
    func piecesHoldWhateverTheChunks(step: Int) throws {
        #expect(check(bytes, try expectation(bytes), step: step) == true)
    }

    @Test func wrongMissingAndExtraBytesAreFound() throws {
        let wanted = try expectation(bytes)
        var wrong = bytes
        wrong[249] ^= 1
        #expect(check(wrong, wanted, step: 64) == false)
        #expect(check(Array(bytes.dropLast()), wanted, step: 64) == false)
        #expect(check(Array(bytes.dropLast(50)), wanted, step: 64) == false)
        #expect(check(bytes + [0], wanted, step: 64) == false)
    }

    @Test func piecesInAnotherOrderDoNotHold() throws {
        let swapped = Array(bytes[100..<200] + bytes[..<100] + bytes[200...])
        #expect(check(swapped, try expectation(bytes), step: 64) == false)
        let first = Array(bytes[..<100])
        #expect(check(first + first + bytes[200...], try expectation(bytes), step: 64) == false)
    }

    @Test func aDigestOfTheWholeReplacesPieces() throws {
        #expect(check(bytes, try expectation(bytes, pinned: true), step: 64) == nil)
    }
}
