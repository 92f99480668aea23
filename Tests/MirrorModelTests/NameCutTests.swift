@testable import MirrorKit
import Testing

@Suite struct NameCutTests {
    @Test(arguments: [
        ("abc", 3, "abc"), ("abcd", 3, "abc"), ("é", 1, ""), ("aé", 2, "a"), ("aé", 3, "aé"),
        ("a\u{1F600}b", 4, "a"), ("a\u{1F600}b", 5, "a\u{1F600}"), ("abc", 0, ""),
    ])
    func aNameIsCutBetweenCharacters(name: String, limit: Int, expected: String) {
        #expect(Array(name.prefix(bytes: limit).utf8) == Array(expected.utf8))
    }
}
