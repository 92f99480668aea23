import Glibc
@testable import MirrorKit
import MirrorTestSupport
import Testing

@Suite struct ManifestReaderTests {
    private let late =
        "{ \"resources\": [ { \"url\": \"a.bin\" } ], \"defaults\": { \"tags\": [\"t\"] },"
        + " \"base\": \"https://h.example/\", \"name\": \"n\" }"

    private func read(_ text: String) throws -> DecodedManifest {
        try ManifestReader.read(
            Array(text.utf8), label: "m", origin: .file(path: "/lists/m.json"))
    }

    @Test func theOrderOfKeysHasNoMeaning() throws {
        let decoded = try read(late)
        #expect(decoded.manifest.resources[0].sources[0].url.host == "h.example")
        #expect(decoded.manifest.resources[0].tags == ["t"])
    }

    @Test(arguments: [
        ("x-note", true), ("$schema", true), ("xmlns", true), ("xsi:type", true), ("xnote", false),
        ("X-note", false), ("$other", false), ("note", false),
    ])
    func unknownKeysWithAnExtensionMarkAreAccepted(key: String, isLeft: Bool) throws {
        let top = "{\"\(key)\":1,\"resources\":[]}"
        let inside = "{\"resources\":[{\"url\":\"https://h.example/a\",\"\(key)\":[{}]}]}"
        for text in [top, inside] {
            if isLeft {
                _ = try read(text)
            } else {
                #expect(throws: ManifestError.self) { try read(text) }
            }
        }
    }

    @Test func withoutDigestAResourceIsAlwaysDue() throws {
        let pin = String(repeating: "a", count: 64)
        func refresh(_ keys: String, _ defaults: String = "") throws -> Refresh {
            try read(
                "{\(defaults)\"resources\":[{\"url\":\"https://h.example/a\"\(keys)}]}"
            ).manifest.resources[0].refresh
        }
        let sixHours = "\"defaults\":{\"refresh\":\"6h\"},"
        #expect(try refresh("") == .always)
        #expect(try refresh(",\"sha256\":\"\(pin)\"") == .never)
        #expect(try refresh(",\"md5\":\"\(pin.prefix(32))\"") == .always)
        #expect(try refresh("", sixHours) == .after(.seconds(21_600)))
        #expect(try refresh(",\"refresh\":\"http\"", sixHours) == .http)
    }

    /// Two threads look for the flaws of a long manifest: those of targets, and those of digests.
    @Test func flawsAreReportedInTheManifestsOrder() throws {
        func line(_ number: Int, url: String? = nil, digest: Character = "a") -> String {
            let pin = String(repeating: digest, count: 64)
            let url = url ?? "https://h.example/\(number)"
            return "{\"path\":\"Caches/\(number)\",\"url\":\"\(url)\",\"sha256\":\"\(pin)\"}"
        }
        var lines = (0..<20_000).map { line($0) }
        _ = try read("{\"resources\":[\n" + lines.joined(separator: ",\n") + "]}")
        lines[15_000] = line(15_000, url: "https://h.example/7", digest: "b")
        lines[15_001] = line(12)
        lines[15_002] = line(15_002, url: "https://h.example/8", digest: "b")
        do {
            _ = try read("{\"resources\":[\n" + lines.joined(separator: ",\n") + "]}")
            Issue.record("it was read")
        } catch let refusal as ManifestError {
            #expect(refusal.diagnostics.map(\.line) == [15_002, 15_003, 15_004])
            #expect(refusal.diagnostics[0].message.contains("is said to give"))
            #expect(refusal.diagnostics[1].message.contains("is also the target of line 14"))
        }
    }

