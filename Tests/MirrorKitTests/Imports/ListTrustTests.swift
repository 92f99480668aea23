@testable import MirrorKit
import Testing

/// A list is trusted no more than a manifest is.
@Suite struct ListTrustTests {
    private func errors(_ text: String, _ origin: ManifestOrigin, base: String? = nil) throws
        -> String
    {
        let hint = try ListHint(format: nil, base: try base.map { try SourceURL($0) })
        let refusal = try #require(throws: ManifestError.self) {
            try ManifestReader.read(Array(text.utf8), label: "l", origin: origin, hint: hint)
        }
        return refusal.description
    }

    private func remote() throws -> ManifestOrigin {
        .url(try SourceURL("https://origin.example/lists/l.txt"))
    }

    @Test func remoteListCannotNameFilesOfThisMachine() throws {
        let errors = try errors("file:///etc/passwd\n", try remote())
        #expect(errors.contains("cannot name files"))
    }

    @Test func remoteListCannotGivePasswords() throws {
        let errors = try errors("https://me:secret@h.example/a\n", try remote())
        #expect(errors.contains("cannot give user names or passwords"))
        #expect(!errors.contains("secret"))
    }

    @Test func urlLikeNamesStayWithinTheBase() throws {
        let digits = String(repeating: "0", count: 64)
        let decoded = try ManifestReader.read(
            Array("\(digits)  https:/evil.example/a\n".utf8), label: "l", origin: try remote())
        let urls = decoded.manifest.resources.map(\.primary.url.requestText)
        #expect(urls == ["https://origin.example/lists/https:/evil.example/a"])
    }

    @Test func listOnStandardInputNeedsAName() throws {
        #expect(try errors("https://h.example/a\n", .standardInput).contains("has no name"))
    }

    @Test func formatAndBaseAreRefusedForAManifest() throws {
        let manifest = "{ \"name\": \"m\", \"resources\": [] }"
        let errors = try errors(manifest, .standardInput, base: "https://h.example/")
        #expect(errors.contains("this is a manifest"))
    }

    @Test func aRequiredFormatMustFit() throws {
        let hint = try ListHint(format: .npm, base: nil)
        for text in ["hello\n", "<a/>", "[]", "{ \"resources\": [] }", "version = 1\n"] {
            #expect(throws: ManifestError.self, "\(text)") {
                try ManifestReader.read(
                    Array(text.utf8), label: "l", origin: .file(path: "/l"), hint: hint)
            }
        }
    }
}
