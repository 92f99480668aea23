@testable import MirrorKit
import MirrorTestSupport
import Testing

/// Who fetches what. Sizes are in units of 100 bytes, which is the fewest that are worth a request.
@Suite struct SegmentationTests {
    private func plan(
        _ total: Int64, front: Int64 = 0, rangesBeyond: [Range<Int64>] = []
    ) -> Segmentation {
        Segmentation(total: total, front: front, rangesBeyond: rangesBeyond, leastRange: 100)
    }

    private func open(_ plan: inout Segmentation, _ source: Int) -> Segmentation.Assignment {
        guard let assignment = plan.open(source: source) else {
            preconditionFailure("nothing to open")
        }
        return assignment
    }

    /// The assignments in the order of their positions: `position-end`, with `!` where the answer goes on.
    private func words(_ plan: Segmentation) -> String {
        plan.assignments.values.sorted { $0.position < $1.position }
            .map { "\($0.position)-\($0.end)\($0.isCut ? "!" : "")" }.joined(separator: " ")
    }

    @Test func theFirstRunGoesUpToTheEnd() {
        var plan = plan(10_000)
        let assignment = plan.begin(source: 0, askedEnd: 10_000)
        #expect(words(plan) == "0-10000")
        #expect(plan.arrived(4000, on: assignment.id) == 4000)
        #expect(plan.front == 4000)
        #expect(plan.arrived(7000, on: assignment.id) == 6000)
        #expect(plan.isComplete)
        #expect(plan.missingBytes == 0)
    }

    @Test func aSecondConnectionCutsTheFirst() {
        var plan = plan(10_000)
        _ = plan.begin(source: 0, askedEnd: 10_000)
        let second = plan.open(source: 0)
        // Four pieces of the least size as long as no rate is known.
        #expect(words(plan) == "0-400! 400-800")
        #expect(second?.askedEnd == 800)
        _ = plan.open(source: 0)
        #expect(words(plan) == "0-400! 400-800 800-1200")
    }

    @Test func withoutARatePiecesAreEven() {
        var plan = plan(3000)
        plan.answerSeconds = 0.2
        _ = plan.begin(source: 0, askedEnd: 3000)
        _ = plan.open(source: 0, more: 2)
        _ = plan.open(source: 0, more: 1)
        _ = plan.open(source: 0)
        #expect(words(plan) == "0-750! 750-1500 1500-2250 2250-3000")
    }

    @Test(arguments: [
        (0.0, "500-975! 975-1450"), (0.25, "500-1000! 1000-1500"), (1.0, "500-1450! 1450-2400"),
    ])
    func aPieceLastsForSeveralAnswers(seconds: Double, pieces: String) {
        var plan = plan(2400)
        plan.answerSeconds = seconds
        let first = plan.begin(source: 0, askedEnd: 2400)
        // 500 bytes in a second.
        #expect(plan.arrived(500, on: first.id) == 500)
        plan.measure(milliseconds: 1000)
        _ = plan.open(source: 0)
        #expect(words(plan) == pieces)
    }

    @Test func aSilentSourcesLastRangeIsTakenOver() {
        var plan = plan(1000)
        let first = plan.begin(source: 0, askedEnd: 1000)
        let silent = open(&plan, 1)
        #expect(words(plan) == "0-250! 250-500")
        #expect(plan.arrived(250, on: first.id) == 250)
        plan.end(first.id)
        // What is free comes first, then halves of the range while they are worth a request.
        while plan.silentSources.isEmpty {
            let more = open(&plan, 0)
            #expect(plan.arrived(Int(more.rest), on: more.id) == Int(more.rest))
            plan.end(more.id)
        }
        #expect(plan.isComplete)
        #expect(plan.silentSources == [1])
        #expect(plan.assignments[silent.id] == nil)
    }

    @Test func aSourceThatBroughtNothingTakesNothingOver() {
        var plan = plan(300)
        let first = plan.begin(source: 0, askedEnd: 300)
        _ = plan.arrived(150, on: first.id)
        #expect(plan.open(source: 1) == nil)
    }

    @Test func withoutBytesAConnectionLags() {
        var plan = plan(300)
        let first = plan.begin(source: 0, askedEnd: 150)
        _ = plan.arrived(150, on: first.id)
        plan.end(first.id)
        let silent = open(&plan, 0)
        #expect(plan.open(source: 0) == nil)
        plan.measure(milliseconds: 500)
        #expect(plan.open(source: 0)?.start == 150)
        #expect(plan.assignments[silent.id] == nil)
    }

    @Test func theFrontJumpsOverWhatOthersFetched() {
        var plan = plan(10_000)
        let first = plan.begin(source: 0, askedEnd: 10_000)
        let second = open(&plan, 0)
        #expect(plan.arrived(400, on: second.id) == 400)
        plan.end(second.id)
        #expect(plan.front == 0)
        #expect(plan.hasRangesBeyond)
        #expect(plan.heldBytes == 400)
        #expect(plan.arrived(500, on: first.id) == 400)
        #expect(plan.front == 800)
        #expect(plan.assignments[first.id]?.isDone == true)
        #expect(!plan.hasRangesBeyond)
    }

    @Test func anUntouchedRangeGoesToItsPredecessor() {
        var plan = plan(10_000)
        _ = plan.begin(source: 0, askedEnd: 10_000)
        let second = open(&plan, 0)
        plan.end(second.id)
        #expect(words(plan) == "0-10000")
    }

