import MirrorTestSupport
import Testing

@testable import MirrorKit

@Suite struct BodyCheckTests {
    private static let bytes = TestBytes.make(250, seed: 1)

    private static func digest(_ algorithm: DigestAlgorithm) -> Digest {
        ByteHasher.digest(algorithm, of: bytes)
    }

    /// sha256 and one more are made on the way; everything else costs reading the part once more.
    @Test(
        arguments: [
            ([], nil, false), ([.sha256], nil, false), ([.sha512], .sha512, false),
            ([.sha512, .sha256], .sha512, false), ([.sha512], nil, true),
            ([.sha512, .md5], .sha512, true), ([.sha256, .md5], .md5, false),
        ] as [([DigestAlgorithm], DigestAlgorithm?, Bool)])
    func aPartIsReadForMissingDigests(
        declared: [DigestAlgorithm], other: DigestAlgorithm?, isReadAgain: Bool
    ) {
        let expectation = Expectation(digests: declared.map { Self.digest($0) })
        #expect(BodyCheck.readsAgain(expectation, other: other) == isReadAgain)
    }

    @Test func piecesWithoutADigestAreReadAgain() throws {
        let pieces = try #require(Pieces(length: 1000, digests: [Self.digest(.sha256)]))
        let weak = Self.digest(.md5)
        #expect(BodyCheck.readsAgain(Expectation(pieces: pieces), other: nil))
        #expect(BodyCheck.readsAgain(Expectation(digests: [weak], pieces: pieces), other: .md5))
        let pinned = Expectation(digests: [Self.digest(.sha256)], pieces: pieces)
        #expect(!BodyCheck.readsAgain(pinned, other: nil))
    }

    /// Each algorithm once: that of the manifest, that of the server, and sha256 always.
    @Test func bytesInMemoryAreDigestedOnce() throws {
        let expectation = Expectation(digests: [Self.digest(.sha512), Self.digest(.sha256)])
        let job = try Download.fetching("http://a/b", expectation: expectation)
        let check = BodyCheck(
            download: job, sent: [Self.digest(.sha512), Self.digest(.md5)],
            inbox: try TransferInbox())
        let found = check.judge(Self.bytes)
        #expect(found.piecesHold == nil)
        #expect(found.digests.count == 3)
        #expect(
            Set(found.digests)
                == [Self.digest(.sha256), Self.digest(.sha512), Self.digest(.md5)])
    }
}
