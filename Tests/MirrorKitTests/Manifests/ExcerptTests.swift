@testable import MirrorKit
import Testing

/// What a diagnostic shows of the manifest, and what it must not show.
@Suite struct ExcerptTests {
    private func diagnostics(_ text: String, origin: ManifestOrigin = .file(path: "/m")) throws
        -> [Diagnostic]
    {
        do {
            return try ManifestReader.read(Array(text.utf8), label: "m", origin: origin).warnings
        } catch let refusal as ManifestError { return refusal.diagnostics }
    }

    private func marked(_ diagnostic: Diagnostic) throws -> String {
        let excerpt = try #require(diagnostic.excerpt)
        let scalars = Array(excerpt.lines[excerpt.marked].text.unicodeScalars)
        return String(scalars[excerpt.mark])
    }

    private static let url = #""url": "https://h.example/a""#

    @Test(arguments: [
        ("{ \"resources\": [ { \(url), \"size\": \"12\" } ] }", "\"12\""),
        ("{ \"resources\": [ { \(url), \"size\": -1.5 } ] }", "-1.5"),
        ("{ \"resources\": [ { \(url), \"sha265\": \"x\" } ] }", "\"sha265\""),
        ("{ \"resources\": [ { \(url), } ] }", ","),
        ("{ \"resources\": [ { \(url), \"size\": [1, 2] } ] }", "["),
        ("{ \"resources\": [ { \(url), \"optional\": True } ] }", "True"),
        ("{ \"resources\": [ { \"path\": \"Caches/地図/../x\", \(url) } ] }", "\"Caches/地図/../x\""),
        ("{ \"resources\": [ { \"path\": \"Caches\\/..\\/x\", \(url) } ] }", "\"Caches\\/..\\/x\""),
        ("{ \"resources\": [] // why\n}", "// why"),
        ("{ \"resources\": [] /* why */ }", "/* why */"),
        ("{ \"name\": \"a\\qb\", \"resources\": [] }", "\\q"),
        ("{ name: 1 }", "name"), ("{ 'name': 1 }", "'name'"), ("{ \"resources\": [", "["),
        ("<manifest><resource url=\"https://h.example/a\" size=\"12k\"/></manifest>", "12k"),
        ("<manifest><resource url='https://h.example/a' size='12k'/></manifest>", "12k"),
        ("<manifest><resourc url=\"https://h.example/a\"/></manifest>", "<resourc"),
        ("<manifest> stray text </manifest>", "…"),
    ])
    func markCoversWhatIsMeant(text: String, word: String) throws {
        let first = try #require(try diagnostics(text).first)
        #expect(try marked(first) == word)
        if word != "…" {
            #expect(first.endColumn == first.column + word.unicodeScalars.count)
        }
    }

    @Test func nearbyLinesAreShownUnlessBlank() throws {
        let text = "{\n\n  \"name\": 7,\r\n  \"resources\": []\n}"
        let excerpt = try #require(try diagnostics(text).first?.excerpt)
        #expect(excerpt.lines.map(\.number) == [3, 4])
        #expect(excerpt.lines.map(\.text) == ["  \"name\": 7,", "  \"resources\": []"])
        #expect(excerpt.marked == 0)
    }

