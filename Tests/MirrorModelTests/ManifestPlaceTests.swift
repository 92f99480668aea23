@testable import MirrorKit
import Testing

/// How a root keeps the place of a manifest, and finds it again after it was moved.
@Suite struct ManifestPlaceTests {
    @Test(arguments: [
        ("/w/root", "/w/root/m.json", ManifestPlace.relative("m.json")),
        ("/w/root", "/w/root/Documents/m.json", .relative("Documents/m.json")),
        ("/w/root", "/w/m.json", .relative("../m.json")),
        (
            "/w/root", "/w/ci/m.json",
            .either(relative: "../ci/m.json", absolute: "/w/ci/m.json")
        ),
        ("/w/root", "/etc/m.json", .absolute("/etc/m.json")),
        (
            "/w/root", "/w/rootless/m.json",
            .either(relative: "../rootless/m.json", absolute: "/w/rootless/m.json")
        ),
        ("/root", "/m.json", .relative("../m.json")),
        ("/root", "/etc/m.json", .absolute("/etc/m.json")),
        ("/", "/m.json", .relative("m.json")),
    ])
    func insideAndBesideAreRelative(_ root: String, _ path: String, _ place: ManifestPlace) {
        #expect(ManifestPlace(path: path, root: root) == place)
        #expect(place.paths(from: root).first == path)
    }

    @Test func aMovedRootLooksBesideItself() {
        let place = ManifestPlace(path: "/w/m.json", root: "/w/root")
        #expect(place.paths(from: "/builds/7/root") == ["/builds/7/m.json"])
        #expect(place.paths(from: "/root") == ["/m.json"])
    }

    @Test func aFartherPlaceIsTriedWhereItWas() {
        let place = ManifestPlace(path: "/w/ci/m.json", root: "/w/root")
        #expect(place.paths(from: "/builds/root") == ["/builds/ci/m.json", "/w/ci/m.json"])
        #expect(place.paths(from: "/w/root") == ["/w/ci/m.json"])
    }

    @Test func aURLHasNoPath() {
        #expect(ManifestPlace.url(SourceKey(text: "https://h/m")).paths(from: "/r").isEmpty)
    }
}

/// Tags and targets in options that no manifest has.
@Suite struct UnknownNameTests {
    @Test func aMisspeltTagSuggestsTheNearest() {
        let words = NearestName.sentence(tag: "mpas", known: ["maps", "text"])
        #expect(
            words == "\"mpas\": no resource has this tag. Did you mean maps?")
    }

    @Test func withoutANearPlaceAllAreListed() {
        let known = Set((0..<10).map { "tag\($0)" })
        let words = NearestName.sentence(tag: "zzz", known: known)
        #expect(words.contains("tag0, tag1, "))
        #expect(words.contains(" and 2 more."))
        let none = NearestName.sentence(tag: "x", known: [])
        #expect(none.contains("have no tags"))
    }

    @Test(arguments: [
        ("Cache/py/**", "Did you mean 'Caches/py/**'?"),
        ("caches/pi/*.whl", "Did you mean 'Caches/py/*.whl'?"),
        ("Caches/py", "Did you mean 'Caches/py/**'?"),
        ("py/**", "Did you mean 'Caches/py/**'?"),
        ("Documents/wrold.bin", "Did you mean 'Documents/world.bin'?"),
        ("main/binary-amd46", "Did you mean main/binary-amd64?"),
        ("Caches/py/*.whk", "mirror plan -v lists the targets."),
        ("Caches/npm/**", "mirror plan -v lists the targets."),
        ("*.whk", "mirror plan -v lists the targets."),
    ])
    func aMisspeltPatternSuggestsTheNearest(word: String, end: String) throws {
        var resources = try ["Caches/py/a.whl", "Documents/world.bin"].map {
            try Resource($0, from: "https://h/\($0)")
        }
        resources[0].tags = ["main/binary-amd64"]
        let manifest = Manifest(name: "m", resources: resources)
        let refusal = try #require(throws: MirrorError.self) {
            try Selection(only: [word]).refuseUnknownWords(in: [manifest])
        }
        #expect(refusal.code == .usage)
        #expect(refusal.message.hasSuffix(end), "\(refusal.message)")
    }

    @Test(arguments: [
        ("world.bin", "Did you mean 'Documents/world.bin'?"),
        ("Caches", "Did you mean 'Caches/**'?"),
        ("maps", "The manifests have no tags."),
    ])
    func aNameThatIsNoTagSuggestsItsPattern(word: String, end: String) throws {
        let resources = try ["Caches/py/a.whl", "Documents/world.bin"].map {
            try Resource($0, from: "https://h/\($0)")
        }
        let manifest = Manifest(name: "m", resources: resources)
        let words = NearestName.sentence(tag: word, known: [], in: [manifest])
        #expect(words.hasSuffix(end), "\(words)")
    }

    @Test func aMisspeltTargetSuggestsTheNearest() throws {
        let known = try ["Caches/a.bin", "Documents/long/way/down/to/the/world.pmtiles"].map {
            try Target($0)
        }
        let words = NearestName.sentence(
            target: try Target("Documents/long/way/down/to/the/wrold.pmtiles"), among: known)
        #expect(words.contains("Did you mean \(known[1])?"))
        let far = NearestName.sentence(target: try Target("tmp/x"), among: known)
        #expect(far.hasSuffix("mirror plan -v lists those that are wanted."))
    }
}
