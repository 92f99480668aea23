import Testing

@testable import MirrorModel

/// Which statuses alone decide about further requests; all others decide nothing.
@Suite struct StatusCodeTests {
    private static let passing: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
    private static let overload: Set<Int> = [429, 503]
    private static let otherProtocol: Set<Int> = [421, 426, 464, 505]

    @Test func onlyTheseStatusesAreTriedAgain() {
        #expect(Set((100..<1000).filter(StatusCode.isPassing)) == Self.passing)
    }

    @Test func onlyTheseStatusesAskForFewerRequests() {
        #expect(Set((100..<1000).filter(StatusCode.isOverload)) == Self.overload)
    }

    @Test func onlyTheseStatusesAskForAnotherProtocol() {
        #expect(Set((100..<1000).filter(StatusCode.refusesProtocol)) == Self.otherProtocol)
    }
}