    @Test func byteOrderMarkTakesNoColumn() throws {
        let first = try #require(
            try diagnostics("\u{FEFF}{ \"name\": 7, \"resources\": [] }").first)
        #expect(first.column == 11)
        #expect(try marked(first) == "7")
    }

    @Test(arguments: [1, 5_000, 50_000])
    func longLineIsShownAroundItsPlace(entries: Int) throws {
        let entry = "{ \"path\": \"Caches/地\", \"url\": \"https://h.example/a\", \"x-n\": 1 }"
        let bad = "{ \"url\": \"https://h.example/a\", \"size\": \"7\" }"
        let list = Array(repeating: entry, count: entries - 1) + [bad]
        let text = "{ \"resources\": [ " + list.joined(separator: ", ") + " ] }"
        let found = try diagnostics(text).first { $0.message.hasPrefix("size") }
        guard let found else { return #expect(entries > 20) }
        #expect(try marked(found) == "\"7\"")
        #expect(found.excerpt?.lines.count == 1)
        #expect((found.excerpt?.lines[0].text.unicodeScalars.count ?? .max) <= 400)
        #expect(found.replacement?.new == "7")
    }

    /// Each text has the word "geheim" in places where secrets stand, and an error on that line.
    @Test(arguments: [
        #"{"resources":[{"url":"https://h.example/a","size":"x","headers":{"Authorization":"geheim"}}]}"#,
        #"{"resources":[{"url":"https://h.example/a","size":"x","headers":{"X-N":7,"Y":"geheim\"geheim"}}]}"#,
        #"{"resources":[{"url":"https://geheim:geheim@h.example/a?k=geheim","size":"x"}]}"#,
        #"{"resources":[{"url":"//u:geheim@h.example/a","size":"x"}]}"#,
        #"{"resources":[{"url":"https:\/\/u:geheim@h.example\/a","size":"x"}]}"#,
        #"{"resources":[{"url":"https://u:geh eim@h.example:99999/a?geheim"}]}"#,
        "<manifest><resource url=\"https&#58;//u:geheim@h.example/a\" size=\"x\"/></manifest>",
        #"{"resources":[{"url":"https://h.example/a","size":"x","method":"POST","body":"geheim"}]}"#,
        #"{"resources":[{"url":"https://h.example/a","size":"x","x-note":"geheim"}]}"#,
        #"{"resources":[{"url":"https://h.example/a","size":"x","passwort":"geheim"}]}"#,
        "{\"resources\":[{\"url\":\"https://h.example/a\",\"headers\":{\"Authorization\":\n\"geheim $\"}}]}",
        "{\"resources\":[{\"url\":\"https://h.example/a\",\"headers\":{\"Authorization\":\"geheim\n",
        "<manifest><resource url=\"https://h.example/a?geheim\" size=\"x\"><header name=\"A\" value=\"geheim\"/></resource></manifest>",
        "<manifest><resource url=\"https://h.example/a\" size=\"x\" method=\"POST\"><body>geheim</body></resource></manifest>",
        "<manifest><resource url=\"https://h.example/a\"><header name=\"TE\" value='geheim'/></resource></manifest>",
        "<manifest><resource url=\"https://h.example/a\"><header name=\"A\" value=\"x\ngeheim\" b=\"x\"/></resource></manifest>",
    ])
    func secretsAreLeftOutOfEveryLine(text: String) throws {
        let found = try diagnostics(text)
        #expect(!found.isEmpty)
        for diagnostic in found {
            let shown =
                (diagnostic.excerpt?.lines ?? []) + (diagnostic.replacement?.corrected.lines ?? [])
            #expect(!shown.isEmpty)
            for line in shown { #expect(!line.text.contains("geheim"), "\(line.text)") }
        }
    }

    /// The user of the manifest's own URL is one that was given on the command line.
    @Test func relativeURLsHaveTheManifestsUser() throws {
        let origin = ManifestOrigin.url(try SourceURL("http://u:pw@h.example/maps/m.json"))
        let read = { (url: String) in
            try diagnostics(
                "{\"resources\":[{\"path\":\"Caches/a\",\"url\":\"\(url)\"}]}", origin: origin)
        }
        #expect(try read("a.bin").isEmpty)
        #expect(try read("/a.bin").isEmpty)
        #expect(try read("//h.example/a.bin").isEmpty)
        #expect(try !read("//u:pw@h.example/a.bin").isEmpty)
        #expect(try !read("http://u:pw@h.example/a.bin").isEmpty)
    }

    @Test(arguments: CaseFiles.manifests(in: "bad"))
    func everyBadManifestHasMarksWithinItsLines(name: String) throws {
        let bytes = try CaseFiles.bytes(CaseFiles.cases + name)
        let refusal = try #require(throws: ManifestError.self) {
            try ManifestReader.read(bytes, label: name, origin: .standardInput)
        }
        for diagnostic in refusal.diagnostics {
            guard let excerpt = diagnostic.excerpt else { continue }
            let line = excerpt.lines[excerpt.marked]
            #expect(line.number == diagnostic.line)
            #expect(excerpt.mark.upperBound <= line.text.unicodeScalars.count)
            #expect(diagnostic.endColumn >= diagnostic.column)
        }
    }
}
