import Testing

@testable import MirrorKit

/// Which statuses alone decide about further requests; all others decide nothing.
@Suite struct StatusCodeTests {
    private static let passing: Set<Int> = [202, 408, 425, 429, 500, 502, 503, 504]
    private static let overload: Set<Int> = [429, 503]
    private static let otherProtocol: Set<Int> = [421, 426, 464, 505]

    @Test func onlyTheseStatusesAreTriedAgain() {
        #expect(Set((100..<1000).filter(StatusCode.isPassing)) == Self.passing)
    }

    @Test func onlyTheseStatusesAskForFewerRequests() {
        #expect(Set((100..<1000).filter(StatusCode.isOverload)) == Self.overload)
    }

    @Test func onlyTheseStatusesMayRefuseARange() {
        let found = Set((100..<1000).filter(StatusCode.mayRefuseRanges))
        #expect(found == [400, 403, 404, 405, 412, 500, 501])
    }

    /// The URL is to blame only where the server says that it has nothing there.
    @Test func eachRefusalHasAdviceOfItsOwn() {
        #expect(
            (200..<600).filter { StatusCode.advice($0).contains("Check the URL") } == [404, 410])
        #expect(StatusCode.advice(407).contains("proxy"))
        #expect(StatusCode.advice(401).contains("password"))
    }

    @Test func onlyTheseStatusesAskForAnotherProtocol() {
        #expect(Set((100..<1000).filter(StatusCode.refusesProtocol)) == Self.otherProtocol)
    }
}
