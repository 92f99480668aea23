import Testing

@testable import MirrorKit

@Suite struct ResumeSafetyTests {
    private static let url = "https://a.example/maps/world.bin?token=x"

    /// What HEAD, and after it perhaps the first byte, say of a file.
    private func report(
        _ head: [(String, String)], status: Int = 200, then firstByte: (Int, [(String, String)])?
    ) throws -> ProbeReport {
        let url = try SourceURL(Self.url)
        let now = Instant(seconds: 1_000_000_000)
        var report = ProbeReport(url: url.description)
        report.take(head: ResponseHead(status: status, head), from: url, at: now)
        if let (status, fields) = firstByte {
            report.take(firstByte: ResponseHead(status: status, fields), from: url, at: now)
        }
        return report
    }

    private static let date = ("Date", "Sun, 09 Sep 2001 01:46:40 GMT")
    private static let old = ("Last-Modified", "Sun, 09 Sep 2001 01:40:00 GMT")
    private static let sameSecond = ("Last-Modified", "Sun, 09 Sep 2001 01:46:40 GMT")
    private static let ranges = ("Accept-Ranges", "bytes")

    @Test(
        arguments: [
            ([("ETag", "\"a\""), ranges], "entity-tag"),
            ([("ETag", "\"a\""), ranges, old, date], "entity-tag"),
            ([ranges, old, date], "last-modified"),
            ([("ETag", "\"a\"")], "ranges-unknown"),
            ([("ETag", "\"a\""), ("Accept-Ranges", "none")], "no-ranges"),
            ([("ETag", "W/\"a\""), ranges, old, date], "weak-etag"),
            ([("ETag", "a"), ranges, old, date], "malformed-etag"),
            ([ranges], "no-validator"),
            ([ranges, sameSecond, date], "modified-just-now"),
            ([ranges, old], "no-date"),
            // Its second may have held two versions, and both have this tag.
            ([("ETag", "\"a\""), ranges, sameSecond, date], "modified-just-now"),
            ([("ETag", "\"a\""), ranges, ("Content-Encoding", "gzip")], "encoded"),
        ] as [([(String, String)], String)])
    func theVerdictFollowsFromRangesAndValidators(
        head: [(String, String)], code: String
    ) throws {
        let safety = ResumeSafety(try report(head, then: nil))
        #expect(safety.code == code)
        #expect(safety.isSafe == ["entity-tag", "last-modified"].contains(code))
        #expect(safety.sentence.contains("resumed:") == safety.isSafe)
    }

    /// nginx answers 400 to a client without a certificate.
    @Test func anAnswer400ToAProbeMayWantACertificate() throws {
        let refused = try report([], status: 400, then: (400, []))
        #expect(refused.error?.remedy == Remedy(.giveCertificate, "https://a.example"))
        #expect(try report([], status: 404, then: (404, [])).error?.remedy == nil)
    }

    @Test func oneByteShowsThatRangesWork() throws {
        let tag = ("ETag", "\"a\"")
        let report = try report(
            [tag], then: (206, [tag, ("Content-Range", "bytes 0-0/1234"), ("Content-Length", "1")]))
        #expect(report.ranges == .honoured)
        #expect(report.size == 1234)
        #expect(ResumeSafety(report).isSafe)
    }

    @Test func aWholeAnswerShowsThatRangesFail() throws {
        let report = try report(
            [("ETag", "\"a\""), Self.ranges],
            then: (200, [("ETag", "\"a\""), ("Content-Length", "77")]))
        #expect(report.ranges == .refused)
        #expect(report.size == 77)
        #expect(ResumeSafety(report).code == "no-ranges")
    }

    @Test func anotherRangeShowsNothing() throws {
        let report = try report([], then: (206, [("Content-Range", "bytes 5-5/10")]))
        #expect(report.ranges == .unknown)
    }

    @Test func anEmptyFileHasNoFirstByte() throws {
        let report = try report([("ETag", "\"a\"")], then: (416, [("Content-Range", "bytes */0")]))
        #expect(report.isGood)
        #expect(report.size == 0)
    }

    @Test(
        arguments: [
            (200, [("ETag", "\"a\""), ranges, ("Content-Length", "5")], false),
            (200, [("ETag", "\"a\""), ("Accept-Ranges", "none"), ("Content-Length", "5")], false),
            (200, [("ETag", "\"a\""), ranges], true),
            (200, [("ETag", "\"a\""), ("Content-Length", "5")], true),
            (200, [ranges, ("Content-Length", "5")], true),
            (405, [], true), (501, [], true), (403, [], true),
            (410, [], false), (503, [], false),
        ] as [(Int, [(String, String)], Bool)])
    func aByteIsAskedForWhenHeadsFail(
        status: Int, head: [(String, String)], asks: Bool
    ) throws {
        #expect(try report(head, status: status, then: nil).needsFirstByte == asks)
    }

    @Test func aRefusalNamesNoQuery() throws {
        let report = try report([], status: 410, then: nil)
        #expect(
            report.error?.message
                == "https://a.example/maps/world.bin: the server answered 410. Check the URL.")
        #expect(report.error?.status == 410)
    }
}
