import MirrorModel
import Testing

@testable import MirrorManifests

/// Files of a list that cannot stand beside each other in one tree.
@Suite struct ListFilesTests {
    private func read(_ text: String, format: ListFormat) throws -> DecodedManifest {
        let hint = try ListHint(format: format, base: try SourceURL("https://b.example/"))
        return try ManifestReader.read(
            Array(text.utf8), label: "l", origin: .file(path: "/l.txt"), hint: hint)
    }

    private func paths(_ decoded: DecodedManifest) -> [String] {
        decoded.manifest.resources.map(\.target.path)
    }

    @Test func equalLastNamesGetFoldersOfTheirURLs() throws {
        let list = try read(
            """
            https://a.example/x/f.zip
            https://b.example/f.zip?v=1
            https://b.example/f.zip?v=2
            https://c.example/F.zip
            https://d.example/other.zip
            https://a.example/x/f.zip
            """, format: .urls)
        let paths = paths(list)
        #expect(paths.count == 5)
        #expect(paths.first == "Caches/a.example/x/f.zip")
        #expect(paths[1].hasPrefix("Caches/b.example/") && paths[1].hasSuffix("/f.zip"))
        #expect(paths[1] != paths[2])
        #expect(paths[3...] == ["Caches/c.example/F.zip", "Caches/other.zip"])
        #expect(list.leftOut.isEmpty)
    }

    @Test func theLaterOfTwoThatAreOneIsLeftOut() throws {
        let digits = { (digit: Character) in String(repeating: digit, count: 64) }
        let list = try read(
            """
            \(digits("0"))  a/file
            \(digits("1"))  A/other
            \(digits("2"))  A/third
            \(digits("3"))  b
            \(digits("4"))  b/inside
            \(digits("5"))  c
            \(digits("6"))  C
            \(digits("7"))  c
            """, format: .sums)
        #expect(paths(list) == ["Caches/a/file", "Caches/b/inside", "Caches/c"])
        #expect(list.leftOut.count == 5)
        #expect(Set(list.leftOut.map(\.line)) == [2, 3, 4, 7, 8])
    }

    @Test func sentencesCountAllAndNameTwenty() {
        let entries = (1...30).map {
            LeftOutEntry("x\($0)", $0 <= 25 ? "one reason" : "another", line: $0, column: 1)
        }
        let sentences = entries.sentences()
        #expect(sentences.count == 2)
        #expect(sentences[0].hasPrefix("25 entries left out, one reason: x1 (line 1), x2 (line 2)"))
        #expect(sentences[0].hasSuffix("x20 (line 20) and 5 more"))
        #expect(sentences[1] == "5 entries left out, another")
    }

    @Test func aNameShowsNoSecretOfAURL() {
        let entry = LeftOutEntry("https://me:pw@h.example/a?token=1", "r", line: 1, column: 1)
        #expect(!entry.name.contains("pw") && !entry.name.contains("token"))
    }
}
