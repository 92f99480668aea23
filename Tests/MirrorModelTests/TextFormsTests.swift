@testable import MirrorKit
import Testing

/// The small texts inside a manifest: durations, templates, digests, integrity, header names.
@Suite struct TextFormsTests {
    @Test(
        arguments: [
            ("90s", 90), ("15m", 900), ("6h", 21600), ("1d", 86400), ("2w", 1_209_600), ("0s", nil),
            ("", nil), ("s", nil), ("5", nil), ("-1s", nil), ("+1s", nil), ("1 s", nil),
            ("1.5h", nil),
            ("1S", nil), ("9223372036854775807w", nil), ("99999999999999999999s", nil),
        ] as [(String, Int64?)])
    func refreshTakesDigitsAndOneUnit(text: String, seconds: Int64?) {
        #expect(Refresh(text) == seconds.map { .after(.seconds($0)) })
    }

    @Test func templatesKeepNamesAndDollars() throws {
        let template = try Template("Bearer ${CI_TOKEN} costs $$5${X}")
        #expect(
            template.pieces == [
                .literal("Bearer "), .variable("CI_TOKEN"), .literal(" costs $5"), .variable("X"),
            ])
        #expect(template.description == "Bearer ${CI_TOKEN} costs $$5${X}")
        #expect(template.filled { $0 == "X" ? "!" : "t" } == "Bearer t costs $5!")
        #expect(template.filled { $0 == "X" ? "!" : nil } == nil)
        #expect(try Template("").pieces.isEmpty)
    }

    @Test(arguments: [
        ("$", TemplateError.loneDollar), ("a$b", .loneDollar), ("$$$", .loneDollar),
        ("${A", .unclosed), ("${}", .name("")), ("${1A}", .name("1A")), ("${a-b}", .name("a-b")),
    ])
    func otherDollarsAreRefused(text: String, flaw: TemplateError) {
        #expect(throws: flaw) { try Template(text) }
    }

    @Test(arguments: [
        ("sha256:" + String(repeating: "a", count: 64), DigestError.prefixed("sha256:")),
        ("abc", .length(digits: 3, of: .sha256)),
        (String(repeating: "a", count: 63) + "g", .notHexadecimal("g")),
        ("sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", .integrity(.sha256)),
        (String(repeating: "a", count: 128), .length(digits: 128, of: .sha256)),
        ("", .length(digits: 0, of: .sha256)),
    ])
    func slipsInDigestsAreNamed(text: String, flaw: DigestError) {
        #expect(throws: flaw) { try Digest(.sha256, declared: text) }
    }

    @Test func digestsAreReadInEitherCase() throws {
        let hex = String(repeating: "aB", count: 32)
        #expect(try Digest(.sha256, declared: hex).hex == hex.lowercased())
    }

    @Test func theStrongestIntegrityCounts() throws {
        let sha256 = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        let sha1 = "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="
        #expect(try Digest(integrity: "\(sha1) \(sha256)?opt x9-abc").algorithm == .sha256)
        #expect(try Digest(integrity: sha1).hex == "da39a3ee5e6b4b0d3255bfef95601890afd80709")
    }

    @Test(arguments: [
        ("", IntegrityError.malformed("")), ("sha256", .malformed("sha256")),
        ("sha256-abc", .malformed("sha256-abc")), ("sha256-YWJj", .length(bytes: 3, of: .sha256)),
        ("x9-YWJj", .algorithm("x9")), ("sha256-YWJ=j", .malformed("sha256-YWJ=j")),
        (
            "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk= sha1-AjmJ7l5rSw0yVb/vlWAYkK/YBwk=",
            .several(.sha1)
        ),
    ])
    func otherIntegrityIsRefused(text: String, flaw: IntegrityError) {
        #expect(throws: flaw) { try Digest(integrity: text) }
    }

    @Test(arguments: [
        "Range", "if-match", "IF-NONE-MATCH", "Accept-Encoding", "host", "Content-Length", "TE",
        "Transfer-Encoding", "Trailer", "Connection", "Upgrade", "Expect", "Proxy-Authorization",
    ])
    func headersThatMirrorSetsAreReserved(name: String) {
        #expect(HeaderError.ofName(name) == .reserved(name))
    }

    @Test(
        arguments: [
            ("plain", nil), ("tab\there", nil), ("ü", nil), ("", nil), ("a\nb", .lineBreak),
            ("a\rb", .lineBreak), ("a\r\nX-B: c", .lineBreak), ("a\0b", .controlCharacter),
            ("a\u{1B}b", .controlCharacter), ("a\u{7F}b", .controlCharacter),
            ("a\u{85}b", .controlCharacter),
        ] as [(String, HeaderError?)])
    func aHeadersValueIsOneLine(value: String, flaw: HeaderError?) {
        #expect(HeaderError.ofValue(value) == flaw)
    }

    @Test(
        arguments: [
            ("X-A", "a\r\nX-B: c", .lineBreak), ("X-A", "a\n", .lineBreak),
            ("X-A", "a\0", .controlCharacter), ("X-A: b\r\nX-B", "c", .name("X-A: b\r\nX-B")),
            ("", "a", .name("")), ("Host", "h", .reserved("Host")),
            ("content-length", "0", .reserved("content-length")), ("Range", "", .reserved("Range")),
            ("If-None-Match", "*", .reserved("If-None-Match")),
        ] as [(String, String, HeaderError)])
    func aFieldFromCodeIsChecked(name: String, value: String, flaw: HeaderError) {
        #expect(throws: flaw) { try HeaderField(name: name, value: Template(literal: value)) }
        #expect(throws: flaw) {
            try HeaderField(
                name: name, value: Template(pieces: [.variable("TOKEN"), .literal(value)])
            )
        }
    }

    @Test func headersOfTheOverlayWin() throws {
        func field(_ name: String, _ value: String) throws -> HeaderField {
            try HeaderField(name: name, value: Template(literal: value))
        }
        let merged = try [field("Accept", "a"), field("X-A", "1")]
            .overlaid(with: [field("accept", "b")])
        #expect(try merged == [field("X-A", "1"), field("accept", "b")])
        #expect(HeaderError.ofName("a b") == .name("a b"))
        #expect(HeaderError.ofName("") == .name(""))
        #expect(HeaderError.ofValue("a\tb é") == nil)
        #expect(HeaderError.ofValue("a\r\nX: y") == .lineBreak)
        #expect(HeaderError.ofValue("a\u{0}") == .controlCharacter)
    }

    @Test(arguments: [
        ("sha265", "sha256"), ("URL", "url"), ("mirror", "mirrors"), ("colour", nil), ("x", nil),
        ("refersh", "refresh"),
    ])
    func misspeltNameFindsTheNearest(name: String, suggestion: String?) {
        let names = ["sha256", "sha512", "url", "mirrors", "refresh", "priority"]
        #expect(NearestName.suggestion(for: name, among: names) == suggestion)
    }

    @Test func whatIsPrintedCannotMoveTheCursor() {
        #expect(Quoted("a\u{1B}[2J\n\u{202E}").description == "\"a\\u{1b}[2J\\u{a}\\u{202e}\"")
        #expect(Quoted(String(repeating: "a", count: 100), limit: 3).description == "\"aaa…\"")
    }
}
