@testable import MirrorKit
import Testing

/// A table of digests says in which paths to look.
@Suite struct DigestTableTests {
    private func digest(_ number: Int) throws -> Digest {
        var bytes = [UInt8](repeating: 0, count: 32)
        for at in 0..<8 { bytes[at] = UInt8(truncatingIfNeeded: number >> (8 * at)) }
        bytes[7] = 9
        return try #require(Digest(.sha256, bytes: bytes))
    }

    @Test func eachDigestIsInANamedRange() throws {
        var table = DigestTable()
        let paths = (0..<1000).map { String(10000 + $0) }
        // Digests repeat, near each other and far.
        let digests = try (0..<1000).map { try digest($0 % 300) }
        for (path, digest) in zip(paths, digests) { table.append({ path }, start: digest.start) }
        table.sort()
        for (path, digest) in zip(paths, digests) {
            let ranges = table.ranges(of: digest)
            #expect(ranges.count <= 4)
            #expect(
                ranges.count { range in
                    path >= range.from && (range.to.map { path < $0 } ?? true)
                } == 1)
        }
        #expect(table.ranges(of: try digest(300)).isEmpty)
    }

    @Test func anEmptyTableNamesNothing() throws {
        var table = DigestTable()
        table.sort()
        #expect(table.ranges(of: try digest(1)).isEmpty)
    }
}
