import MirrorTestSupport
import Testing

@testable import MirrorSystem
@testable import MirrorTransfer

@Suite(.timeLimit(.minutes(1))) struct TransferThreadsTests {
    @Test func threadsThatWaitForALoopServeOneOnly() async throws {
        let body = TestBytes.make(1000, seed: 1)
        let shelf = MemoryShelf()
        shelf.put("/f", body)
        let server = try OriginServer(responder: ShelfOrigin(shelf))
        defer { server.stop() }
        TransferLoop.prepare()
        for _ in 0..<2 {
            let rig = try TransferRig()
            let result = await rig.run(try .fetching(server.url + "/f"))
            #expect(rig.bytes(result) == body)
            let ending = try #require(rig.loop.finish())
            #expect(rig.loop.finish() == nil, "only one may wait for the thread")
            ending.join()
        }
    }

    @Test func aLoopThatTheThreadHasNotTakenIsTakenBackWithoutWaiting() throws {
        let (goesOn, isDone) = (Semaphore(), Semaphore())
        let threads = try TransferThreads { goesOn.wait() }
        threads.begin { fatalError("it was taken back") }
        #expect(threads.withdraw())
        #expect(!threads.withdraw())
        goesOn.post()
        // It most likely looks for the loop that was taken back.
        Pause.milliseconds(50)
        threads.begin {
            isDone.post()
            return goesOn
        }
        #expect(isDone.wait(seconds: 30), "the next loop runs")
        #expect(!threads.withdraw())
        threads.waitForLoop().join()
        threads.workers.stop()
        threads.readers.stop()
    }

    @Test func aLoopEndsThoughItNeverHadAJob() throws {
        TransferLoop.prepare()
        try TransferRig().loop.stop()
    }
}
