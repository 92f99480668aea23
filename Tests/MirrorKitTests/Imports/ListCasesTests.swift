import FoundationEssentials
@testable import MirrorKit
import Testing

/// A list of each format, as the program that writes it does: what is made of it, line by line.
///
/// `lists/NAME.expected` has a line for each resource, each further document, each entry that is left
/// out, and each warning.
@Suite struct ListCasesTests {
    private static let folder = CaseFiles.project + "/Tests/MirrorKitTests/Imports/"

    static func names(in folder: String) -> [String] {
        let names =
            (try? FileManager.default.contentsOfDirectory(atPath: Self.folder + folder)) ?? []
        return names.filter { !$0.hasSuffix(".expected") }.sorted()
    }

    private static func read(_ path: String, hint: ListHint? = nil) throws -> DecodedManifest {
        let name = String(path.split(separator: "/").last ?? "")
        return try ManifestReader.read(
            try CaseFiles.bytes(folder + path), label: name, origin: .file(path: "/lists/" + name),
            hint: try hint ?? Self.hint(for: name))
    }

    private static func hint(for name: String, format: ListFormat? = nil) throws -> ListHint {
        // Some lists name an index of their own.
        let index = name == "Pipfile.lock" ? nil : try SourceURL("https://index.example/simple/")
        return try ListHint(
            format: format, base: try SourceURL("https://origin.example/files/"), index: index)
    }

    /// The format and the resources of a list as text.
    private static func text(of decoded: DecodedManifest) -> String {
        let lines = decoded.manifest.resources.map { resource in
            let sources = resource.sources.map(\.url.requestText)
            let headers = resource.primary.headers.map { "\($0.name): \($0.value)" }
            let size = resource.size.map { ["size=\($0)"] } ?? []
            let digests = resource.digests.map(\.description)
            let tags = resource.tags.map { "#" + $0 }
            return ([resource.target.path] + sources + headers + size + digests + tags)
                .joined(separator: " ")
        }
        let format = decoded.list?.rawValue ?? "no list"
        let parts = decoded.parts.map { part in
            var words = ["further: \(part.url.requestText)"]
            if case .project(let project) = part {
                words += ["\(project.name) (\(project.line):\(project.column))"]
                words += project.digests.map(\.description)
            }
            return words.joined(separator: " ")
        }
        let leftOut = decoded.leftOut.map {
            "left out: \(Escaped($0.name)) (\($0.line):\($0.column)): \($0.reason)"
        }
        let warnings = decoded.warnings.map(\.description)
        return ([format] + lines + parts + leftOut + warnings).joined(separator: "\n") + "\n"
    }

    @Test(arguments: ListCasesTests.names(in: "lists"))
    func listBecomesTheExpectedResources(_ name: String) throws {
        let expected = try CaseFiles.text(Self.folder + "lists/\(name).expected")
        #expect(Self.text(of: try Self.read("lists/" + name)) == expected)
    }

    @Test(arguments: ListCasesTests.names(in: "bad"))
    func badListIsRefusedWithItsExpectedDiagnostics(_ name: String) throws {
        let refusal = try #require(throws: ManifestError.self) {
            try Self.read("bad/" + name, hint: ListHint())
        }
        let expected = try CaseFiles.text(Self.folder + "bad/\(name).expected")
        #expect(refusal.description + "\n" == expected)
    }

    /// What is written of a list reads as the same manifest again, which needs no hint.
    @Test(arguments: ListCasesTests.names(in: "lists"))
    func importedListReadsAsTheSameManifestAgain(_ name: String) throws {
        let manifest = try Self.read("lists/" + name).manifest
        var text: [UInt8] = []
        try ManifestWriter(.json, label: name).write(manifest) { text += $0 }
        let again = try ManifestReader.read(text, label: "m.json", origin: .file(path: "/m.json"))
        let plain = { (manifest: Manifest) in
            manifest.resources.map { resource in
                var resource = resource
                (resource.line, resource.column) = (0, 0)
                return resource
            }
        }
        #expect(plain(again.manifest) == plain(manifest))
    }

    @Test func everyFormatHasAList() throws {
        let found = try Self.names(in: "lists").map { try Self.read("lists/" + $0).list }
        // A directory listing has no place of its own in a file; scenarios have some.
        #expect(Set(found.compactMap(\.self)) == Set(ListFormat.allCases).subtracting([.index]))
        #expect(Self.names(in: "bad").count >= 20)
    }

    /// A format that is insisted on is read without asking the text for it.
    @Test(arguments: ListCasesTests.names(in: "lists"))
    func aListReadsTheSameUnderItsFormat(_ name: String) throws {
        let found = try Self.read("lists/" + name)
        let hint = try Self.hint(for: name, format: found.list)
        #expect(Self.text(of: try Self.read("lists/" + name, hint: hint)) == Self.text(of: found))
    }
}
