@testable import MirrorKit
import Testing

@Suite struct HeadCollectorTests {
    private func collect(_ lines: [String]) throws(ResponseError) -> [ResponseHead] {
        var collector = HeadCollector()
        var heads: [ResponseHead] = []
        for line in lines {
            if let head = try collector.take(line: Array(line.utf8)) { heads.append(head) }
        }
        return heads
    }

    private func head(_ lines: [String]) -> ResponseHead? { (try? collect(lines))?.first }

    private func refusal(_ lines: [String]) -> ResponseError? {
        do throws(ResponseError) { _ = try collect(lines) } catch { return error }
        return nil
    }

    @Test func headerLinesBecomeAHead() {
        let head = head(["HTTP/1.1 200 OK\r\n", "ETag:  \"a\" \r\n", "X-Empty:\r\n", "\r\n"])
        #expect(head == ResponseHead(status: 200, [("etag", "\"a\""), ("x-empty", "")]))
    }

    @Test func informationalHeadsAreDropped() {
        let head = head([
            "HTTP/1.1 103 Early Hints\r\n", "ETag: \"early\"\r\n", "\r\n",
            "HTTP/1.1 200 OK\r\n", "ETag: \"late\"\r\n", "\r\n",
        ])
        #expect(head?.values(of: .entityTag) == [Array("\"late\"".utf8)])
    }

    @Test func trailersAreDropped() throws {
        let heads = try collect([
            "HTTP/1.1 200 OK\r\n", "\r\n", "ETag: \"trailer\"\r\n", "\r\n",
        ])
        #expect(heads == [ResponseHead(status: 200, [])])
    }

    @Test func foldedLinesAreOne() {
        let head = head(["HTTP/1.1 200 OK\r\n", "Content-Length: 5\r\n", "  6\r\n", "\r\n"])
        #expect(head?.single(.contentLength) == "5 6")
    }

    @Test(arguments: [
        ("HTTP/1.0 200 OK", HTTPVersion.http10), ("HTTP/1.1 200", .http11),
        ("HTTP/2 200 ", .http2),
    ])
    func headHasTheHTTPVersion(line: String, version: HTTPVersion) {
        #expect(head([line + "\r\n", "\r\n"])?.version == version)
    }

    @Test(arguments: ["HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "ICY 200 OK", "HTTP/1.1 099 x"])
    func malformedStatusLinesAreRefused(line: String) {
        #expect(
            refusal([line + "\r\n", "\r\n"]) == .untrusted("its first line is not a status line"))
    }

    @Test(arguments: ["Content-Length : 5", ": x", "no colon", "b\u{e4}d: 1"])
    func linesWithoutAProperNameAreRefused(line: String) {
        #expect(
            refusal(["HTTP/1.1 200 OK\r\n", line + "\r\n", "\r\n"])
                == .untrusted("one of its header lines has no proper name"))
    }

    @Test func bytesThatAreNotTextAreKept() throws {
        var collector = HeadCollector()
        _ = try collector.take(line: Array("HTTP/1.1 200 OK\r\n".utf8))
        _ = try collector.take(line: Array("ETag: \"".utf8) + [0xE9] + Array("\"\r\n".utf8))
        let head = try #require(try collector.take(line: Array("\r\n".utf8)))
        #expect(head.values(of: .entityTag) == [[0x22, 0xE9, 0x22]])
        #expect(Validators(of: head).entityTag == nil)
    }

    /// Names are compared several bytes at a time: in any case, and no other byte is the same.
    @Test(arguments: HeaderName.allCases) func aNameIsFoundInAnyCaseOnly(_ name: HeaderName) {
        func found(_ bytes: [UInt8]) -> HeaderName? { bytes.withUnsafeBytes { HeaderName($0) } }
        let text = Array(name.text.description.utf8)
        #expect(found(text) == name)
        #expect(found(Array(name.text.description.uppercased().utf8)) == name)
        for at in text.indices {
            for byte in UInt8.min...UInt8.max {
                var other = text
                other[at] = byte
                let isLetter = text[at] != UInt8(ascii: "-")
                let isSame = byte == text[at] || isLetter && byte == text[at] - 0x20
                #expect((found(other) == name) == isSame, "\(at): \(byte)")
            }
        }
        #expect(found(Array(text.dropLast())) == nil)
        #expect(found(text + [0]) == nil)
    }
}
