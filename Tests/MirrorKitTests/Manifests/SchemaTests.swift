import Glibc
import MirrorTestSupport
import Testing

/// Holds the schemas against the decoders, over the same good and bad manifests.
///
/// A schema sees one document and no more: what it cannot say is listed here, file by file.
@Suite struct SchemaTests {
    /// Refused by the decoders for what no schema sees: how the text is written, where the manifest
    /// comes from, and resources held against each other.
    private static let beyondSchemas: Set<String> = [
        "deep.json", "duplicate-key.json", "equal-targets.json", "folded-targets.json",
        "lone-surrogate.json", "number-range.json", "remote-files.json", "stdin-relative.json",
        "stdin-unnamed.json", "target-is-folder.json", "two-digests.json", "deep.xml",
        "doctype.xml", "external-entity.xml", "latin1-declared.xml",
    ]

    private static func files(_ folder: String, _ suffix: String) -> [String] {
        CaseFiles.manifests(in: folder).filter { $0.hasSuffix(suffix) }.map { CaseFiles.cases + $0 }
    }

    private static func name(_ path: String) -> String {
        String(path.split(separator: "/").last ?? "")
    }

    @Test func relaxNGAgreesWithTheDecoder() throws {
        let schema = try #require(RelaxNG(path: CaseFiles.project + "/docs/manifest.rng"))
        let examples = ["example.xml", "quickstart.xml"].map {
            CaseFiles.project + "/manifests/" + $0
        }
        for path in Self.files("good", ".xml") + examples {
            #expect(schema.isValid(try CaseFiles.bytes(path)), "\(Self.name(path))")
        }
        for path in Self.files("bad", ".xml") where !Self.beyondSchemas.contains(Self.name(path)) {
            #expect(!schema.isValid(try CaseFiles.bytes(path)), "\(Self.name(path))")
        }
    }

    /// Not run here when Python's jsonschema is missing; scripts/test installs it.
    @Test(.enabled(if: JSONSchema.isThere, "python3-jsonschema is not installed"))
    func jsonSchemaAgreesWithTheDecoder() throws {
        let examples = ["example.json", "quickstart.json"].map {
            CaseFiles.project + "/manifests/" + $0
        }
        let good = Self.files("good", ".json") + examples
        let bad = Self.files("bad", ".json").filter {
            !Self.beyondSchemas.contains(Self.name($0))
        }
        let verdicts = try JSONSchema.verdicts(on: good + bad)
        for path in good { #expect(verdicts[path] == "valid", "\(Self.name(path))") }
        for path in bad { #expect(verdicts[path] == "refused", "\(Self.name(path))") }
    }
}

/// JSON Schema by Python's jsonschema, since there is none for Swift without Foundation.
enum JSONSchema {
    /// The words that start a Python with jsonschema; nil when there is none.
    private static let python: [String]? = {
        // Debian's package serves the system's Python, whatever else stands first on PATH.
        [["/usr/bin/python3"], ["/usr/bin/env", "python3"]].first { words in
            let check = try? start(words + ["-c", "import jsonschema"])
            return check?.wait().ending == .exited(0)
        }
    }()

    static var isThere: Bool { python != nil }

    /// `valid` or `refused` for each file.
    static func verdicts(on paths: [String]) throws -> [String: String] {
        let schema = CaseFiles.project + "/docs/manifest.schema.json"
        let script = CaseFiles.cases + "json-schema.py"
        let run = try start(try #require(python) + [script, schema] + paths).wait()
        #expect(run.ending == .exited(0), "\(run.errors)")
        var verdicts: [String: String] = [:]
        for line in run.output.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1)
            if words.count == 2 { verdicts[String(words[1])] = String(words[0]) }
        }
        return verdicts
    }

    private static func start(_ words: [String]) throws -> Command {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return try Command(words[0], Array(words.dropFirst()), environment: ["PATH": path])
    }
}
