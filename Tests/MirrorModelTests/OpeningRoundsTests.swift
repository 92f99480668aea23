import Testing

@testable import MirrorKit

/// The first second with a host, in virtual time: every request waits for its connection where it opens
/// one, then for the answer.
@Suite struct OpeningRoundsTests {
    private struct Line {
        /// Milliseconds until a connection stands, and until an answer.
        var connecting: Int64
        var answering: Int64
        /// How many requests a millisecond the server answers at most.
        var mostPerMillisecond = Int.max
        /// How many of the connections are new ones: all, or one that is shared.
        var isShared = false
    }

    /// Runs requests until the time; gives how many ended, and the limit in the end.
    private func run(
        _ line: Line, isBrief: Bool = true, milliseconds: Int64, waiting: Int = .max,
        ceiling: Int = 128
    ) -> (ended: Int, limit: Int, most: Int) {
        var pace = HostPace(ceiling: ceiling, now: 0)
        // When those that run get their connection and their answer.
        var connecting: [Int64] = []
        var asking: [Int64] = []
        var (idle, ended, mostRunning, left) = (0, 0, 0, waiting)
        for now in 0..<milliseconds {
            pace.passSilence(room: 128, hasRead: true, now: now)
            let standing = connecting.filter { $0 <= now }
            connecting.removeAll { $0 <= now }
            for _ in standing {
                pace.connected(after: line.connecting, isBrief: isBrief, now: now)
                if line.isShared, standing.count > 1 {
                    pace.sharesConnection(isBrief: isBrief, now: now)
                }
                asking.append(now + line.answering)
            }
            let answered = min(asking.count { $0 <= now }, line.mostPerMillisecond)
            for _ in 0..<answered {
                asking.removeFirst()
                idle += 1
                ended += 1
                pace.answered(after: line.answering)
                pace.ended(isFull: left > 0, now: now)
            }
            while connecting.count + asking.count < pace.limit, left > 0 {
                left -= 1
                if idle > 0 || line.isShared && pace.sharesConnections {
                    idle -= idle > 0 ? 1 : 0
                    asking.append(now + line.answering)
                } else {
                    connecting.append(now + line.connecting)
                }
            }
            mostRunning = max(mostRunning, connecting.count + asking.count)
            if !isBrief, !asking.isEmpty { pace.received(10_000) }
            if now % 250 == 0 { pace.tick(now: now, isFull: left > 0) }
        }
        return (ended, pace.limit, mostRunning)
    }

    @Test(arguments: [Int64(20), 100, 300])
    func aLongLineFillsWithinFewRoundTrips(roundTrip: Int64) {
        let line = Line(connecting: roundTrip, answering: roundTrip)
        let found = run(line, milliseconds: 8 * roundTrip)
        #expect(found.limit == HostPace.mostConnections)
        // As many at once from the start would have brought 192.
        #expect(found.ended >= 160, "\(found)")
    }

    @Test(arguments: [Int64(20), 100, 300])
    func silenceShowsALongLineBehindProxies(roundTrip: Int64) {
        let line = Line(connecting: 0, answering: roundTrip)
        let found = run(line, milliseconds: 8 * roundTrip)
        #expect(found.limit == HostPace.mostConnections)
        // As many at once from the start would have brought 224.
        #expect(found.ended >= 216, "\(found)")
    }

    @Test(arguments: [Int64(20), 100, 300])
    func streamsOfAConnectionAreAskedAtOnce(roundTrip: Int64) {
        let line = Line(connecting: 3 * roundTrip, answering: roundTrip, isShared: true)
        let found = run(line, milliseconds: 8 * roundTrip)
        #expect(found.limit == HostPace.mostStreams)
        #expect(found.ended >= 400, "\(found)")
    }

    @Test func aServerNotFasterGetsNoMore() {
        let line = Line(connecting: 0, answering: 1, mostPerMillisecond: 7)
        let found = run(line, milliseconds: 2000)
        #expect(found.limit == 2 * HostPace.start)
        #expect(found.most <= 4 * HostPace.start)
        #expect(found.ended >= 7 * 1950)
    }

    @Test func longBodiesAreNotAskedForInHaste() {
        let line = Line(connecting: 100, answering: 3000)
        let found = run(line, isBrief: false, milliseconds: 2900)
        #expect(found.most <= 2 * HostPace.start, "\(found)")
    }

    @Test func fewRequestsSayNothing() {
        let line = Line(connecting: 50, answering: 50)
        let found = run(line, isBrief: false, milliseconds: 400, waiting: 8)
        #expect(found.limit == HostPace.start)
    }

    @Test func aBurstOfRefusalsCountsOnce() {
        var pace = HostPace(ceiling: 64, now: 0)
        pace.connected(after: 1, isBrief: true, now: 1)
        pace.sharesConnection(isBrief: true, now: 1)
        #expect(pace.limit == 64)
        for _ in 0..<60 { pace.backOff(requestBegan: 1, now: 5) }
        #expect(pace.limit == 32)
        pace.backOff(requestBegan: 5, now: 9)
        #expect(pace.limit == 16)
    }

    @Test(arguments: [(19, true, 16), (20, true, 32), (20, false, 8)])
    func connectionsForSmallBodiesLetOthersBegin(time: Int64, isBrief: Bool, most: Int) {
        var pace = HostPace(ceiling: 128, now: 0)
        for _ in 1...50 { pace.connected(after: time, isBrief: isBrief, now: time) }
        #expect(pace.limit == most)
    }
}
