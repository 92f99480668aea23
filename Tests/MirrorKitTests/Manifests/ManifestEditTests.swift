@testable import MirrorKit
import Testing

/// Sizes and digests are put into a manifest's text, and nothing else of it changes.
@Suite struct ManifestEditTests {
    private let sha256 = String(repeating: "ab", count: 32)

    private func edited(
        _ text: String, _ values: [Int: PinnedValues]
    ) throws -> String {
        let origin = ManifestOrigin.file(path: "/lists/m.json")
        let bytes = Array(text.utf8)
        let decoded = try ManifestReader.read(bytes, label: "m.json", origin: origin)
        let edit = ManifestEdit(bytes: bytes, decoded: decoded, label: "m.json", origin: origin)
        return String(decoding: try edit.text(pinning: values), as: UTF8.self)
    }

    private var both: PinnedValues { PinnedValues(size: 7, sha256: sha256) }

    @Test func jsonOnOneLineStaysThere() throws {
        let text = "{ \"resources\": [ { \"url\": \"a\", \"tags\": [ \"x\" ] } ] }\n"
        #expect(
            try edited(text, [0: both])
                == "{ \"resources\": [ { \"url\": \"a\", \"size\": 7, \"sha256\": \"\(sha256)\","
                + " \"tags\": [ \"x\" ] } ] }\n")
    }

    @Test func jsonInLinesGetsNewLines() throws {
        let text = """
            {\r
              "x-note": { "url": "not this", "resources": [ { "url": "nor this" } ] },\r
              "resources": [\r
                { "url": "b" },\r
                {\r
            \t"mirrors": [ { "url": "https://m.example/a" } ],\r
            \t"url": "a"\r
                }\r
              ]\r
            }
            """
        let wanted = text.split(separator: "\t\"url\": \"a\"").map(String.init)
        #expect(
            try edited(text, [1: PinnedValues(size: nil, sha256: sha256)])
                == wanted.joined(separator: "\t\"url\": \"a\",\r\n\t\"sha256\": \"\(sha256)\""))
    }

    @Test func denseJSONStaysDense() throws {
        #expect(
            try edited("{\"resources\":[{\"url\":\"\\u0061\"},{\"url\":\"é\"}]}", [1: both])
                == "{\"resources\":[{\"url\":\"\\u0061\"},{\"url\":\"é\",\"size\":7,\"sha256\":"
                + "\"\(sha256)\"}]}")
    }

    @Test func aByteOrderMarkStays() throws {
        let text = "\u{FEFF}{ \"resources\": [ { \"url\": \"a\" } ] }"
        #expect(try edited(text, [0: PinnedValues(size: 7)]).hasPrefix("\u{FEFF}{ "))
    }

    @Test func xmlAttributesFollowTheURL() throws {
        let text = """
            <?xml version="1.0"?><!-- <resource url="no"/> -->
            <manifest name='>'>
              <x-note><resource url="no"/><![CDATA[<resource url="no"/>]]></x-note>
              <resource
                  path='Caches/a>'
                  url="a"
                  tags="x"/>
              <resource url='https://h.example/b?x=1&amp;y=2'><mirror url="https://m.example/b"/></resource>
            </manifest>
            """
        let once = try edited(text, [0: both])
        #expect(
            once
                == text.replacing(
                    "      url=\"a\"\n",
                    with: "      url=\"a\"\n      size=\"7\"\n      sha256=\"\(sha256)\"\n"))
        #expect(
            try edited(text, [1: both])
                == text.replacing(
                    "y=2'>", with: "y=2' size=\"7\" sha256=\"\(sha256)\">"))
    }

    @Test func metalinkElementsComeBeforeTheURLs() throws {
        let text = """
            <m:metalink xmlns:m="urn:ietf:params:xml:ns:metalink">
              <m:file name="a"><m:url>https://h.example/a</m:url></m:file>
              <m:file name="b">
                <m:url priority="2">https://h.example/b</m:url>
                <m:url priority="1">https://i.example/b</m:url>
              </m:file>
            </m:metalink>
            """
        let hash = "<m:hash type=\"sha-256\">\(sha256)</m:hash>"
        #expect(
            try edited(text, [0: both, 1: PinnedValues(size: 0)])
                == text.replacing(
                    "<m:url>", with: "<m:size>7</m:size>\(hash)<m:url>"
                ).replacing(
                    "<m:url priority=\"2\">",
                    with: "<m:size>0</m:size>\n    <m:url priority=\"2\">"))
    }

    /// Whatever the form of a manifest, each of its resources can be given what it lacks.
    @Test(
        arguments: CaseFiles.manifests(in: "good").map { CaseFiles.cases + $0 }
            + ["example.json", "example.xml", "example.meta4", "quickstart.json"]
            .map { CaseFiles.project + "/manifests/" + $0 })
    func sizesAndDigestsAreAddedWhereMissing(path: String) throws {
        let bytes = try CaseFiles.bytes(path)
        guard !path.contains("stdin"), !path.contains("remote") else { return }
        let origin = ManifestOrigin.file(path: path)
        let decoded = try ManifestReader.read(bytes, label: path, origin: origin)
        var values: [Int: PinnedValues] = [:]
        for (position, resource) in decoded.manifest.resources.enumerated() {
            let isDeclared = resource.digests.contains { $0.algorithm == .sha256 }
            let size = resource.pieces.map { $0.length * Int64($0.count) } ?? 7
            values[position] = PinnedValues(
                size: resource.size == nil ? size : nil, sha256: isDeclared ? nil : sha256)
        }
        let edit = ManifestEdit(bytes: bytes, decoded: decoded, label: path, origin: origin)
        let again = try ManifestReader.read(
            try edit.text(pinning: values), label: path, origin: origin)
        #expect(again.manifest.resources.allSatisfy { $0.pin != nil && $0.size != nil })
    }

    @Test func anEditThatLosesValuesIsRefused() throws {
        let text = "{ \"resources\": [ { \"url\": \"a\", \"size\": 8 } ] }"
        let error = try #require(throws: MirrorError.self) {
            try edited(text, [0: PinnedValues(sha256: "0\", \"size\": 9")])
        }
        #expect(error.code == .manifestInvalid)
    }
}
