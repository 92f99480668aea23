@testable import MirrorKit
import Testing

/// The manifests that the repository shows: they must be what the decoders take.
@Suite struct ExampleManifestTests {
    private func read(_ name: String) throws -> DecodedManifest {
        let path = CaseFiles.project + "/manifests/" + name
        return try ManifestReader.read(
            try CaseFiles.bytes(path), label: name, origin: .file(path: path))
    }

    /// The resources without their places, which differ between notations.
    private func unplaced(_ manifest: Manifest) -> [Resource] {
        manifest.resources.map { resource in
            var resource = resource
            (resource.line, resource.column) = (0, 0)
            return resource
        }
    }

    @Test(arguments: ["example", "quickstart"])
    func bothExamplesGiveTheSameModel(name: String) throws {
        let json = try read(name + ".json")
        let xml = try read(name + ".xml")
        #expect(json.notation == .json)
        #expect(xml.notation == .xml)
        #expect(json.manifest.name == xml.manifest.name)
        #expect(unplaced(json.manifest) == unplaced(xml.manifest))
        #expect(json.warnings.map(\.message) == xml.warnings.map(\.message))
    }

    @Test func exampleManifestGivesTheExpectedModel() throws {
        let decoded = try read("example.json")
        let resources = Array(decoded.manifest.resources)
        #expect(decoded.manifest.name == "field-maps")
        #expect(resources.count == 8)

        let world = resources[0]
        #expect(world.target.path == "Documents/world.pmtiles")
        #expect(
            world.sources.map(\.url.requestText) == [
                "https://origin.example/maps/world.pmtiles", "https://eu.example/world.pmtiles",
                "https://paid.example/world.pmtiles",
            ])
        // Headers stay with their own origin; a mirror elsewhere has only what it was given.
        #expect(world.sources.map { $0.headers.map(\.name) } == [["Accept"], [], ["X-Key"]])
        #expect(world.pin?.algorithm == .sha256)
        #expect(world.pieces?.count == 3)
        #expect(world.refresh == .never)
        #expect(world.tags == ["field", "maps", "large"])
        #expect(world.priority == 10)

        #expect(resources[1].pin?.algorithm == .sha512)
        #expect(resources[1].refresh == .after(.seconds(21600)))
        #expect(resources[2].isExecutable)
        #expect(resources[3].isOptional)
        #expect(resources[4].isUrgent)
        #expect(resources[3].pin == nil)
        #expect(resources[3].digests.map(\.algorithm) == [.sha1, .md5])
        #expect(resources[4].target.path == "Caches/feed.json")
        #expect(resources[4].mediaType == MediaRange("application/json"))
        #expect(resources[5].isNamedByServer)
        #expect(resources[5].target.path == "Caches/tiles/latest")
        #expect(resources[5].refresh == .http)
        #expect(
            resources[6].method == .post(body: Template(literal: "type=JSON&price=$5")))
        #expect(resources[6].sources[0].headers.map(\.name) == ["Accept", "Authorization"])
        #expect(resources[6].priority == 1)
        #expect(decoded.warnings.count == 2)
    }

    @Test func metalinkExampleGivesTheSameModel() throws {
        let decoded = try read("example.meta4")
        let resources = Array(decoded.manifest.resources)
        #expect(decoded.notation == .metalink)
        #expect(decoded.manifest.name == nil)
        #expect(decoded.manifest.owner == "example")
        #expect(
            resources.map(\.target.path) == [
                "Documents/world.pmtiles", "Caches/viewer-1.2.tar.gz",
            ])
        // Lower numbers first, whatever the order in the file; metaurl is no source.
        #expect(resources[0].sources.map(\.url.host) == ["origin.example", "eu.example"])
        #expect(resources[0].pieces == (try read("example.json").manifest.resources[0].pieces))
        #expect(resources[1].digests.map(\.algorithm) == [.sha512, .md5])
        #expect(resources[0].refresh == .never)
    }

    @Test func theQuickstartNamesFilesOfTheRepository() throws {
        for resource in try read("quickstart.json").manifest.resources {
            for source in resource.sources {
                let path = try #require(source.url.filePath)
                let bytes = try CaseFiles.bytes(path)
                if let size = resource.size { #expect(size == Int64(bytes.count)) }
                for digest in resource.digests {
                    #expect(ByteHasher.digest(digest.algorithm, of: bytes) == digest)
                }
            }
        }
    }
}