    @Test func aRangeReturnedMidwayIsTakenNext() {
        var plan = plan(10_000)
        _ = plan.begin(source: 0, askedEnd: 10_000)
        let second = open(&plan, 0)
        _ = plan.arrived(150, on: second.id)
        plan.end(second.id)
        #expect(words(plan) == "0-400!")
        _ = plan.open(source: 0)
        #expect(words(plan) == "0-400! 550-950")
    }

    @Test func aFinishedRangeSkipsReturnedBytes() {
        var plan = plan(10_000)
        let first = plan.begin(source: 0, askedEnd: 10_000)
        let second = open(&plan, 0)
        // Its connection is being closed by now.
        _ = plan.arrived(400, on: first.id)
        plan.end(second.id)
        #expect(plan.assignments[first.id]?.end == 400)
    }

    @Test func aBoundedAnswerIsNotLengthened() {
        var plan = plan(10_000, front: 100, rangesBeyond: [5000..<6000])
        #expect(plan.gapEnd == 5000)
        let first = plan.begin(source: 0, askedEnd: 5000)
        #expect(first.end == 5000)
        let second = open(&plan, 0)
        #expect(second.start == 6000)
        plan.end(second.id)
        #expect(words(plan) == "100-5000")
    }

    @Test func aResponseIsCutAtHeldRanges() {
        var plan = plan(10_000, rangesBeyond: [5000..<6000])
        let assignment = plan.begin(source: 0, askedEnd: 10_000)
        #expect(assignment.end == 5000)
        #expect(assignment.isCut)
    }

    @Test func rangesOutsideTheFileAreIgnored() {
        #expect(plan(100, front: 50, rangesBeyond: [90..<200, 300..<400]).heldBytes == 60)
        #expect(plan(100, front: 500).isComplete)
    }

    @Test func rangesThatTouchAreMerged() {
        let plan = plan(1000, rangesBeyond: [400..<500, 100..<200, 450..<600, 200..<300])
        #expect(plan.held == [100..<300, 400..<600])
        #expect(plan.gapEnd == 100)
    }

    /// A byte that nobody fetched lies between two rangesBeyond, before the first, and behind the front.
    @Test func rangesWithAGapStayApart() {
        var plan = plan(600, front: 100, rangesBeyond: [101..<200, 300..<400, 401..<500])
        #expect(plan.held == [0..<100, 101..<200, 300..<400, 401..<500])
        #expect(plan.front == 100)
        #expect(plan.gapEnd == 101)
        #expect(plan.missingBytes == 202)
        let assignment = plan.begin(source: 0, askedEnd: 600)
        #expect(plan.arrived(1, on: assignment.id) == 1)
        #expect(plan.front == 200)
    }

    @Test func rangesOneByteApartStayTwo() {
        var plan = plan(600, rangesBeyond: [300..<400])
        let assignment = plan.begin(source: 0, askedEnd: 600)
        #expect(plan.arrived(299, on: assignment.id) == 299)
        #expect(plan.held == [0..<299, 300..<400])
        #expect(plan.arrived(5, on: assignment.id) == 1)
        #expect(plan.held == [0..<400])
    }

    @Test func theSlowestRunLosesItsSecondHalf() {
        var plan = plan(2000)
        let slow = plan.begin(source: 0, askedEnd: 2000)
        let fast = open(&plan, 1)
        let last = open(&plan, 1)
        _ = plan.arrived(10, on: slow.id)
        _ = plan.arrived(200, on: fast.id)
        _ = plan.arrived(200, on: last.id)
        plan.measure(milliseconds: 1000)
        while let assignment = plan.open(source: 1), plan.assignments.count < 20 {
            #expect(assignment.end - assignment.start >= 100)
        }
        // A assignment keeps what it has got, and at least one piece that is worth its request.
        for assignment in plan.assignments.values {
            #expect(assignment.end - assignment.position >= 0)
        }
        #expect(plan.assignments.values.reduce(0) { $0 + $1.rest } == plan.missingBytes)
    }

    @Test func almostFinishedRangeIsNotSplit() {
        var plan = plan(1000, front: 850)
        _ = plan.begin(source: 0, askedEnd: 1000)
        #expect(plan.open(source: 0) == nil)
        var quick = self.plan(1000)
        let assignment = quick.begin(source: 0, askedEnd: 1000)
        _ = quick.arrived(100, on: assignment.id)
        // 900 bytes at 10,000 a second are not worth a connection.
        quick.measure(milliseconds: 10)
        #expect(quick.open(source: 0) == nil)
    }

    @Test func noByteIsAssignedToTwoConnections() {
        var random = SplitMix64(seed: 7)
        for _ in 0..<200 {
            var plan = plan(Int64.random(in: 1...20_000, using: &random))
            _ = plan.begin(source: 0, askedEnd: plan.total)
            for step in 0..<400 {
                let ids = plan.assignments.keys.sorted()
                switch Int.random(in: 0..<10, using: &random) {
                case 0: _ = plan.open(source: 0, more: step % 3)
                case 1:
                    if let id = ids.randomElement(using: &random), id > 0 || step > 200 {
                        plan.end(id)
                    }
                case 2: plan.measure(milliseconds: 250)
                default:
                    if let id = ids.randomElement(using: &random) {
                        _ = plan.arrived(Int.random(in: 0...300, using: &random), on: id)
                    }
                }
                let claims = plan.assignments.values.filter { !$0.isDone }.map {
                    $0.position..<$0.end
                }
                let all = (plan.held + claims).sorted { $0.lowerBound < $1.lowerBound }
                for (left, right) in zip(all, all.dropFirst()) {
                    #expect(left.upperBound <= right.lowerBound)
                }
                #expect(
                    plan.assignments.values.allSatisfy { $0.end <= $0.askedEnd && $0.rest >= 0 })
            }
        }
    }
}
