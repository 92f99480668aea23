@testable import MirrorKit
import Testing

/// Entries come and go, and nothing else of a manifest's text changes.
@Suite struct ManifestEntryTests {
    private let origin = ManifestOrigin.file(path: "/lists/m.json")

    private func edit(_ text: String) throws -> ManifestEdit {
        let bytes = Array(text.utf8)
        let decoded = try ManifestReader.read(bytes, label: "m.json", origin: origin)
        return ManifestEdit(bytes: bytes, decoded: decoded, label: "m.json", origin: origin)
    }

    private func added(_ text: String, _ names: [String] = ["n"]) throws -> String {
        let entries = try names.map {
            NewEntry(
                target: try Target("Caches/\($0)"),
                url: try SourceURL("https://h.example/\($0)?a&b"))
        }
        return String(decoding: try edit(text).text(adding: entries), as: UTF8.self)
    }

    private func removed(_ text: String, _ positions: Set<Int>) throws -> String {
        String(decoding: try edit(text).text(removing: positions), as: UTF8.self)
    }

    private let entry = #"{ "path": "Caches/n", "url": "https://h.example/n?a&b" }"#
    private let element = #"<resource path="Caches/n" url="https://h.example/n?a&amp;b"/>"#

    @Test(arguments: [
        // In one line, dense or not.
        (#"{ "resources": [ { "url": "a" } ] }"#, #"{ "resources": [ { "url": "a" }, % ] }"#),
        (#"{"resources":[{"url":"a"}],"x-n":1}"#, #"{"resources":[{"url":"a"}, %],"x-n":1}"#),
        // A line each.
        (
            "{\n  \"resources\": [\n    { \"url\": \"a\" },\n\t{ \"url\": \"b\" }\n  ]\n}\n",
            "{\n  \"resources\": [\n    { \"url\": \"a\" },\n\t{ \"url\": \"b\" },\n\t%\n  ]\n}\n"
        ),
        (
            "{\r\n\"resources\": [\r\n  { \"url\": \"a\" }\r\n]}",
            "{\r\n\"resources\": [\r\n  { \"url\": \"a\" },\r\n  %\r\n]}"
        ),
        // Nothing there yet.
        ("{\n  \"resources\": []\n}", "{\n  \"resources\": [\n    %\n  ]\n}"),
        ("{ \"resources\": [ ] }", "{ \"resources\": [\n  %\n] }"),
        // Another list of that name, before and behind.
        (
            #"{ "x-n": { "resources": [ {} ] }, "resources": [ { "url": "a" } ], "x-m": [ 1 ] }"#,
            #"{ "x-n": { "resources": [ {} ] }, "resources": [ { "url": "a" }, % ], "x-m": [ 1 ] }"#
        ),
    ])
    func jsonEntriesAreAddedLast(text: String, wanted: String) throws {
        #expect(try added(text) == wanted.replacing("%", with: entry))
    }

    @Test(arguments: [
        (
            "<manifest>\n  <resource url=\"a\"/>\n</manifest>\n",
            "<manifest>\n  <resource url=\"a\"/>\n  %\n</manifest>\n"
        ),
        (
            "<manifest><resource url='a'><mirror url='http://b/'/></resource></manifest>",
            "<manifest><resource url='a'><mirror url='http://b/'/></resource>%</manifest>"
        ),
        ("<manifest></manifest>", "<manifest>\n  %\n</manifest>"),
        ("<manifest>\n</manifest>", "<manifest>\n  %\n</manifest>"),
        (
            "<?xml version='1.0'?>\n<m:manifest xmlns:m='urn:x' name='n'/>",
            "<?xml version='1.0'?>\n<m:manifest xmlns:m='urn:x' name='n'>\n  %\n</m:manifest>"
        ),
        (
            "<manifest>\n\t<resource url='a'/><!-- <resource/> -->\n</manifest>",
            "<manifest>\n\t<resource url='a'/>\n\t%<!-- <resource/> -->\n</manifest>"
        ),
    ])
    func anXMLElementComesLast(text: String, wanted: String) throws {
        // A root in a namespace is none of mirror's own.
        guard (try? edit(text)) != nil else { return }
        #expect(try added(text) == wanted.replacing("%", with: element))
    }

    @Test func severalEntriesComeInTheirOrder() throws {
        let text = try added("{ \"resources\": [] }", ["b", "a"])
        let again = try edit(text).decoded.manifest.resources
        #expect(again.map(\.target.name) == ["b", "a"])
    }

    @Test func aNewManifestIsOne() throws {
        let entries = [
            NewEntry(target: try Target("Documents/a \"b\""), url: try SourceURL("http://h/a"))
        ]
        let bytes = ManifestEdit.text(named: "mäps", entries)
        let manifest = try edit(String(decoding: bytes, as: UTF8.self)).decoded.manifest
        #expect(manifest.name == "mäps")
        #expect(manifest.resources.map(\.target.path) == ["Documents/a \"b\""])
        #expect(ManifestEdit.text(named: "m", []).count > 30)
    }

    @Test(
        arguments: [
            (
                #"{ "resources": [ { "url": "a" }, { "url": "b" } ] }"#, [0],
                #"{ "resources": [ { "url": "b" } ] }"#
            ),
            (
                #"{ "resources": [ { "url": "a" }, { "url": "b" } ] }"#, [1],
                #"{ "resources": [ { "url": "a" } ] }"#
            ),
            (
                #"{ "resources": [ { "url": "a" }, { "url": "b" } ] }"#, [0, 1],
                #"{ "resources": [  ] }"#
            ),
            (
                #"{"resources":[{"url":"a"},{"url":"b"},{"url":"c"},{"url":"d"}]}"#, [1, 3],
                #"{"resources":[{"url":"a"},{"url":"c"}]}"#
            ),
            (
                #"{"resources":[{"url":"a"},{"url":"b"},{"url":"c"},{"url":"d"}]}"#, [0, 2, 3],
                #"{"resources":[{"url":"b"}]}"#
            ),
            (
                "{ \"resources\": [\n  { \"url\": \"a\" },\n  {\n    \"url\": \"b\"\n  }\n] }", [1],
                "{ \"resources\": [\n  { \"url\": \"a\" }\n] }"
            ),
            (
                "<manifest>\n  <resource url='a'/>\n  <resource url='b'>\n  </resource>\n</manifest>",
                [1],
                "<manifest>\n  <resource url='a'/>\n</manifest>"
            ),
            (
                "<manifest><resource url='a'/> <resource url='b'/></manifest>", [0],
                "<manifest> <resource url='b'/></manifest>"
            ),
            ("<manifest><resource url='a'/></manifest>", [0], "<manifest></manifest>"),
        ] as [(String, Set<Int>, String)])
    func entriesGoWithTheirSeparators(text: String, positions: Set<Int>, wanted: String) throws {
        #expect(try removed(text, positions) == wanted)
    }

    @Test func anEntryThatCollidesIsRefused() throws {
        let text = #"{ "resources": [ { "url": "https://h.example/N", "path": "Caches/N" } ] }"#
        let error = #expect(throws: MirrorError.self) { try added(text) }
        #expect(error?.code == .manifestInvalid)
        #expect(error?.message.hasPrefix("m.json: nothing was added: ") == true)
    }

    /// Positions of another text would take out another entry.
    @Test func theTextIsReadAgainBeforeRemoval() throws {
        let text = { (names: [String]) in
            let entries = names.map { #"{ "url": "https://h.example/\#($0)" }"# }
            return Array("{ \"resources\": [ \(entries.joined(separator: ", ")) ] }".utf8)
        }
        let decoded = try ManifestReader.read(text(["a", "b"]), label: "m.json", origin: origin)
        let edit = ManifestEdit(
            bytes: text(["b", "a"]), decoded: decoded, label: "m.json", origin: origin)
        #expect(throws: MirrorError.self) { try edit.text(removing: [0]) }
    }

    @Test func entriesOfAMetalinkStay() throws {
        let text = """
            <metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="a"><url>http://h/a</url>\
            </file></metalink>
            """
        #expect(throws: MirrorError.self) { try added(text) }
        #expect(throws: MirrorError.self) { try removed(text, [0]) }
    }

    @Test func aDeclaredValueIsReplaced() throws {
        let old = String(repeating: "00", count: 32)
        let new = String(repeating: "ab", count: 32)
        let json = "{ \"resources\": [ { \"sha256\": \"\(old)\", \"url\": \"a\", \"size\": 12 } ] }"
        let values = [0: PinnedValues(size: 7, sha256: new)]
        #expect(
            try edit(json).text(pinning: values)
                == Array(
                    "{ \"resources\": [ { \"sha256\": \"\(new)\", \"url\": \"a\", \"size\": 7 } ] }"
                        .utf8))
        let xml = "<manifest><resource size='12' url='a' sha256='\(old)'/></manifest>"
        #expect(
            try edit(xml).text(pinning: values)
                == Array(
                    "<manifest><resource size=\"7\" url='a' sha256=\"\(new)\"/></manifest>".utf8))
    }
}
