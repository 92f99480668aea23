import MirrorSystem
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct WorkPoolTests {
    @Test func workThatBlocksHoldsUpNoOther() throws {
        let pool = try WorkPool(name: "test", threads: 2)
        let (goesOn, isDone) = (Semaphore(), Semaphore())
        #expect(pool.submit { goesOn.wait() })
        #expect(pool.submit { isDone.post() })
        #expect(isDone.wait(seconds: 30), "the second thread takes it")
        goesOn.post()
        pool.stop()
    }

    @Test func noMoreThreadsStartThanWereAskedFor() throws {
        let pool = try WorkPool(name: "test", threads: 2)
        let (goesOn, hasBegun) = (Semaphore(), Semaphore())
        let atOnce = Mutex((now: 0, most: 0))
        for _ in 0..<6 {
            pool.submit {
                atOnce.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                hasBegun.post()
                goesOn.wait()
                atOnce.withLock { $0.now -= 1 }
            }
        }
        for _ in 0..<2 { #expect(hasBegun.wait(seconds: 30)) }
        #expect(!hasBegun.wait(seconds: 1), "a third thread began")
        for _ in 0..<6 { goesOn.post() }
        pool.stop()
        #expect(atOnce.withLock { $0 } == (now: 0, most: 2))
    }

    @Test func theEndWaitsForWorkAndRefusesMore() throws {
        let pool = try WorkPool(name: "test", threads: 2)
        let done = Mutex(0)
        for _ in 0..<100 { pool.submit { done.withLock { $0 += 1 } } }
        pool.stop()
        #expect(done.withLock { $0 } == 100)
        #expect(!pool.submit { done.withLock { $0 += 1 } })
        #expect(done.withLock { $0 } == 100)
    }

    @Test func workIsTakenInOrder() throws {
        let pool = try WorkPool(name: "test", threads: 1)
        let order = Mutex([Int]())
        for number in 0..<50 { pool.submit { order.withLock { $0.append(number) } } }
        pool.stop()
        #expect(order.withLock { $0 } == Array(0..<50))
    }
}
