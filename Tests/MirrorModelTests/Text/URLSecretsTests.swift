@testable import MirrorKit
import Testing

/// What is hidden of a URL before it is shown.
@Suite struct URLSecretsTests {
    @Test(arguments: [
        ("https://h.example/a", "https://h.example/a"),
        ("https://h.example/a?key=S", "https://h.example/a?…"),
        ("https://u:S@h.example/a", "https://…@h.example/a"),
        ("https://u:S/S@h.example/a", "https://…@h.example/a"),
        ("https://u:S?S@h.example/a", "https://…"),
        ("//u:S@h.example/a", "//…@h.example/a"),
        ("u:S@h.example/a", "…@h.example/a"),
        ("https:\\/\\/u:S@h.example\\/a", "https:\\/\\/…@h.example\\/a"),
        ("https:\\u002f\\u002fu:S@h.example", "…"),
        ("https&#58;//u:S@h.example", "https&#58;//…"),
        ("https://h.example/?a\\u003db", "https://h.example/?…"),
        ("https://h.example:80/a", "https://h.example:80/a"),
        ("https://u:S S@h.example", "https://…@h.example"),
        ("Documents/icon@2x.png", "Documents/icon@2x.png"),
        ("Documents/caf\\u00e9.txt", "Documents/caf\\u00e9.txt"),
        ("", ""),
    ])
    func partsThatMayBeSecretAreHidden(text: String, shown: String) {
        let scalars = Array(text.unicodeScalars)
        var rest = String.UnicodeScalarView()
        var at = 0
        for secret in URLSecrets.ranges(in: scalars[...]) {
            rest.append(contentsOf: scalars[at..<secret.lowerBound])
            rest.append("…")
            at = secret.upperBound
        }
        rest.append(contentsOf: scalars[at...])
        #expect(String(rest) == shown)
        #expect(!String(rest).contains("S"))
    }
}
