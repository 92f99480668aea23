import Testing

@testable import MirrorKit

/// Several connections for one file of 10 bytes, which the sources a and b have under one pin.
@Suite struct SegmentSetTests {
    typealias Machine = TransferMachineTests

    private static let tooMany = ResponseHead(status: 429, [("Retry-After", "7")])
    private static let lost = TransportFailure(
        .connectionLost, "it was lost", isPassing: true, wasSent: true)

    private func machine() throws -> TransferMachine {
        var machine = try Machine.machine(["a", "b"], pinned: true)
        _ = machine.begin()
        _ = machine.answered(Machine.whole, at: Machine.now)
        return machine
    }

    /// A set whose own connection has begun, with so many connections wanted in all.
    private func set(_ wanted: Int = 3, front: Int64 = 0) -> SegmentSet {
        var set = SegmentSet(
            Segmentation(total: 10, front: front, leastRange: 1), limit: wanted)
        set.ownBegins(source: 0, askedEnd: 10, answerTime: 0)
        return set
    }

    private func open(_ set: inout SegmentSet, at place: Host? = nil) throws -> Int? {
        let machine = try machine()
        guard let opening = machine.opening(in: set, isOpen: { _ in true }) else { return nil }
        set.open(opening, extraPlace: place ?? opening.host)
        return opening.assignment.id
    }

    private func answer(_ set: inout SegmentSet, _ id: Int) throws {
        let range = try #require(set.helpers[id]?.assignment)
        let head = ResponseHead(
            status: 206, [("Content-Range", "bytes \(range.start)-\(range.end - 1)/10")])
        let verdict = set.answered(head, on: id, at: Machine.now)
        guard case .receive? = verdict else { throw Unexpected() }
    }

    private struct Unexpected: Error {}

    @Test func onlyAsManyBeginAsAreWanted() throws {
        var set = set(3)
        #expect(try open(&set) != nil)
        #expect(try open(&set) != nil)
        #expect(try open(&set) == nil)
        #expect(set.running == 3)
        #expect(set.hasSilent)
    }

    @Test func theLeastUsedSourceIsNext() throws {
        var set = set(3)
        let first = try #require(try open(&set))
        #expect(set.helpers[first]?.host.name == "b.example")
        let second = try #require(try open(&set))
        #expect(set.helpers[second]?.host.name == "a.example")
    }

    @Test func aHostThatIsClosedIsNotAsked() throws {
        let machine = try machine()
        let opening = machine.opening(in: set()) { $0 == 0 }
        #expect(opening?.host.name == "a.example")
        let none = machine.opening(in: set()) { _ in false }
        #expect(none == nil)
    }

    @Test func theOwnConnectionYieldsToAnother() throws {
        var set = set(2)
        let id = try #require(try open(&set))
        let start = try #require(set.helpers[id]?.assignment.start)
        let (taken, isCut, passedOver) = set.arrived(10)
        #expect(Int64(taken) == start)
        #expect(isCut)
        #expect(!passedOver)
        set.ownEnded(nil)
        #expect(set.takesOwnPlace)
        try answer(&set, id)
        let end = try #require(set.helpers[id]?.assignment.end)
        #expect(set.arrived(Int(end - start), on: id).taken == Int(end - start))
        #expect(set.close(id) == end)
        guard case .segmentsEnded = set.conclusion else { throw Unexpected() }
    }

    @Test func bytesBeyondARangeAreNotTaken() throws {
        var set = set(2)
        let id = try #require(try open(&set))
        try answer(&set, id)
        let range = try #require(set.helpers[id]?.assignment)
        let (taken, goesOn) = set.arrived(9, on: id)
        #expect(Int64(taken) == range.end - range.start)
        #expect(!goesOn)
    }

    @Test func theTransferHearsOfItsOwnBreak() throws {
        var alone = set(1)
        _ = alone.arrived(4)
        alone.ownEnded(Self.lost)
        guard case .interrupted = alone.conclusion else { throw Unexpected() }
        var whole = set(1)
        _ = whole.arrived(10)
        whole.ownEnded(nil)
        guard case .bodyEnded = whole.conclusion else { throw Unexpected() }
    }

    /// However well its framing ended: to ask again at once would be a storm of requests.
    @Test func aResponseShortOfItsPromiseIsBroken() throws {
        var short = set(1)
        _ = short.arrived(4)
        short.ownEnded(nil, promisedEnd: 10)
        guard case .interrupted(let failure) = short.conclusion else { throw Unexpected() }
        #expect(failure.code == .connectionLost)
        // A server may send less than was asked for, and say so.
        var less = set(1)
        _ = less.arrived(4)
        less.ownEnded(nil, promisedEnd: 4)
        guard case .bodyEnded = less.conclusion else { throw Unexpected() }
    }

    /// A pause costs no retry, though the own connection broke before.
    @Test(arguments: [true, false]) func aBrokenOffSetGoesOn(hadBroken: Bool) throws {
        var set = set(1)
        _ = set.arrived(4)
        if hadBroken { set.ownEnded(Self.lost) }
        set.ownBrokenOff(nil)
        guard case .segmentsEnded = set.conclusion else { throw Unexpected() }
    }

    @Test func aSourceOfRestGetsNoFurtherConnection() throws {
        var set = set(3)
        let id = try #require(try open(&set))
        let verdict = set.answered(Self.tooMany, on: id, at: Machine.now)
        guard let found = set.ended(id, verdict, nil), found.isCrowded, found.hold == 7 else {
            throw Unexpected()
        }
        _ = set.close(id)
        let next = try #require(try open(&set))
        #expect(set.helpers[next]?.host.name == "a.example")
    }

    @Test func aSourceThatBreaksEarlyIsLeftAlone() throws {
        var set = set(2)
        let id = try #require(try open(&set))
        #expect(set.ended(id, nil, Self.lost) == nil)
        _ = set.close(id)
        let next = try #require(try open(&set))
        #expect(set.helpers[next]?.host.name == "a.example")
    }

    @Test func segmentYieldsItsPlaceToAWaitingTransfer() throws {
        var set = set(3)
        let first = try #require(try open(&set))
        let second = try #require(try open(&set))
        #expect(set.surplus { _ in false }.isEmpty)
        #expect(set.surplus { _ in true } == [second])
        set.move(second, to: nil)
        #expect(set.surplus { _ in true } == [first])
    }

    @Test func anAnswerContinuedElsewhereDoesNotFit() throws {
        let machine = try machine()
        let received = machine.reception
        let reception = try #require(received)
        #expect(set().fits(reception))
        #expect(!set(front: 3).fits(reception))
    }

    @Test func smallRangeIsNotDivided() {
        #expect(!SegmentSet.mayDivide(missing: (2 << 20) - 1, limit: nil))
        #expect(SegmentSet.mayDivide(missing: 2 << 20, limit: nil))
        #expect(!SegmentSet.mayDivide(missing: 1 << 40, limit: 1))
    }
}
