import Testing

@testable import MirrorKit

@Suite struct TransferStartsTests {
    /// The first connection's handshake does not wait until a hundred requests are prepared.
    @Test func requestsUnderWayGoOnWhileTransfersStart() throws {
        let wire = UnansweringWire()
        let inbox = try TransferInbox()
        var configuration = Configuration()
        (configuration.jobs, configuration.perHost) = (100, 100)
        let engine = TransferEngine(
            configuration,
            TransferEngine.Surroundings(
                wire: wire, parts: ScratchPartStore(), observer: DeafObserver(), inbox: inbox,
                workers: NoWorkers(), readers: NoWorkers()))
        for id in 0..<100 {
            engine.submit(
                try .fetching("https://a.example/\(id)", id: id, target: "Caches/\(id)"))
        }
        var turns = 0
        while wire.begun < 100, turns < 100 {
            turns += 1
            let before = wire.begun
            let wait = try #require(engine.iterate())
            #expect(wire.begun > before, "turn \(turns) started none")
            if wire.begun < 100 { #expect(wait == 0, "nothing else wakes the loop") }
        }
        #expect(wire.begun == 100)
        #expect(wire.performed == turns)
        #expect(turns >= 4)
        // Everything has started, so the loop waits.
        let wait = try #require(engine.iterate())
        #expect(wait > 0)
    }
}

/// Makes requests that get no answer.
private final class UnansweringWire: Wire {
    private(set) var begun = 0
    private(set) var performed = 0

    func prepare(_ active: ActiveRequest) {}
    func begin(_ active: ActiveRequest) { begun += 1 }
    func end(_ active: ActiveRequest) {}
    func resume(_ active: ActiveRequest) -> WireEnd? { nil }
    func perform() { performed += 1 }
    func nextEnd() -> WireEnd? { nil }
    func endConnection(of active: ActiveRequest, ifSilentFor milliseconds: Int64) {}
    func watchNetwork() {}
    func networkHasReturned() -> Bool { false }
    func wait(milliseconds: Int64) {}
}

private struct DeafObserver: TransferObserver {
    func tell(_ download: Download, _ event: TransferEvent) {}
}

private struct NoWorkers: Workers {
    func submit(_ work: @escaping @Sendable () -> Void) -> Bool { true }
    func stop() {}
}
