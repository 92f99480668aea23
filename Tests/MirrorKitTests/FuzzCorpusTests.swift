import FoundationEssentials
import MirrorFuzzing
import Testing

/// What fuzzing once found, and what led it there, is tried again in every test run.
@Suite struct FuzzCorpusTests {
    private static let corpus: String = {
        var parts = #filePath.split(separator: "/")
        parts.removeLast(2)
        return "/" + parts.joined(separator: "/") + "/Fuzz/corpus"
    }()

    @Test(arguments: FuzzedParser.all.map(\.name))
    func everyFuzzInputHoldsItsParsersPromises(_ name: String) throws {
        let parser = try #require(FuzzedParser.named(name))
        let folder = Self.corpus + "/" + name
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(!files.isEmpty)
        for file in files {
            let bytes = Array(try Data(contentsOf: URL(filePath: folder + "/" + file)))
            let flaw = parser.flaw(bytes)
            #expect(flaw == nil, "\(name)/\(file): \(flaw ?? "")")
        }
    }

    /// A folder whose parser has another name by now would be tried by nobody.
    @Test func everyFolderHasItsParser() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus)
        #expect(Set(folders) == Set(FuzzedParser.all.map(\.name)))
    }
}
