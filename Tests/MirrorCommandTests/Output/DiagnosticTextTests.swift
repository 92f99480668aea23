@testable import MirrorKit
import Testing

@testable import mirror

/// How a diagnostic looks, in columns.
@Suite struct DiagnosticTextTests {
    private func lines(_ text: String, columns: Int = 80, isColored: Bool = false) throws
        -> [String]
    {
        let form = DiagnosticText(style: TextStyle(isColored: isColored), columns: columns)
        let refusal = try #require(throws: ManifestError.self) {
            try ManifestReader.read(
                Array(text.utf8), label: "m.json", origin: .file(path: "/m.json"))
        }
        return refusal.diagnostics.flatMap(form.lines)
    }

    @Test func theMarkIsUnderTheWord() throws {
        let text = """
            {
              "resources": [
                { "url": "https://h.example/a", "size": "12" }
              ]
            }
            """
        #expect(
            try lines(text) == [
                "m.json:3:45: error: size is the string \"12\"; write 12 without quotes",
                "  2 |   \"resources\": [",
                "  3 |     { \"url\": \"https://h.example/a\", \"size\": \"12\" }",
                "    |                                             ^^^^",
                "  4 |   ]",
                "help: write 12",
                "  3 |     { \"url\": \"https://h.example/a\", \"size\": 12 }",
                "    |                                             ~~",
            ])
    }

    @Test func tabsAndWideCharactersTakeTheirColumns() throws {
        let text =
            "{ \"resources\": [\n\t\t{ \"path\": \"Caches/地図\", \"url\": \"https://h.example/a\", \"size\": -1 }\n] }"
        let found = try lines(text, columns: 120)
        let line = try #require(found.first { $0.hasPrefix("  2 |") })
        let mark = try #require(found.first { $0.hasPrefix("    |") })
        let before = try #require(line.firstRange(of: "-1")).lowerBound
        #expect(line.hasPrefix("  2 |         { \"path\""))
        #expect(DisplayWidth.of(String(line[..<before])) == DisplayWidth.of(mark) - 2)
        #expect(mark.hasSuffix(" ^^"))
    }

    @Test func controlCharactersDoNotReachTheTerminal() throws {
        let text =
            "{ \"resources\": [ { \"path\": \"Caches/\u{202E}a\u{1B}[2J\", \"size\": \"1\" } ] }"
        for line in try lines(text) {
            #expect(!line.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202E}" })
        }
    }

    @Test(arguments: [40, 60, 80, 160])
    func longLineIsCutAroundItsMark(columns: Int) throws {
        let note = String(repeating: "n", count: 300)
        let text =
            "{ \"x-m\": \"\(note)\", \"resources\": [ { \"url\": \"https://h.example/a\", \"size\": \"12\" } ], \"x-n\": \"\(note)\" }"
        let found = try lines(text, columns: columns).dropFirst()
        for line in found { #expect(DisplayWidth.of(line) <= columns, "\(line)") }
        let marks = found.filter { $0.contains("^^^^") }
        #expect(marks.count == 1)
        let line = try #require(found.first { $0.contains("\"12\"") })
        let before = try #require(line.firstRange(of: "\"12\"")).lowerBound
        let mark = try #require(marks[0].firstRange(of: "^")).lowerBound
        #expect(
            DisplayWidth.of(String(line[..<before])) == DisplayWidth.of(String(marks[0][..<mark])))
    }

    @Test func coloursAreThereOnlyWhenAskedFor() throws {
        let text = "{ \"name\": 7, \"resources\": [] }"
        #expect(try lines(text, isColored: true).joined().contains("\u{1B}[31merror"))
        #expect(try !lines(text).joined().contains("\u{1B}"))
    }
}
