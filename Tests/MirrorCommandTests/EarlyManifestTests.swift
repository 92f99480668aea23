import MirrorKit
import Testing

@testable import mirror

/// Which manifest a command line names, by its looks.
@Suite struct EarlyManifestTests {
    @Test func theFirstWordThatLooksLikeOneIsTaken() throws {
        let early = try #require(EarlyManifest(of: ["sync", "--jobs", "4", "a.json", "b.xml"]))
        #expect(early.path == "a.json")
        #expect(early.expectsRequests)
    }

    @Test(arguments: [
        ["sync"], ["sync", "list.txt"], ["sync", "--log=run.json"], ["verify", "a.json"],
        ["a.json"], [],
    ])
    func otherCommandLinesNameNone(words: [String]) {
        #expect(EarlyManifest(of: words) == nil)
    }

    @Test(arguments: [
        ["plan", "a.json"], ["sync", "a.json", "--offline"], ["sync", "--dry-run", "a.json"],
    ])
    func noRequestIsExpectedOfThese(words: [String]) throws {
        #expect(try #require(EarlyManifest(of: words)).expectsRequests == false)
    }
}
