internal import Synchronization

/// Work that is done one piece after the other, in order, on whatever worker of a pool is free.
package final class SerialWork: Sendable {
    package typealias Piece = @Sendable () -> Void

    private struct Queue {
        var pieces: [Piece] = []
        var isRunning = false
    }

    private let queue = Mutex(Queue())
    private let workers: any Workers

    package init(on workers: any Workers) { self.workers = workers }

    /// Adds a piece after all so far; any thread may.
    package func add(_ piece: @escaping Piece) {
        let mustStart = queue.withLock { queue in
            queue.pieces.append(piece)
            defer { queue.isRunning = true }
            return !queue.isRunning
        }
        if mustStart, !workers.submit({ self.run() }) { run() }
    }

    /// Does what has gathered; what comes meanwhile waits its turn with the pool, so that nobody who is
    /// never without work keeps a worker from the others. A pool that stops takes nothing more, and
    /// what was begun ends here.
    private func run() {
        repeat {
            let pieces = queue.withLock { queue in
                let pieces = queue.pieces
                queue.pieces = []
                if pieces.isEmpty { queue.isRunning = false }
                return pieces
            }
            if pieces.isEmpty { return }
            for piece in pieces { piece() }
        } while !workers.submit { self.run() }
    }
}
