internal import Synchronization

/// A few threads for work that blocks; work beyond their number waits its turn.
public final class Crew: Sendable {
    private struct State {
        var free: Int
        var waiting: [@Sendable () -> Void] = []
    }

    private let state: Mutex<State>

    /// Takes the number of threads that may run at once.
    public init(threads: Int) { state = Mutex(State(free: threads)) }

    /// Runs the closure on one of the threads and suspends until it returns.
    public func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            enter { continuation.resume(with: Result(catching: body)) }
        }
    }

    private func enter(_ work: @escaping @Sendable () -> Void) {
        let mayStart = state.withLock { state in
            guard state.free > 0 else {
                state.waiting.append(work)
                return false
            }
            state.free -= 1
            return true
        }
        if mayStart { DetachedThread.start { [self] in runAll(from: work) } }
    }

    private func runAll(from first: @escaping @Sendable () -> Void) {
        var work: (@Sendable () -> Void)? = first
        while let next = work {
            next()
            work = state.withLock { state in
                guard !state.waiting.isEmpty else {
                    state.free += 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
        }
    }
}
