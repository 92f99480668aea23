@testable import MirrorKit
import Testing

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

    @Test func equalLastNamesGetSeparateFolders() throws {
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

    @Test func theLaterOfTwoEqualEntriesIsOmitted() throws {
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

    @Test(arguments: [
        "https://me:pw@h.example/a?token=1", "me:pw@h.example/a?token=1", "h.example/a?token=pw",
        "git+ssh://me:pw@h.example/a",
    ])
    func aNameShowsNoSecret(name: String) {
        let entry = LeftOutEntry(name, "r", line: 1, column: 1)
        #expect(!entry.name.contains("pw") && !entry.name.contains("token"), "\(entry.name)")
    }

    @Test(arguments: ["@scope/name@1.0", "name@1.0", "magnet:?xt=urn:btih:00", "a/b.txt"])
    func aNameWithoutASecretStays(name: String) {
        #expect(LeftOutEntry(name, "r", line: 1, column: 1).name == name)
    }

    /// What a list names and what no reader can take is named too.
    @Test func packagesWithoutFilesAreNamed() throws {
        let uv = """
            version = 1
            [[package]]
            name = "empty"
            version = "1.0"
            source = { registry = "https://i.example/simple" }
            [[package]]
            name = "whole"
            version = "1.0"
            source = { registry = "https://i.example/simple" }
            sdist = { url = "https://f.example/whole-1.0.tar.gz" }
            """
        #expect(try read(uv, format: .uv).leftOut.map(\.name).first?.hasPrefix("empty") == true)
        let gems = """
            PLUGIN SOURCE
              remote: https://p.example/
              type: x
              specs:
                plug (1.0)

            GEM
              remote: https://g.example/
              specs:
                rake (13.0.6)
            """
        let list = try read(gems, format: .gemfile)
        #expect(list.leftOut.map(\.name) == ["plug 1.0"])
        #expect(list.manifest.resources.count == 1)
    }

    /// A tree of Hugging Face, as an answer to this URL.
    private func foldersLeftOut(of query: String, _ paths: (type: String, path: String)...) throws
        -> [String]
    {
        let entries = paths.map {
            "{ \"type\": \"\($0.type)\", \"oid\": \"0\", \"size\": 1, \"path\": \"\($0.path)\" }"
        }
        let url = try SourceURL("https://hf.example/api/models/o/m/tree/main" + query)
        let decoded = try ManifestReader.read(
            Array("[\(entries.joined(separator: ","))]".utf8), label: "l", origin: .url(url))
        return decoded.leftOut.map(\.name)
    }

    @Test func foldersOfAFlatTreeAreNamed() throws {
        let paths = [("file", "sub/a"), ("directory", "sub/deep")]
        #expect(try foldersLeftOut(of: "/sub", paths[0], paths[1]) == ["sub/deep"])
        #expect(try foldersLeftOut(of: "?recursive=false", paths[0], paths[1]) == ["sub/deep"])
        #expect(try foldersLeftOut(of: "?recursive=true", paths[0], paths[1]) == [])
    }

    /// A page with a NUL would be read up to it.
    @Test func nulInAPageIsRefused() throws {
        let page = "<title>Index of</title><a href=a>a</a>\0<a href=b>b</a>"
        #expect(throws: ManifestError.self) {
            try ManifestReader.read(
                Array(page.utf8), label: "l",
                origin: .url(try SourceURL("https://h.example/pub/")))
        }
    }

    /// A listing of more entries would be followed for hours.
    @Test func aListingBeyond100000EntriesIsRefused() throws {
        let links = (0..<100_200).map { "<a href=f\($0)>f</a>" }.joined()
        let error = #expect(throws: ManifestError.self) {
            try ManifestReader.read(
                Array("<title>Index of</title>\(links)".utf8), label: "l",
                origin: .url(try SourceURL("https://h.example/pub/")))
        }
        #expect(error?.description.contains("at most 100000 are read") == true)
    }

    /// Names that do not fit into a header of tar stand in an entry in front of it, or in two fields.
    @Test(arguments: ["name", "prefix", "L", "x"])
    func longNamesInATarAreFound(form: String) throws {
        let folder = String(repeating: "p", count: 120)
        let desc = Array("%FILENAME%\nlong.pkg\n\n%CSIZE%\n1\n".utf8)
        var tar: [UInt8]
        switch form {
        case "name": tar = entry("short/desc", "0", desc)
        case "prefix": tar = entry("desc", "0", desc, prefix: folder)
        case "L":
            tar = entry("././@LongLink", "L", Array("\(folder)/desc".utf8) + [0])
            tar += entry(String(folder.prefix(100)), "0", desc)
        default:
            tar = entry("pax", "x", Array("140 path=\(folder)/desc\n".utf8))
            tar += entry(String(folder.prefix(100)), "0", desc)
        }
        tar += [UInt8](repeating: 0, count: 1024)
        let text = try #require(ListText.texts(inTar: tar))
        #expect(String(decoding: text, as: UTF8.self).contains("long.pkg"))
    }

    private func entry(
        _ name: String, _ type: Character, _ body: [UInt8], prefix: String = ""
    ) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: 512)
        let put = { (text: String, at: Int) in
            for (offset, byte) in text.utf8.enumerated() { header[at + offset] = byte }
        }
        put(name, 0)
        let size = String(body.count, radix: 8)
        put(String(repeating: "0", count: 11 - size.count) + size, 124)
        put(String(type), 156)
        put("ustar", 257)
        put(prefix, 345)
        return header + body + [UInt8](repeating: 0, count: (512 - body.count % 512) % 512)
    }
}
