internal import Glibc
internal import Synchronization

/// Threads that share numbered pieces of work.
package enum Workers {
    /// Does every piece and returns when all are done.
    package static func run(_ pieces: Int, atOnce: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let state = Ledger(next: 0, left: atOnce)
        for _ in 0..<atOnce {
            DetachedThread.start {
                while let piece = state.take(of: pieces) { body(piece) }
                state.leave()
            }
        }
        while !state.isDone { usleep(5000) }
    }

    private final class Ledger: Sendable {
        private let state: Mutex<(next: Int, left: Int)>

        init(next: Int, left: Int) { state = Mutex((next, left)) }

        func take(of pieces: Int) -> Int? {
            state.withLock { state in
                guard state.next < pieces else { return nil }
                defer { state.next += 1 }
                return state.next
            }
        }

        func leave() { state.withLock { $0.left -= 1 } }

        var isDone: Bool { state.withLock { $0.left == 0 } }
    }
}
