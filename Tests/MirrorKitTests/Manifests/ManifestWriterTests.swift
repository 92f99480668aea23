@testable import MirrorKit
import Testing

/// What is written and read again is the same model, in every notation that can say it.
@Suite struct ManifestWriterTests {
    private static let manifests =
        CaseFiles.manifests(in: "good").map { CaseFiles.cases + $0 }
        + ["example.json", "example.xml", "example.meta4", "quickstart.json", "quickstart.xml"]
        .map { CaseFiles.project + "/manifests/" + $0 }

    private func read(_ bytes: [UInt8], _ path: String) throws -> DecodedManifest {
        let origin: ManifestOrigin =
            path.contains("remote")
            ? .url(try SourceURL("https://origin.example/lists/" + path))
            : path.contains("stdin") ? .standardInput : .file(path: path)
        return try ManifestReader.read(bytes, label: path, origin: origin)
    }

    private func written(_ manifest: Manifest, with writer: ManifestWriter) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try writer.write(manifest) { bytes += $0 }
        return bytes
    }

    /// The resources without their places, which differ between notations.
    private func unplaced(_ manifest: Manifest) -> [Resource] {
        manifest.resources.map { resource in
            var resource = resource
            (resource.line, resource.column) = (0, 0)
            return resource
        }
    }

    @Test(arguments: manifests, [DecodedManifest.Notation.json, .xml])
    func readingWhatWasWrittenGivesTheSameModel(
        path: String, notation: DecodedManifest.Notation
    ) throws {
        let manifest = try read(try CaseFiles.bytes(path), path).manifest
        for folder in [nil, CaseFiles.project + "/manifests"] {
            var writer = ManifestWriter(notation, label: path)
            writer.folder = folder
            let bytes = try written(manifest, with: writer)
            let again = try read(bytes, path)
            #expect(again.notation == notation)
            #expect(again.manifest.name == manifest.name)
            #expect(again.manifest.owner == manifest.owner)
            #expect(unplaced(again.manifest) == unplaced(manifest))
            #expect(try written(again.manifest, with: writer) == bytes)
        }
    }

    @Test(arguments: manifests)
    func metalinkWriterKeepsTheModelOrRefuses(path: String) throws {
        let manifest = try read(try CaseFiles.bytes(path), path).manifest
        var writer = ManifestWriter(.metalink, label: path)
        do {
            let again = try read(try written(manifest, with: writer), path)
            #expect(again.notation == .metalink)
            #expect(unplaced(again.manifest) == unplaced(manifest))
        } catch let refusal as ManifestError {
            #expect(!path.hasSuffix(".meta4"), "\(refusal)")
            writer.isLossy = true
            guard manifest.resources.allSatisfy({ $0.method == .get }), manifest.name == nil else {
                return
            }
            let again = try read(try written(manifest, with: writer), path).manifest
            #expect(again.resources.map(\.target) == manifest.resources.map(\.target))
            #expect(again.resources.map(\.digests) == manifest.resources.map(\.digests))
        }
    }

    @Test func metalinkRefusesWhatItCannotExpress() throws {
        let path = CaseFiles.project + "/manifests/example.json"
        let manifest = try read(try CaseFiles.bytes(path), path).manifest
        let refusal = try #require(throws: ManifestError.self) {
            try ManifestWriter(.metalink, label: "example.json").check(manifest)
        }
        let lines = refusal.diagnostics.map(\.description)
        for (name, key) in [
            ("the manifest", "name"), ("the manifest", "atomic"),
            ("Documents/world.pmtiles", "headers"),
            ("Documents/world.pmtiles", "tags"), ("Documents/bin/viewer", "executable"),
            ("Caches/legacy.zip", "optional"), ("Documents/world.pmtiles", "type"),
            ("Documents/archive-2026.tar.zst", "refresh"),
        ] {
            #expect(lines.contains { $0.contains("\(name): Metalink has no \(key)") }, "\(key)")
        }
        #expect(lines.contains { $0.hasPrefix("example.json:16:5: error: Documents/world") })
    }

    @Test func lossyWriterRefusesAPost() throws {
        let path = CaseFiles.project + "/manifests/example.json"
        let manifest = try read(try CaseFiles.bytes(path), path).manifest
        var writer = ManifestWriter(.metalink, label: "example.json")
        writer.isLossy = true
        let refusal = try #require(throws: ManifestError.self) { try writer.check(manifest) }
        #expect(
            refusal.diagnostics.map(\.message) == [
                "Caches/report.json: Metalink has no method; write JSON"
            ])
    }

    private func manifest(_ change: (inout Resource) throws -> Void) throws -> Manifest {
        var resource = Resource(
            target: try Target("Caches/a"), url: try SourceURL("https://h.example/a"))
        try change(&resource)
        return Manifest(name: "m", resources: [resource])
    }

    @Test(arguments: [
        "<&>\"' ]]> \t\r\n end ", "  spaces  ", "\r\n\r", "\u{85}\u{2028}\u{10FFFF}e\u{301}", "$",
        "{\"a\":\"\\\\\"}",
    ])
    func everyTextSurvivesWritingAndReading(text: String) throws {
        let manifest = try manifest { resource in
            resource.method = .post(body: Template(literal: text))
        }
        for notation in [DecodedManifest.Notation.json, .xml] {
            let bytes = try written(manifest, with: ManifestWriter(notation, label: "code"))
            let again = try read(bytes, "/m.json").manifest
            #expect(again.resources[0].method == manifest.resources[0].method, "\(notation)")
        }
    }

    @Test func headerValuesKeepTabsAndSpaces() throws {
        let manifest = try manifest { resource in
            resource.primary.headers = [
                try HeaderField(name: "X-A", value: Template(literal: " a\tb  \"<&>' "))
            ]
        }
        for notation in [DecodedManifest.Notation.json, .xml] {
            let bytes = try written(manifest, with: ManifestWriter(notation, label: "code"))
            let again = try read(bytes, "/m.json").manifest
            #expect(again.resources[0].sources == manifest.resources[0].sources, "\(notation)")
        }
    }

    @Test func xmlRefusesCharactersThatItCannotHold() throws {
        let manifest = try manifest { resource in
            resource.method = .post(body: Template(literal: "a\u{1}"))
        }
        let refusal = try #require(throws: ManifestError.self) {
            try ManifestWriter(.xml, label: "code").check(manifest)
        }
        #expect(refusal.description.contains("Caches/a: body has the character U+1"))
        let json = try written(manifest, with: ManifestWriter(.json, label: "code"))
        #expect(unplaced(try read(json, "/m.json").manifest) == unplaced(manifest))
    }

    @Test func mirrorsOmitWhatTheyInherit() throws {
        let headers = try ["A", "B"].map {
            try HeaderField(name: $0, value: Template(literal: "1"))
        }
        let own = try HeaderField(name: "B", value: Template(literal: "2"))
        let manifest = try manifest { resource in
            resource.primary.headers = headers
            resource.mirrors.append(
                Source(url: try SourceURL("https://h.example/b"), headers: [headers[0], own]))
        }
        let bytes = try written(manifest, with: ManifestWriter(.json, label: "code"))
        #expect(String(decoding: bytes, as: UTF8.self).split(separator: "\"A\"").count == 2)
        #expect(unplaced(try read(bytes, "/m.json").manifest) == unplaced(manifest))
    }

    @Test func aMirrorCannotLackWhatItInherits() throws {
        let manifest = try manifest { resource in
            resource.primary.headers = [try HeaderField(name: "A", value: Template(literal: "1"))]
            resource.mirrors.append(Source(url: try SourceURL("https://h.example/b")))
        }
        #expect(throws: ManifestError.self) {
            try ManifestWriter(.json, label: "code").check(manifest)
        }
    }

    @Test(arguments: [
        ("file:///m/sub/a%20b", "sub/a%20b"), ("file:///m/a:b", "./a:b"),
        ("file:///other/a", "file:///other/a"), ("file:///m//a", "file:///m//a"),
        ("https://u:p@h.example:8443/a?q#f", "https://u:p@h.example:8443/a?q"),
        ("http://[::1]:8080/0", "http://[::1]:8080/0"),
    ])
    func filesBeneathTheFolderAreRelative(url: String, reference: String) throws {
        let url = try SourceURL(url)
        let folder = try #require(SourceURL(folder: "/m"))
        #expect(url.reference(from: folder) == reference)
        #expect(try SourceURL(reference, relativeTo: folder) == url)
    }

    @Test func aManifestIsWrittenInChunks() throws {
        let resources = try (0..<5000).map { number in
            Resource(
                target: try Target("Caches/\(number)"),
                url: try SourceURL("https://h.example/\(number)"))
        }
        let manifest = Manifest(name: "m", resources: resources)
        for notation in DecodedManifest.Notation.allCases {
            var writer = ManifestWriter(notation, label: "code")
            writer.isLossy = true
            var sizes: [Int] = []
            try writer.write(manifest) { sizes.append($0.count) }
            #expect(sizes.count > 3)
            #expect(sizes.allSatisfy { $0 < 66 << 10 })
        }
    }
}
