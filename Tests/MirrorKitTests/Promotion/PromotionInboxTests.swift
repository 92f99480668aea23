import Testing

@testable import MirrorKit

@Suite struct PromotionInboxTests {
    private let start = ContinuousClock().now

    private func work(bytes: Int = 0) throws -> PromotionWork {
        let record = try fullRecord("Caches/a")
        let promotion = Promotion(
            target: record.target, content: .memory([UInt8](repeating: 0, count: bytes)),
            record: record, expected: .nothing, modified: 0, isExecutable: false,
            onConflict: .rename)
        return PromotionWork(
            task: .promote(promotion), number: 0, receiver: PromotionListener { _ in })
    }

    private func count(_ decision: PromotionInbox.Decision) -> Int? {
        if case .promote(let works) = decision { works.count } else { nil }
    }

    @Test func aBatchWaitsTwoHundredMillisecondsForCompany() throws {
        var inbox = PromotionInbox()
        _ = inbox.add(try work(), at: start, greatest: 10)
        guard case .wait(let left) = inbox.next(at: start, greatest: 10) else {
            Issue.record("it did not wait")
            return
        }
        #expect(left == 201)
        _ = inbox.add(try work(), at: start.advanced(by: .milliseconds(150)), greatest: 10)
        let later = start.advanced(by: .milliseconds(200))
        #expect(count(inbox.next(at: later, greatest: 10)) == 2)
    }

    @Test func aFullBatchGoesAtOnce() throws {
        var inbox = PromotionInbox()
        for _ in 0..<12 { _ = inbox.add(try work(), at: start, greatest: 10) }
        #expect(count(inbox.next(at: start, greatest: 10)) == 10)
        #expect(count(inbox.next(at: start, greatest: 10)) == nil)
    }

    @Test func onlyFirstWorkAndFullBatchesWake() throws {
        var inbox = PromotionInbox()
        let news = try (0..<11).map { _ in inbox.add(try work(), at: start, greatest: 10) }
        #expect(news == [true] + Array(repeating: false, count: 8) + [true, true])
    }

    @Test func manyBytesInMemoryCloseABatch() throws {
        var inbox = PromotionInbox()
        _ = inbox.add(try work(bytes: 20 << 20), at: start, greatest: 10)
        #expect(count(inbox.next(at: start, greatest: 10)) == nil)
        _ = inbox.add(try work(bytes: 12 << 20), at: start, greatest: 10)
        #expect(count(inbox.next(at: start, greatest: 10)) == 2)
    }

    @Test func flushHintClosesABatchOnce() throws {
        var inbox = PromotionInbox()
        inbox.isHurried = true
        #expect(count(inbox.next(at: start, greatest: 10)) == nil)
        _ = inbox.add(try work(), at: start, greatest: 10)
        #expect(count(inbox.next(at: start, greatest: 10)) == nil)
        inbox.isHurried = true
        #expect(count(inbox.next(at: start, greatest: 10)) == 1)
    }

    @Test func endIsDeliveredAfterWaitingWorks() throws {
        var inbox = PromotionInbox()
        _ = inbox.add(try work(), at: start, greatest: 10)
        inbox.isStopping = true
        #expect(count(inbox.next(at: start, greatest: 10)) == 1)
        guard case .end = inbox.next(at: start, greatest: 10) else {
            Issue.record("it did not end")
            return
        }
    }

    @Test func aStopThatAbandonsDropsWhatWaits() throws {
        var inbox = PromotionInbox()
        _ = inbox.add(try work(), at: start, greatest: 10)
        (inbox.isStopping, inbox.abandonsAtStop) = (true, true)
        guard case .end = inbox.next(at: start, greatest: 10) else {
            Issue.record("it did not end")
            return
        }
        #expect(inbox.end().dropped.count == 1)
    }

    @Test func aSetIsABatchOfItsOwn() throws {
        let set = SetContents(
            number: 0, set: .init(owners: ["m"], folder: nil), promotions: [], removals: [])
        let work = PromotionWork(
            task: .promoteSet(set), number: 0, receiver: PromotionListener { _ in })
        var inbox = PromotionInbox()
        for work in [try self.work(), work, try self.work()] {
            _ = inbox.add(work, at: start, greatest: 10)
        }
        inbox.isHurried = true
        let counts = (1...3).map { _ in count(inbox.next(at: start, greatest: 10)) }
        #expect(counts == [1, 1, 1])
    }
}
