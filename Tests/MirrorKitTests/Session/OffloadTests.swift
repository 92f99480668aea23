import Glibc
import Synchronization
import Testing

@testable import MirrorKit

private final class Arrivals: Sendable {
    private let number = Atomic(0)
    var count: Int { number.load(ordering: .acquiring) }
    func add() { number.add(1, ordering: .acquiringAndReleasing) }
}

private struct Weak: Sendable {
    weak let object: Arrivals?
    init(_ object: Arrivals) { self.object = object }
}

/// What the work of each thread had last, by the thread.
private final class Held: Sendable {
    private let tokens = Mutex<[UInt: Weak]>([:])

    /// Whether what this thread's work had before is there still; notes what it has now.
    func isThere(replacingBy token: Arrivals) -> Bool {
        let thread = UInt(pthread_self())
        return tokens.withLock { tokens in
            defer { tokens[thread] = Weak(token) }
            return tokens[thread]?.object != nil
        }
    }
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

    /// Threads live on while they are given work, and one piece may hold the last reference to a lock.
    @Test func aThreadKeepsNothingOfItsWork() async throws {
        let (held, begun, left) = (Held(), Arrivals(), Arrivals())
        let count = 16
        for round in 1...2 {
            let all = count * round
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<count {
                    group.addTask {
                        let token = Arrivals()
                        try await Offload.run {
                            if held.isThere(replacingBy: token) { left.add() }
                            begun.add()
                            while begun.count < all { usleep(1000) }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(left.count == 0)
    }

    @Test func offloadRethrowsTheError() async throws {
        await #expect(throws: CancellationError.self) {
            try await Offload.run { throw CancellationError() }
        }
    }
}
