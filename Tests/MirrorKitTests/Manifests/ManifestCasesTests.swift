@testable import MirrorKit
import Testing

/// Whole manifests as files: those in `good/` are taken, those in `bad/` refused with exactly the
/// lines of the `.expected` file beside them.
@Suite struct ManifestCasesTests {
    private func read(_ name: String) throws -> DecodedManifest {
        // A name with `remote` in it came by URL, one with `stdin` by standard input.
        let label = String(name.split(separator: "/").last ?? "")
        let origin: ManifestOrigin =
            if label.contains("remote") {
                .url(try SourceURL("https://origin.example/lists/" + label))
            } else if label.contains("stdin") {
                .standardInput
            } else {
                .file(path: "/lists/" + label)
            }
        return try ManifestReader.read(
            try CaseFiles.bytes(CaseFiles.cases + name), label: label, origin: origin)
    }

    @Test(arguments: CaseFiles.manifests(in: "good"))
    func goodManifestIsAccepted(name: String) throws {
        let decoded = try read(name)
        #expect(decoded.manifest.resources.allSatisfy { !$0.sources.isEmpty })
    }

    @Test(arguments: CaseFiles.manifests(in: "bad"))
    func badManifestIsRefusedWithItsExpectedDiagnostics(name: String) throws {
        let expected = try CaseFiles.text(CaseFiles.cases + name + ".expected")
        let refusal = try #require(throws: ManifestError.self) { try read(name) }
        #expect(refusal.description + "\n" == expected)
    }

    @Test func goodAndBadManifestCasesExist() {
        #expect(CaseFiles.manifests(in: "good").count >= 15)
        #expect(CaseFiles.manifests(in: "bad").count >= 60)
    }
}
