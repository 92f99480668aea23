import MirrorModel
import Testing

@testable import mirror

/// The total line of a run's progress: what the plan knew, what is learned meanwhile, what is over.
@Suite struct ProgressBoardTests {
    private var board = ProgressBoard()

    @Test mutating func bytesThatWereThereAreNotCountedAsFetched() throws {
        plan(bytes: 78, unknownSizes: 0, requests: 1)
        try start("Documents/a", .resume, size: 144, offset: 66)
        try progress("Documents/a", bytes: 100, size: 144)
        #expect(board.total == "0 of 1 transfer, 34 B of 78 B")
    }

    @Test mutating func aSizeThatIsLearnedIsNoLongerUnknown() throws {
        plan(bytes: 100, unknownSizes: 2, requests: 3)
        try start("Caches/a", .fetch, size: nil)
        #expect(board.total == "0 of 3 transfers, 0 B of 100 B + 2 of unknown size")
        try progress("Caches/a", bytes: 10, size: 50)
        #expect(board.total == "0 of 3 transfers, 10 B of 150 B + 1 of unknown size")
        try start("Caches/b", .fetch, size: nil)
        try done("Caches/b", received: 7)
        #expect(board.total == "1 of 3 transfers, 17 B of 157 B")
    }

    @Test mutating func aConditionalRequestIsNotAmongTheUnknownSizes() throws {
        plan(bytes: 100, unknownSizes: 1, requests: 2)
        try start("Caches/a", .revalidate, size: nil)
        try done("Caches/a", received: 0)
        #expect(board.total == "1 of 2 transfers, 0 B of 100 B + 1 of unknown size")
    }

    @Test mutating func aRestartFetchesWhatWasThereAsWell() throws {
        plan(bytes: 78, unknownSizes: 0, requests: 1)
        try start("Documents/a", .resume, size: 144, offset: 66)
        apply(
            .restart(
                Event.Again(
                    target: try Target("Documents/a"), cause: MirrorError(.sourceChanged, ""),
                    attempt: 2, wait: 0)))
        try progress("Documents/a", bytes: 5, size: 144)
        #expect(board.total == "0 of 1 transfer, 5 B of 144 B")
    }

    private mutating func apply(_ body: Event.Body) {
        board.apply(Event(run: "", time: Instant(milliseconds: 0), body: body))
    }

    private mutating func plan(bytes: Int64, unknownSizes: Int, requests: Int) {
        let empty = Plan(
            root: "", manifests: [], steps: [], now: Instant(milliseconds: 0), orphansLeft: 0)
        var totals = PlanTotals(of: empty)
        totals.bytesToFetch = bytes
        totals.unknownSizes = unknownSizes
        totals.requests = requests
        apply(.plan(totals))
    }

    private mutating func start(
        _ path: String, _ step: Step.Kind, size: Int64?, offset: Int64 = 0
    ) throws {
        apply(
            .start(
                Event.Start(
                    target: try Target(path), step: step, reason: .missing,
                    source: "https://origin.example/a", size: size, offset: offset)))
    }

    private mutating func progress(_ path: String, bytes: Int64, size: Int64?) throws {
        apply(
            .progress(
                Event.Progress(target: try Target(path), bytes: bytes, size: size, rate: 0)))
    }

    private mutating func done(_ path: String, received: Int64) throws {
        var done = Event.Done(
            target: try Target(path), step: .fetch, outcome: .fetched, reason: .missing,
            verified: .size)
        done.bytesReceived = received
        apply(.done(done))
    }
}
