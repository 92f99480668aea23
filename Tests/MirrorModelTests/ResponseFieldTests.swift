@testable import MirrorKit
import Testing

@Suite struct ResponseFieldTests {
    private static let date = ("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
    private static let now = Instant(seconds: 784_111_777 + 500)

    @Test(
        arguments: [
            ("0", 0), ("120", 120), ("99999999999999999999", .max), ("-1", nil), ("soon", nil),
            ("", nil), ("1.5", nil), ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
        ] as [(String, Int64?)])
    func retryAfterIsSecondsOrADate(text: String, seconds: Int64?) {
        let head = ResponseHead(status: 503, [("Retry-After", text), Self.date])
        #expect(head.retryAfter(now: Self.now) == seconds)
    }

    @Test func withoutDateRetryAfterUsesOurClock() {
        let head = ResponseHead(
            status: 503, [("Retry-After", "Sun, 06 Nov 1994 08:58:37 GMT")])
        #expect(head.retryAfter(now: Self.now) == 40)
    }

    @Test(
        arguments: [
            ([("Cache-Control", "max-age=600")], 600),
            ([("Cache-Control", "MAX-AGE=\"600\" , public")], 600),
            ([("Cache-Control", "public"), ("Cache-Control", "max-age=600")], 600),
            ([("Cache-Control", "max-age=600, max-age=600")], 600),
            ([("Cache-Control", "max-age=600, max-age=60")], 0),
            ([("Cache-Control", "max-age=x")], 0),
            ([("Cache-Control", "s-maxage=600")], nil),
            ([("Cache-Control", "max-age=600, no-cache")], 0),
            ([("Cache-Control", "no-store")], 0),
            ([("Cache-Control", "max-age=600"), ("Age", "500")], 100),
            ([("Cache-Control", "max-age=600"), ("Age", "900")], 0),
            ([("Cache-Control", "x=\"max-age=5, y\", max-age=600")], 600),
            ([("Expires", "Sun, 06 Nov 1994 09:49:37 GMT"), date], 3100),
            ([("Expires", "0"), date], 0),
            ([("Expires", "Sun, 06 Nov 1994 09:49:37 GMT"), ("Cache-Control", "max-age=1")], 1),
            ([("Cache-Control", "max-age=600"), ("Vary", "*")], 0),
            ([("Cache-Control", "max-age=600"), ("Vary", "Accept, *")], 0),
            ([("Cache-Control", "max-age=600"), ("Vary", "Accept")], 600),
            ([], nil),
        ] as [([(String, String)], Int64?)])
    func freshnessIsWhatTheAnswerSays(fields: [(String, String)], seconds: Int64?) {
        let until = ResponseHead(status: 200, fields).freshUntil(received: Self.now)
        #expect(until?.seconds(since: Self.now) == seconds)
    }

    @Test(
        arguments: [
            ("attachment; filename=\"a.txt\"", "a.txt"),
            ("attachment; filename=a.txt", "a.txt"),
            ("inline;filename=a.txt;x=y", "a.txt"),
            ("attachment; filename=\"../../etc/passwd\"", "passwd"),
            ("attachment; filename=\"C:\\\\dir\\\\a.txt\"", "a.txt"),
            ("attachment; filename=\"a\\\"b.txt\"", "a\"b.txt"),
            ("attachment; filename=\"C:\\Users\\me\\doc.txt\"", "doc.txt"),
            ("attachment; filename=\"C:\\\\Users\\\\doc.txt\"", "doc.txt"),
            ("attachment; filename=report final.pdf", "report final.pdf"),
            ("attachment; filename=report final.pdf ; size=3", "report final.pdf"),
            ("attachment; filename=\"plain\"; filename*=UTF-8''na%C3%AFve.txt", "na\u{ef}ve.txt"),
            ("attachment; filename*=iso-8859-1'en'%A3.txt", "\u{a3}.txt"),
            ("attachment; filename=\"ok\"; filename*=UTF-8''%FF", "ok"),
            ("attachment; filename=\"ok\"; filename*=UTF-8''%4", "ok"),
            ("attachment; filename*=UTF-8''..%2F..%2Fx", "x"),
            ("attachment; filename=\"..\"", nil), ("attachment; filename=\"a/\"", nil),
            ("attachment; filename=\"unterminated", "\"unterminated"),
            ("attachment", nil), ("", nil),
        ] as [(String, String?)])
    func suggestedNamesAreLastComponents(text: String, name: String?) {
        let head = ResponseHead(status: 200, [("Content-Disposition", text)])
        #expect(head.suggestedName == name)
    }

    @Test func namesOutsideUTF8AreLatin1() {
        var head = ResponseHead(status: 200)
        head.append(.contentDisposition, Array("attachment; filename=\"".utf8) + [0xE9, 0x22])
        #expect(head.suggestedName == "\u{e9}")
    }

    private static let sha256OfNothing = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    @Test(arguments: [
        ("sha-256=:\(sha256OfNothing):", 1), ("md5=:AAAA:, sha-256=:\(sha256OfNothing):", 1),
        ("sha-256=:\(sha256OfNothing):;q=1, unixsum=:AAAA:", 1), ("sha-256=:AAAA:", 0),
        ("x=token, sha-256=:\(sha256OfNothing):", 1), ("flag, sha-256=:\(sha256OfNothing):", 1),
        ("sha-256=:\(sha256OfNothing)", 0), ("sha-256=\(sha256OfNothing)", 0),
        ("sha-256=:\(sha256OfNothing):,", 0), ("sha-256=:\(sha256OfNothing):x", 0), ("", 0),
    ])
    func digestsOfTheWholeFileAreRead(text: String, count: Int) {
        let digests = ResponseHead(status: 200, [("Repr-Digest", text)]).reprDigests
        #expect(digests.count == count)
        #expect(digests.allSatisfy { $0.hex.hasPrefix("e3b0c44298fc1c14") })
    }

    @Test(
        arguments: [
            ("Text/HTML; charset=x", "text/html"), ("text/plain", "text/plain"), ("nonsense", nil),
        ] as [(String, String?)])
    func mediaTypesHaveNoParameters(text: String, essence: String?) {
        #expect(ResponseHead(status: 200, [("Content-Type", text)]).mediaType == essence)
    }

    @Test(arguments: [("gzip", ["gzip"]), ("identity", []), ("Identity, GZIP", ["gzip"]), ("", [])])
    func identityIsNoContentCoding(text: String, codings: [String]) {
        #expect(ResponseHead(status: 200, [("Content-Encoding", text)]).contentCodings == codings)
    }
}