    /// A pipe gives its bytes once, and this manifest has to be read twice.
    @Test func aPipeCanBeReadTwice() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (reading, writing, text) = (ends[0], ends[1], late)
        defer { close(reading) }
        DetachedThread.start {
            for byte in text.utf8 {
                _ = withUnsafeBytes(of: byte) { write(writing, $0.baseAddress, 1) }
            }
            close(writing)
        }
        let decoded = try ManifestReader.read(
            descriptor: reading, label: "-", origin: .standardInput)
        #expect(decoded.manifest.name == "n")
        #expect(decoded.manifest.resources[0].tags == ["t"])
    }

    @Test func characterReferencesInAttributesAreResolved() throws {
        let decoded = try read(
            "<manifest><resource url=\"https://h.example/a?b=1&amp;c=&#50;\" tags=\"x \u{301}y\"/>"
                + "</manifest>")
        let resource = decoded.manifest.resources[0]
        #expect(resource.sources[0].url.requestText == "https://h.example/a?b=1&c=2")
        #expect(resource.tags == ["x", "\u{301}y"])
    }

    /// The blanks between a million resources are longer than any text may be.
    @Test func spaceBetweenElementsIsNoLongText() throws {
        let blanks = "\n" + String(repeating: " ", count: 700 << 10) + "\n"
        let resources = ["a", "b", "c"].map { "<resource url=\"https://h.example/\($0)\"/>" }
        let decoded = try read("<manifest>" + resources.joined(separator: blanks) + "</manifest>")
        #expect(decoded.manifest.resources.map(\.target.name) == ["a", "b", "c"])
        #expect(decoded.manifest.resources.map(\.line) == [1, 3, 5])
        #expect(throws: ManifestError.self) {
            try read("<manifest>\(blanks)x\(blanks)</manifest>")
        }
    }

    @Test func aFolderIsNoManifest() throws {
        let descriptor = open("/", O_RDONLY | O_DIRECTORY)
        defer { close(descriptor) }
        let error = try #require(throws: MirrorError.self) {
            try ManifestReader.read(descriptor: descriptor, label: "/", origin: .file(path: "/"))
        }
        #expect(error.code == .manifestUnreadable)
        #expect(error.message == "/: The manifest cannot be read: it is a folder.")
    }

    @Test func errorsBeyondTwentyAreCounted() throws {
        let flawed = Array(repeating: "7", count: 100_000).joined(separator: ",")
        let refusal = try #require(throws: ManifestError.self) {
            try read("{ \"resources\": [\(flawed)] }")
        }
        #expect(refusal.diagnostics.count == 20)
        #expect(refusal.omitted == 99_980)
        #expect(refusal.description.hasSuffix("\nand 99980 more"))
    }

    @Test func anUnnamedManifestIsOwnedByItsStem() throws {
        let decoded = try read("{ \"resources\": [] }")
        #expect(decoded.manifest.name == nil)
        #expect(decoded.manifest.owner == "m")
    }

    /// The places of what libxml2 reads, with long tags, accents, and borders between chunks.
    @Test func placesInXMLAreExact() throws {
        let filler = "<!-- " + String(repeating: "é", count: ManifestBytes([]).chunkSize) + " -->\n"
        for lines in 1...3 {
            let text =
                "<manifest>\n" + String(repeating: filler, count: lines)
                + "  <resource x-note=\"é\"\n      size=\"x\" url=\"https://h.example/a\"/></manifest>"
            let refusal = try #require(throws: ManifestError.self) { try read(text) }
            #expect(refusal.diagnostics.map(\.line) == [lines + 3])
            #expect(refusal.diagnostics.map(\.column) == [13])
        }
    }

    /// A pipe may give a byte at a time; a socket of packets gives one packet at a time for certain.
    @Test(arguments: ["{ \"resources\": [] }", "<manifest version=\"1\"/>"])
    func aManifestMayComeInSmallPieces(text: String) throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
        defer { close(ends[0]) }
        for byte in " ".utf8 + Array(text.utf8) {
            #expect(withUnsafeBytes(of: byte) { write(ends[1], $0.baseAddress, 1) } == 1)
        }
        close(ends[1])
        let decoded = try ManifestReader.read(
            descriptor: ends[0], label: "m", origin: .file(path: "/m"))
        #expect(decoded.manifest.resources.isEmpty)
    }

    /// libxml2 would take it for what it is, and complain to standard error by itself.
    @Test func utf16IsRefusedWithoutAMarkToo() throws {
        let refusal = try #require(throws: ManifestError.self) { try read("<\0m\0/\0>\0") }
        #expect(refusal.description.contains("UTF-16"))
    }

    @Test func aQueryStaysHiddenBehindACombiningMark() throws {
        let refusal = try #require(throws: ManifestError.self) {
            try read(
                "{ \"resources\": [{ \"url\": \"https://h.example/a b?\u{301}t=SECRET\" }] }")
        }
        #expect(refusal.description.contains("/a b\""))
        #expect(!refusal.description.contains("SECRET"))
    }

    @Test(arguments: [
        ("<manifest>\n  <defaults/>stray\n</manifest>", 2, 14),
        ("<manifest>>\n stray over lines</manifest>", 1, 11),
        ("\u{FEFF}<manifest>stray\n\n lines\n</manifest>", 1, 11),
        ("<manifest>\n\n  stray\n\n</manifest>", 3, 3),
        ("<manifest>\n  é stray</manifest>", 2, 3),
        ("<manifest><!-- é -->\n é<defaults/></manifest>", 2, 2),
    ])
    func aStrayTextHasItsFirstCharactersPlace(text: String, line: Int, column: Int) throws {
        let refusal = try #require(throws: ManifestError.self) { try read(text) }
        #expect(refusal.diagnostics.first?.line == line)
        #expect(refusal.diagnostics.first?.column == column)
    }

    @Test func warningsNameWeakDigests() throws {
        let sha1 = String(repeating: "a", count: 40)
        let decoded = try read(
            "{ \"resources\": [\n{ \"url\": \"https://h.example/a\", \"sha1\": \"\(sha1)\" } ] }")
        #expect(
            decoded.warnings.map(\.description) == [
                "m:2:41: warning: sha1 is weak: it finds accidents, not attacks, and pins nothing;"
                    + " add sha256"
            ])
    }
}
