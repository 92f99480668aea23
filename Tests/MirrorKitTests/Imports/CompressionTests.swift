@testable import MirrorKit
import Testing

/// Lists that are compressed: bounded, complete, and never taken on a guess.
@Suite struct CompressionTests {
    private static let folder = CaseFiles.project + "/Tests/MirrorKitTests/Imports/lists/"
    private static let files = [
        ("Packages.gz", "Packages"), ("Packages.xz", "Packages"),
        ("primary.xml.zst", "primary.xml"),
    ]

    private func expand(_ name: String, cut: Int = 0, most: Int = 1 << 20) throws -> [UInt8] {
        let bytes = try CaseFiles.bytes(Self.folder + name).dropLast(cut)
        return try #require(Compression(Array(bytes))).expand(Array(bytes), most: most)
    }

    @Test(arguments: files) func compressedTextIsExpandedWhole(name: String, plain: String) throws {
        #expect(try expand(name) == (try CaseFiles.bytes(Self.folder + plain)))
    }

    @Test(arguments: files) func textThatIsCutOffIsRefused(name: String, plain: String) throws {
        for cut in [1, 9, 60] {
            #expect(throws: DecodingStop.self) { try expand(name, cut: cut) }
        }
    }

    @Test(arguments: files) func textThatGrowsBeyondTheLimitIsRefused(name: String, plain: String)
        throws
    {
        #expect(throws: DecodingStop.self) { try expand(name, most: 100) }
    }

    @Test func severalMembersOfGzipAreOneText() throws {
        let once = try CaseFiles.bytes(Self.folder + "Packages.gz")
        let text = try CaseFiles.bytes(Self.folder + "Packages")
        #expect(try Compression.gzip.expand(once + once) == text + text)
    }
}
