import Testing

@testable import MirrorKit

@Suite struct PacingTests {
    @Test func tokenBucketMayBeOverdrawnAndRepays() {
        var bucket = TokenBucket(rate: 1000, now: 0)
        var delays = [bucket.delay(now: 0)]
        bucket.take(1100)
        for now: Int64 in [0, 400, 1000] { delays.append(bucket.delay(now: now)) }
        #expect(delays == [0, 1000, 600, 0])
    }

    @Test func theBucketSavesATenthOfASecond() {
        var bucket = TokenBucket(rate: 1000, now: 0)
        var delays = [bucket.delay(now: 60_000)]
        bucket.take(1100)
        delays.append(bucket.delay(now: 60_000))
        #expect(delays == [0, 1000])
    }

    @Test func meterReportsAtMostTwiceASecond() {
        var meter = ProgressMeter()
        let rates = [(0, 1000), (100, 1400), (500, 1500), (600, 1600)].map { length, now in
            meter.read(length: length, now: now)
        }
        #expect(rates == [nil, nil, 1000, nil])
    }

    @Test func delayQueueIsOrderedByTime() {
        var queue = PriorityQueue<Int>()
        for number in [5, 1, 4, 1, 3, 9, 2] { queue.insert(number) }
        var order: [Int] = []
        while let number = queue.popFirst() { order.append(number) }
        #expect(order == [1, 1, 2, 3, 4, 5, 9])
    }
}
