@testable import MirrorKit
import Testing

@Suite struct SecretExpansionTests {
    private let environment = ["TOKEN": "s3cret", "EMPTY": "", "BROKEN": "a\r\nX-Evil: 1"]

    private func manifest(_ resources: String, _ origin: ManifestOrigin) throws -> Manifest {
        try ManifestReader.read(
            Array("{ \"name\": \"n\", \"resources\": [\n\(resources)\n] }".utf8), label: "m.json",
            origin: origin
        ).manifest
    }

    private func resource(_ host: String, _ name: String = "TOKEN") -> String {
        "{ \"path\": \"Caches/\(host)-\(name)\", \"url\": \"https://\(host)/x\","
            + " \"headers\": { \"Authorization\": \"Bearer ${\(name)}\" } }"
    }

    private func errors(
        _ resources: String, _ grants: [String], _ origin: ManifestOrigin = .file(path: "/m.json")
    ) throws -> [String] {
        let expansion = SecretExpansion(
            grants: try grants.map { try Grant($0) }, environment: environment)
        do {
            var onlyOrigins: [String: Origin] = [:]
            try expansion.check(
                try manifest(resources, origin), label: "m.json", isLocal: origin.isFile,
                onlyOrigins: &onlyOrigins)
            return []
        } catch let refusal as ManifestError {
            #expect(!refusal.description.contains("s3cret"))
            return refusal.diagnostics.map { diagnostic in
                diagnostic.description + (diagnostic.remedy.map { " [\($0.subject)]" } ?? "")
            }
        }
    }

    @Test func secretIsSentToItsOriginOnly() throws {
        let expansion = SecretExpansion(
            grants: [try Grant("TOKEN@https://a.example")], environment: environment)
        let field = try HeaderField(name: "Authorization", value: try Template("Bearer ${TOKEN}"))
        let own = Source(url: try SourceURL("https://a.example/x"), headers: [field])
        let other = Source(url: try SourceURL("https://a.example:8443/x"), headers: [field])
        #expect(expansion.headers(of: own).map(\.value) == ["Bearer s3cret"])
        #expect(expansion.headers(of: other).isEmpty)
        let method = RequestMethod.post(body: try Template("t=${TOKEN}&p=$$"))
        #expect(expansion.body(of: method, for: own) == Array("t=s3cret&p=$".utf8))
        #expect(expansion.body(of: method, for: other) == nil)
        #expect(expansion.body(of: .get, for: own) == nil)
    }

    @Test func grantedVariableNamesAreExpanded() throws {
        #expect(try errors(resource("a.example"), ["TOKEN@https://a.example"]).isEmpty)
        #expect(try errors(resource("a.example"), ["TOKEN"]).isEmpty)
        let two = resource("a.example") + "," + resource("b.example")
        #expect(
            try errors(two, ["TOKEN@https://a.example", "TOKEN@https://b.example"]).isEmpty)
    }

    @Test func missingGrantIsReportedOnce() throws {
        let two = resource("a.example") + ",\n" + resource("a.example", "OTHER")
        #expect(
            try errors(two, []) == [
                "m.json:2:1: error: ${TOKEN} is not granted [TOKEN@https://a.example]",
                "m.json:3:1: error: ${OTHER} is not granted [OTHER@https://a.example]",
            ])
        let same = (0..<50).map {
            "{ \"path\": \"Caches/\($0)\", \"url\": \"https://a.example/\($0)\","
                + " \"headers\": { \"X\": \"${TOKEN}\" } }"
        }
        #expect(try errors(same.joined(separator: ","), []).count == 1)
    }

    @Test func aGrantIsForItsOriginOnly() throws {
        #expect(
            try errors(resource("b.example"), ["TOKEN@https://a.example"]) == [
                "m.json:2:1: error: ${TOKEN} is not granted to https://b.example"
                    + " [TOKEN@https://b.example]"
            ])
    }

    @Test func aBareGrantIsForOneLocalOrigin() throws {
        let two = resource("a.example") + ",\n" + resource("b.example")
        #expect(
            try errors(two, ["TOKEN"]) == [
                "m.json:3:1: error: ${TOKEN} would go to https://a.example and to"
                    + " https://b.example [TOKEN@https://a.example TOKEN@https://b.example]"
            ])
        for origin in [ManifestOrigin.standardInput, .url(try SourceURL("https://a.example/m"))] {
            #expect(
                try errors(resource("a.example"), ["TOKEN"], origin) == [
                    "m.json:2:1: error: ${TOKEN} needs its origin, because the manifest is no file"
                        + " here [TOKEN@https://a.example]"
                ])
        }
    }

    @Test func aForeignMirrorNeedsItsOwnGrant() throws {
        let mirrored =
            "{ \"url\": \"https://a.example/x\", \"headers\": { \"X\": \"${TOKEN}\" }, \"mirrors\": ["
            + "\"https://b.example/x\", { \"url\": \"https://c.example/x\","
            + " \"headers\": { \"X\": \"${TOKEN}\" } } ] }"
        let found = try errors(mirrored, ["TOKEN@https://a.example"])
        #expect(found.count == 1)
        #expect(found.first?.contains("not granted to https://c.example") == true)
    }

    @Test func unsetEmptyAndBrokenValuesAreRefused() throws {
        let unset = "is unset or empty; set it in the environment, or as a file"
        for name in ["EMPTY", "MISSING"] {
            let found = try errors(resource("a.example", name), ["\(name)@https://a.example"])
            #expect(
                found == ["m.json:2:1: error: ${\(name)} \(unset) $CREDENTIALS_DIRECTORY/\(name)"])
        }
        let broken = try errors(resource("a.example", "BROKEN"), ["BROKEN@https://a.example"])
        #expect(broken.count == 1)
        #expect(broken.first?.contains("X-Evil") == false)
    }

    @Test func suppliedCredentialsReplaceTheEnvironment() throws {
        let expansion = SecretExpansion(
            grants: [Grant(name: "TOKEN", origin: nil), Grant(name: "FILE", origin: nil)],
            environment: environment, credential: { "from \($0)\r\n" })
        let source = Source(
            url: try SourceURL("https://a.example/x"),
            headers: [try HeaderField(name: "X", value: try Template("${TOKEN} ${FILE}"))])
        #expect(expansion.headers(of: source).map(\.value) == ["s3cret from FILE"])
    }

    @Test(arguments: ["", "\n", "\r\n"]) func emptyCredentialCountsAsMissing(content: String) throws
    {
        let manifest = try manifest(resource("a.example", "FILE"), .file(path: "/m.json"))
        let expansion = SecretExpansion(
            grants: [try Grant("FILE@https://a.example")], environment: environment,
            credential: { _ in content })
        var onlyOrigins: [String: Origin] = [:]
        #expect(throws: ManifestError.self) {
            try expansion.check(
                manifest, label: "m.json", isLocal: true, onlyOrigins: &onlyOrigins)
        }
    }

    @Test(arguments: [
        "", "1A", "A B", "TOKEN@", "TOKEN@a.example", "TOKEN@ftp://a.example",
        "TOKEN@https://a.example/path", "TOKEN@file:///x", "TOKEN@https://u@a.example",
    ])
    func malformedGrantIsAUsageError(text: String) {
        #expect(throws: MirrorError.self) { try Grant(text) }
    }

    @Test func grantIsParsedWithItsOrigin() throws {
        let grant = try Grant("TOKEN@https://A.example:443")
        #expect(grant.name == "TOKEN")
        #expect(grant.origin?.description == "https://a.example")
        #expect(try Grant("TOKEN").origin == nil)
    }
}
