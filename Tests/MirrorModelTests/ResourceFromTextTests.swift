@testable import MirrorKit
import Testing

/// A resource that a program makes from texts, as the entry of a manifest.
@Suite struct ResourceFromTextTests {
    private static let sha256 = String(repeating: "0a", count: 32)

    @Test func textsBecomeTheirValues() throws {
        let resource = try Resource(
            "Documents/a.bin", from: "https://a.example/a", mirrors: ["http://b.example/a"],
            size: 5, sha256: Self.sha256.uppercased(), headers: ["X-B": "2", "Accept": "$1"])
        #expect(resource.target == Target(unchecked: "Documents/a.bin"))
        #expect(
            resource.sources.map(\.url.description)
                == ["https://a.example/a", "http://b.example/a"])
        #expect(resource.size == 5)
        #expect(resource.pin?.hex == Self.sha256)
        #expect(resource.primary.headers.map(\.name) == ["Accept", "X-B"])
        #expect(resource.primary.headers.map { $0.value.filled { _ in nil } } == ["$1", "2"])
        #expect(resource.mirrors.map(\.headers) == [[]])
    }

    @Test func refreshFollowsTheDigest() throws {
        let url = "https://a.example/a"
        #expect(try Resource("Caches/a", from: url).refresh == .always)
        #expect(try Resource("Caches/a", from: url, sha256: Self.sha256).refresh == .never)
        let chosen = try Resource("Caches/a", from: url, refresh: .after(.seconds(90)))
        #expect(chosen.refresh.description == "90s")
    }

    @Test(arguments: [
        ("data/x", "https://a.example/a", nil, "Caches/data/x"),
        ("Caches/a", "ftp://a.example/a", nil, "ftp"),
        ("Caches/a", "https://a.example/a", "0a0b", "64"),
    ])
    func aWrongTextIsNamed(_ path: String, _ url: String, _ sha256: String?, says: String) {
        let error = #expect(throws: MirrorError.self) {
            try Resource(path, from: url, sha256: sha256)
        }
        #expect(error?.code == .manifestInvalid)
        #expect(error?.message.hasPrefix("\(path): ") == true)
        #expect(error?.message.contains(says) == true, "\(error?.message ?? "")")
    }

    @Test func aHeaderOfMirrorsOwnIsRefused() {
        let error = #expect(throws: MirrorError.self) {
            try Resource("Caches/a", from: "https://a.example/a", headers: ["Range": "bytes=1-"])
        }
        #expect(error?.message.contains("Range") == true)
    }
}

/// What a program may print without telling a secret.
@Suite struct PrintedSecretsTests {
    @Test func neitherHeadersNorPasswordsArePrinted() throws {
        let resource = try Resource(
            "Caches/a", from: "https://me:secret1@a.example/f?token=secret2",
            mirrors: ["https://a.example/g", "https://b.example/g"],
            headers: ["Authorization": "Bearer secret3"])
        var secrets = Secrets()
        secrets.environment["NAME"] = "secret4"
        var text =
            "\(resource) \(resource.primary.headers) \(secrets) \(String(reflecting: resource))"
        dump(resource, to: &text)
        dump(secrets, to: &text)
        #expect(!text.contains("secret"))
        #expect(text.contains("Authorization") && text.contains("NAME"))
    }

    /// As in a file.
    @Test func aMirrorAtTheOriginOfTheURLGetsTheHeaders() throws {
        let resource = try Resource(
            "Caches/a", from: "https://a.example/f",
            mirrors: ["https://a.example/g", "https://b.example/g"], headers: ["X-Test": "1"])
        #expect(resource.mirrors.map(\.headers.count) == [1, 0])
    }
}
