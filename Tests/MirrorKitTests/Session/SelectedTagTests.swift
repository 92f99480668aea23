@testable import MirrorKit
import Testing

/// Which tags and patterns `--only` and `--skip` select; a tag with plus signs has several words.
@Suite struct SelectedTagTests {
    private static let cases: [(tags: [String], only: [String], skip: [String], isSelected: Bool)] =
        [
            ([], [], [], true), ([], ["dev"], [], false), ([], [], ["dev"], true),
            (["dev"], [], ["dev"], false), (["dev"], ["dev"], [], true),
            (["dev", "a"], [], ["dev"], false), (["dev", "optional"], [], ["dev"], false),
            (["dev+optional"], [], ["dev"], true), (["dev+optional"], [], ["optional"], true),
            (["dev+optional"], [], ["dev", "optional"], false),
            (["dev+optional"], [], ["dev+optional"], false),
            (["dev+optional"], ["dev"], [], true), (["dev+optional"], ["optional"], [], true),
            (["dev+optional"], ["dev+optional"], [], true), (["dev+optional"], ["a"], [], false),
            (["dev+optional"], ["dev"], ["optional"], true),
            (["a", "dev+optional"], ["a"], ["dev", "optional"], false),
            (["c++"], [], ["c"], true), (["c++"], ["c"], [], false), (["c++"], ["c++"], [], true),
            (["+"], [], ["+"], false),
        ]

    @Test(arguments: cases.indices) func tagsSelectAResource(_ index: Int) {
        let given = Self.cases[index]
        let selection = Selection(only: Set(given.only), skip: Set(given.skip))
        let isSelected = "Caches/x".withUTF8Path { selection.selects(tags: given.tags, path: $0) }
        #expect(isSelected == given.isSelected, "\(given)")
    }
}

/// Which targets a pattern matches.
@Suite struct TargetPatternTests {
    private static let cases: [(pattern: String, path: String, isMatch: Bool)] = [
        ("Caches/py/**", "Caches/py/a.whl", true), ("Caches/py/**", "Caches/py/d/e/a.whl", true),
        ("Caches/py/**", "Caches/pyx/a.whl", false), ("Caches/py/**", "Caches/py", false),
        ("Caches/py/", "Caches/py/d/a.whl", true), ("Caches/py/", "Caches/py", false),
        ("Caches/*", "Caches/a", true), ("Caches/*", "Caches/d/a", false),
        ("Caches/*/a", "Caches/d/a", true), ("Caches/**/a", "Caches/a", true),
        ("Caches/**/a", "Caches/d/e/a", true), ("Caches/**/a", "Caches/d/e/b", false),
        ("Caches/**/d/**/a", "Caches/d/x/d/y/a", true), ("**", "tmp/a", true),
        ("**/a", "Documents/a", true), ("*.whl", "Caches/d/a.whl", true),
        ("*.whl", "Caches/a.whl.txt", false), ("a?c", "Caches/abc", true),
        ("a?c", "Caches/aéc", true), ("a?c", "Caches/ac", false),
        ("[a-c]x", "Caches/bx", true), ("[!a-c]x", "Caches/bx", false),
        ("[!a-c]x", "Caches/dx", true), ("[]]x", "Caches/]x", true), ("a[b", "Caches/a[b", true),
        ("a\\*b*", "Caches/a*bc", true), ("a\\*b*", "Caches/axbc", false),
        ("*a*b*c*", "Caches/xxaxbxbxc", true), ("*a*b*c*", "Caches/xxaxbxb", false),
        ("Caches/A", "Caches/a", false), ("Caches/a", "Caches/a", true),
        ("Caches/e\u{301}", "Caches/\u{E9}", false),
    ]

    @Test(arguments: cases.indices) func aPatternMatchesTheWholePath(_ index: Int) throws {
        let given = Self.cases[index]
        let pattern = try #require(TargetPattern(given.pattern))
        let isMatch = given.path.withUTF8Path { pattern.matches($0) }
        #expect(isMatch == given.isMatch, "\(given)")
    }

    @Test func aWordWithoutSignsIsNoPattern() {
        #expect(TargetPattern("curl") == nil)
        #expect(TargetPattern("c++") == nil)
    }

    /// A pattern with many stars ends, also where a naive search would take for ever.
    @Test func manyStarsTakeLittleTime() throws {
        let pattern = try #require(TargetPattern(String(repeating: "*a", count: 60) + "b"))
        let path = "Caches/" + String(repeating: "a", count: 240)
        #expect(!path.withUTF8Path { pattern.matches($0) })
        let folders = try #require(TargetPattern(String(repeating: "**/a/", count: 60) + "b"))
        let deep = "Caches/" + String(repeating: "a/", count: 400) + "c"
        #expect(!deep.withUTF8Path { folders.matches($0) })
    }

    @Test func aSelectionSurvivesTheIndex() {
        let selection = Selection(only: ["curl", "Caches/a b/**"], skip: ["only x"])
        let text = (["from urls"] + selection.lines).joined(separator: "\n")
        #expect(Selection(lines: text) == selection)
        #expect(ListHint(lines: text).format == .urls)
        #expect(Selection(lines: "").isAll)
        #expect("\(selection)" == "Caches/a b/**, curl without only x")
    }
}

extension String {
    fileprivate func withUTF8Path<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        var text = self
        return text.withUTF8(body)
    }
}
