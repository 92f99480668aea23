import Testing

@testable import MirrorKit

@Suite struct RetryPolicyTests {
    private let standard = TransferPolicy()

    private func ladder(_ policy: TransferPolicy, jitter: (Int64) -> Int64) -> [Int64] {
        var (waits, waited) = ([Int64](), Int64(0))
        for retry in 1...policy.retries {
            waits.append(policy.wait(beforeRetry: retry, waited: waited, jitter: jitter))
            waited += waits[retry - 1]
        }
        return waits
    }

    @Test func ceilingsDoubleFromHalfASecond() {
        #expect(
            ladder(TransferPolicy(retries: 9, maxWait: .seconds(300))) { $0 }
                == [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
    }

    @Test func noWaitIsLongerThanTheLongest() {
        #expect(
            ladder(TransferPolicy(retries: 5, maxWait: .seconds(3))) { $0 }
                == [500, 1000, 2000, 3000, 3000])
    }

    @Test func shortWaitsStillOutliveTwentySeconds() {
        for share in [Int64.max, 10, 3, 2] {
            let waits = ladder(standard) { $0 / share }
            #expect(waits.reduce(0, +) >= 22_000)
        }
    }

    @Test func fewRetriesAreOverSoon() {
        #expect(ladder(TransferPolicy(retries: 1, maxWait: .seconds(300))) { _ in 0 } == [180])
        #expect(
            ladder(TransferPolicy(retries: 7, maxWait: .seconds(0))) { $0 } == [
                0, 0, 0, 0, 0, 0, 0,
            ])
    }
}
