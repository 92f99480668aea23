import Testing

@testable import MirrorKit

/// The names under which sources are remembered: they tell queries apart, and hold none.
@Suite struct SourceKeyTests {
    private func key(_ text: String) throws -> SourceKey { SourceKey(try SourceURL(text)) }

    @Test func aQueryIsKeptAsItsHashOnly() throws {
        let key = try key("https://a.example/f?token=secret-1")
        #expect(!key.text.contains("secret"))
        #expect(!key.text.contains("token"))
        #expect(key.text.hasPrefix("https://a.example/f?"))
        #expect(key.text.utf8.count == "https://a.example/f?".utf8.count + 64)
    }

    @Test func anotherQueryIsAnotherSource() throws {
        let texts = ["", "?", "?a=1", "?a=2", "?a=1&b"].map { "https://a.example/f" + $0 }
        #expect(Set(try texts.map { try key($0) }).count == texts.count)
        #expect(try key("https://a.example/f?a=1") == key("https://A.example:443/f?a=1"))
    }

    @Test func aUserNameIsNoPartOfIt() throws {
        #expect(try key("https://user:pw@a.example/f") == key("https://a.example/f"))
    }
}
