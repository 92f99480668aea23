@testable import MirrorKit
import Testing

@Suite struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 0-4/10", .bytes(first: 0, last: 4, total: 10)),
            ("Bytes 5-9/10", .bytes(first: 5, last: 9, total: 10)),
            ("bytes 5-9/*", .bytes(first: 5, last: 9, total: nil)),
            ("bytes */10", .unsatisfied(total: 10)),
            ("bytes */0", .unsatisfied(total: 0)),
        ] as [(String, ContentRange)])
    func wellFormedRangesAreRead(text: String, range: ContentRange) {
        #expect(ContentRange(text) == range)
    }

    @Test(arguments: [
        "", "bytes", "bytes 5-9", "bytes 9-5/10", "bytes 5-10/10", "bytes 5-9/5", "bytes=5-9/10",
        "bytes 5-/10", "bytes -9/10", "bytes  5-9/10", "items 5-9/10", "bytes */*",
        "bytes 5-9/10 ", "bytes 5-9/10, bytes 5-9/10", "bytes 0-9223372036854775807/*",
        "bytes 5-99999999999999999999/*", "bytes +5-9/10",
    ])
    func malformedContentRangesAreRefused(text: String) {
        #expect(ContentRange(text) == nil)
    }
}
