internal import Synchronization

/// A queue of work pieces that run in order, one at a time, on any free worker of a pool.
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

    /// Runs the pieces that have gathered, then submits itself again for those that arrived meanwhile.
    /// So a queue that never runs empty does not keep a worker from other queues. If the pool has
    /// stopped, this call runs the remaining pieces itself.
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
