@testable import MirrorKit
import Testing

/// What pinning makes of one resource.
@Suite struct PinFindingTests {
    private func digest(_ algorithm: DigestAlgorithm, _ byte: UInt8) throws -> Digest {
        try #require(
            Digest(algorithm, bytes: Array(repeating: byte, count: algorithm.byteCount)))
    }

    private func outcome(
        isKnown: Bool = true, recorded: UInt8 = 1, isOfSource: Bool = true, isThere: Bool = true,
        updates: Bool = false, _ change: (inout Resource) throws -> Void = { _ in }
    ) throws -> PinFinding.Outcome {
        var resource = Resource(
            target: try Target("Caches/a"), url: try SourceURL("https://h.example/a"))
        try change(&resource)
        let record = IndexRecord(
            target: resource.target, owner: "m",
            stamp: FileStamp(size: 5, modified: 0, changed: 0, inode: 0),
            sha256: try digest(.sha256, recorded), verified: .size,
            promotedAt: Instant(seconds: 0))
        return PinFinding.judge(
            resource, record: isKnown ? record : nil, isOfSource: isOfSource,
            size: isThere ? 5 : nil,
            digests: isThere ? [try digest(.sha256, 1), try digest(.sha512, 1)] : [],
            updates: updates
        ).outcome
    }

    @Test func whatIsNotDeclaredIsAdded() throws {
        #expect(try outcome() == .pin(size: true, sha256: true))
        #expect(try outcome { $0.size = 5 } == .pin(size: false, sha256: true))
        #expect(
            try outcome { $0.digests = [try digest(.sha256, 1)] } == .pin(size: true, sha256: false)
        )
        #expect(
            try outcome {
                $0.size = 5
                $0.digests = [try digest(.sha512, 1)]
            } == .pin(size: false, sha256: true))
    }

    @Test func whatIsDeclaredIsKept() throws {
        #expect(
            try outcome {
                $0.size = 5
                $0.digests = [try digest(.sha256, 1)]
            } == .keep)
    }

    @Test func theLastFetchReplacesDeclarations() throws {
        func outcome(
            recorded: UInt8 = 1, isOfSource: Bool = true,
            _ change: (inout Resource) throws -> Void
        ) throws -> PinFinding.Outcome {
            try self.outcome(recorded: recorded, isOfSource: isOfSource, updates: true, change)
        }
        #expect(
            try outcome {
                $0.size = 6
                $0.digests = [try digest(.sha256, 2)]
            } == .update(size: true, sha256: true))
        #expect(
            try outcome {
                $0.size = 5
                $0.digests = [try digest(.sha256, 2)]
            } == .update(size: false, sha256: true))
        #expect(
            try outcome { $0.digests = [try digest(.sha256, 2)] }
                == .update(size: true, sha256: true))
        #expect(
            try outcome {
                $0.size = 5
                $0.digests = [try digest(.sha256, 1)]
            } == .keep)
        // Somebody edited it, it is of another source, or another digest is in the way.
        for (recorded, isOfSource) in [(UInt8(2), true), (1, false)] {
            let found = try outcome(recorded: recorded, isOfSource: isOfSource) {
                $0.digests = [try digest(.sha256, 3)]
            }
            guard case .contradiction = found else {
                Issue.record("\(found)")
                continue
            }
        }
        let found = try outcome { $0.digests = [try digest(.sha512, 2)] }
        if case .contradiction = found { return }
        Issue.record("\(found)")
    }

    @Test func resourceWithoutAFileIsNotPinned() throws {
        #expect(try outcome(isKnown: false) == .leave(.notFetched))
        #expect(try outcome(isThere: false) == .leave(.missing))
        #expect(try outcome(recorded: 2) == .leave(.changed))
        #expect(try outcome(isOfSource: false) == .leave(.otherSource))
    }

    /// A pin vouches for the bytes wherever they came from.
    @Test func aPinnedResourceMayHaveMoved() throws {
        #expect(
            try outcome(isOfSource: false) { $0.digests = [try digest(.sha512, 1)] }
                == .pin(size: true, sha256: true))
    }

    @Test(arguments: [DigestAlgorithm.sha256, .sha512])
    func anAbsentDeclaredDigestContradicts(algorithm: DigestAlgorithm) throws {
        let outcome = try outcome { $0.digests = [try digest(algorithm, 2)] }
        guard case .contradiction(let because) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(because.contains("\(algorithm.rawValue) is 0101"))
        #expect(because.contains("says 0202"))
    }

    @Test func anAbsentDeclaredSizeContradicts() throws {
        #expect(
            try outcome { $0.size = 6 }
                == .contradiction("it has 5 bytes, the manifest says 6"))
    }
}
