@testable import MirrorKit
import Testing

/// What is told of a failure that libcurl reports.
@Suite struct CurlFailureTests {
    @Test func tlsToAPlainPortIsNamed() {
        let detail = "error:0A00010B:SSL routines::wrong version number"
        let words = TransportFailure.cause(of: .tlsFailed, detail: detail, reason: detail)
        #expect(words.contains("does not speak TLS on this port"))
        #expect(words.contains("write http://"))
        let other = TransportFailure.cause(of: .tlsFailed, detail: "expired", reason: "expired")
        #expect(other == "no safe connection: expired")
    }
}
