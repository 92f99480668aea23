@testable import MirrorKit
import Testing

@Suite struct ValidatorTests {
    private static let modified = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let aSecondLater = "Sun, 06 Nov 1994 08:49:38 GMT"
    private static let aSecondEarlier = "Sun, 06 Nov 1994 08:49:36 GMT"

    private func strong(_ fields: [(String, String)]) -> StrongValidator? {
        Validators(of: ResponseHead(status: 200, fields)).strong
    }

    @Test(arguments: ["\"a\"", "\"\"", "\"W/\"", "\"ü,;=\""])
    func anEntityTagAloneIsStrong(tag: String) throws {
        let expected = try #require(EntityTag(tag))
        #expect(strong([("ETag", tag)]) == .entityTag(expected))
    }

    @Test(arguments: [
        "W/\"a\"", "a", "\"a", "a\"", "", "\"a\"b\"", "w/\"a\"", "\"a\", \"b\"", "\"a b\"", "\"",
    ])
    func noDateReplacesAWeakTag(tag: String) {
        let fields = [
            ("ETag", tag), ("Last-Modified", Self.modified), ("Date", Self.aSecondLater),
        ]
        #expect(strong(fields) == nil)
    }

    @Test(
        arguments: [
            (aSecondLater, true), (modified, false), (aSecondEarlier, false), (nil, false),
            ("nonsense", false),
        ] as [(String?, Bool)])
    func aDateMustPrecedeTheAnswerASecond(date: String?, isStrong: Bool) {
        let dates = [("Last-Modified", Self.modified)] + (date.map { [("Date", $0)] } ?? [])
        #expect((strong([("ETag", "\"a\"")] + dates) != nil) == isStrong)
        #expect((strong(dates) == .lastModified(HTTPDate(seconds: 784_111_777))) == isStrong)
    }

    @Test func aMalformedDateMakesATagWeak() {
        #expect(strong([("ETag", "\"a\""), ("Last-Modified", "yesterday")]) == nil)
    }

    @Test func aWeakTagIsKeptAsACondition() {
        let validators = Validators(of: ResponseHead(status: 200, [("ETag", "W/\"a\"")]))
        #expect(validators.entityTag?.text == "W/\"a\"")
    }
}
