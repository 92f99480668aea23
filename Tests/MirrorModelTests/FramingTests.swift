@testable import MirrorKit
import Testing

@Suite struct FramingTests {
    private func judge(
        _ fields: [(String, String)], status: Int = 200, version: HTTPVersion = .http11
    ) -> Result<Framing, ResponseError> {
        do {
            return .success(
                try Framing.judge(ResponseHead(status: status, version: version, fields)))
        } catch {
            return .failure(error)
        }
    }

    private func untrusted(_ flaw: String) -> Result<Framing, ResponseError> {
        .failure(.untrusted(flaw, status: 200))
    }

    @Test(
        arguments: [
            ([("Content-Length", "5")], .length(5)),
            ([("Content-Length", "5"), ("Content-Length", "5")], .length(5)),
            ([("Content-Length", "5, 5")], .length(5)),
            ([("Content-Length", "9223372036854775807")], .length(.max)),
            ([("Transfer-Encoding", "chunked")], .chunked),
            ([("Transfer-Encoding", "Chunked"), ("Content-Length", "5")], .chunked),
            ([], .unbounded),
        ] as [([(String, String)], Framing)])
    func endOfTheBodyIsKnown(fields: [(String, String)], framing: Framing) {
        #expect(judge(fields) == .success(framing))
    }

    @Test(arguments: ["", "5x", "-1", "+5", "5, 10", "5,", "0x10", "9223372036854775808", "5 6"])
    func malformedLengthsAreRefused(value: String) {
        #expect(
            judge([("Content-Length", value)])
                == untrusted("its Content-Length is \(Quoted(value))"))
    }

    @Test func differingLengthsAreRefused() {
        let fields = [("Content-Length", "5"), ("Content-Length", "10")]
        #expect(judge(fields) == untrusted("its Content-Length is \(Quoted("5, 10"))"))
    }

    @Test(arguments: ["identity", "gzip", "gzip, chunked", "chunked, chunked", ""])
    func otherTransferCodingsAreRefused(value: String) {
        #expect(
            judge([("Transfer-Encoding", value)])
                == untrusted("its Transfer-Encoding is \(Quoted(value))"))
    }

    @Test func chunksInHTTP10AreRefused() {
        let judged = judge([("Transfer-Encoding", "chunked")], version: .http10)
        #expect(judged == untrusted("its Transfer-Encoding is \(Quoted("chunked"))"))
    }

    @Test(arguments: ["ETag", "Content-Range"])
    func repeatedFieldsAreRefusedEvenWhenEqual(name: String) {
        #expect(judge([(name, "\"a\""), (name, "\"a\"")]) == untrusted("it sent \(name) twice"))
    }

    @Test(arguments: [204, 304])
    func answersWithoutABodyHaveNone(status: Int) {
        #expect(judge([("Content-Length", "5")], status: status) == .success(.none))
    }
}
