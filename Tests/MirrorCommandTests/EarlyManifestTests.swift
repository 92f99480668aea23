import MirrorKit
import Testing

@testable import mirror

/// Which manifest a command line names, by its looks.
@Suite struct EarlyManifestTests {
    @Test func theFirstWordThatLooksLikeOneIsTaken() throws {
        let words = ["sync", "--log", "run.json", "a.xml", "b.json"]
        let early = try #require(EarlyManifest(of: words))
        #expect(early.path == "a.xml")
        #expect(early.expectsRequests)
    }

    @Test(arguments: [
        ["sync"], ["sync", "list.txt"], ["sync", "--netrc-file", "secrets.json"],
        ["sync", "--log=run.json"], ["verify", "a.json"], ["a.json"], [],
    ])
    func otherCommandLinesNameNone(words: [String]) {
        #expect(EarlyManifest(of: words) == nil)
    }

    @Test(arguments: [
        ["plan", "a.json"], ["sync", "a.json", "--offline"], ["sync", "a.json", "--dry-run"],
    ])
    func noRequestIsExpectedOfThese(words: [String]) throws {
        #expect(try #require(EarlyManifest(of: words)).expectsRequests == false)
    }
}
