import Glibc
import Synchronization
import Testing

@testable import MirrorKit

@Suite(.timeLimit(.minutes(1))) struct WorkPoolTests {
    @Test func workThatBlocksHoldsUpNoOther() throws {
        let pool = WorkPool(name: "test", threads: 2)
        let (goesOn, isDone) = (Semaphore(), Semaphore())
        #expect(pool.submit { goesOn.wait() })
        #expect(pool.submit { isDone.post() })
        #expect(isDone.wait(seconds: 30), "the second thread takes it")
        goesOn.post()
        pool.stop()
    }

    @Test func noMoreThreadsStartThanWereAskedFor() throws {
        let pool = WorkPool(name: "test", threads: 2)
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
        let pool = WorkPool(name: "test", threads: 2)
        let done = Mutex(0)
        for _ in 0..<100 { pool.submit { done.withLock { $0 += 1 } } }
        pool.stop()
        #expect(done.withLock { $0 } == 100)
        #expect(!pool.submit { done.withLock { $0 += 1 } })
        #expect(done.withLock { $0 } == 100)
    }

    @Test func workIsTakenInOrder() throws {
        let pool = WorkPool(name: "test", threads: 1)
        let order = Mutex([Int]())
        for number in 0..<50 { pool.submit { order.withLock { $0.append(number) } } }
        pool.stop()
        #expect(order.withLock { $0 } == Array(0..<50))
    }

    @Test func noThreadStartsBeforeThereIsWork() throws {
        let started = Mutex(0)
        let pool = WorkPool(name: "test", threads: 2) { (name, body) throws(Errno) in
            started.withLock { $0 += 1 }
            return try NativeThread(name, body)
        }
        #expect(started.withLock { $0 } == 0)
        pool.submit {}
        #expect(started.withLock { $0 } == 1)
        pool.stop()
    }

    @Test func withoutThreadsWorkIsDoneInOrder() {
        let pool = WorkPool(name: "test", threads: 2) { (_, _) throws(Errno) in
            throw Errno(number: EAGAIN, call: "pthread_create", path: "")
        }
        let order = Mutex([Int]())
        for number in 0..<3 {
            pool.submit {
                // What work adds comes after it.
                pool.submit { order.withLock { $0.append(10 * number + 1) } }
                order.withLock { $0.append(10 * number) }
            }
        }
        #expect(order.withLock { $0 } == [0, 1, 10, 11, 20, 21])
        pool.stop()
        #expect(!pool.submit {})
    }

    /// The work that it did by itself was announced to threads that were not there.
    @Test func aLateThreadDoesTheNextWork() {
        let refusals = Mutex(3)
        let pool = WorkPool(name: "test", threads: 1) { (name, body) throws(Errno) in
            let isRefused = refusals.withLock { refusals in
                defer { refusals = max(0, refusals - 1) }
                return refusals > 0
            }
            if isRefused { throw Errno(number: EAGAIN, call: "pthread_create", path: "") }
            return try NativeThread(name, body)
        }
        for _ in 0..<3 { pool.submit {} }
        let (me, isDone) = (pthread_self(), Semaphore())
        let isElsewhere = Mutex(false)
        for _ in 0..<2 {
            pool.submit {
                isElsewhere.withLock { $0 = pthread_equal(pthread_self(), me) == 0 }
                isDone.post()
            }
            #expect(isDone.wait(seconds: 30))
            #expect(isElsewhere.withLock { $0 })
        }
        pool.stop()
    }
}
