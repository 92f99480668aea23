import Glibc
import Synchronization
import Testing

@testable import MirrorKit
@testable import MirrorSystem

private final class Arrivals: Sendable {
    private let number = Atomic(0)
    var count: Int { number.load(ordering: .acquiring) }
    func add() { number.add(1, ordering: .acquiringAndReleasing) }
}

@Suite struct OffloadTests {
    @Test func consecutiveOffloadedWorkReusesThreads() async throws {
        var threads: Set<UInt> = []
        for _ in 0..<50 {
            threads.insert(try await Offload.run { UInt(pthread_self()) })
        }
        #expect(threads.count < 50)
    }

    /// Each work waits for all the others, so each must have a thread of its own.
    @Test func workThatBlocksKeepsNoOtherWaiting() async throws {
        let arrivals = Arrivals()
        let count = 16
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask {
                    try await Offload.run {
                        arrivals.add()
                        while arrivals.count < count { usleep(1000) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(arrivals.count == count)
    }

    @Test func offloadRethrowsTheError() async throws {
        await #expect(throws: CancellationError.self) {
            try await Offload.run { throw CancellationError() }
        }
    }
}
